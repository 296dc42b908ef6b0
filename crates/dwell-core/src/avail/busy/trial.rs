//! Fleets at rates that may be free: a test of one, and a search where that one is not.

use super::belief;
use super::sample::Sample;
use super::strain;
use crate::avail::search::Verdict;
use crate::stats::Estimate;

/// Trains of the test, of one that left doubts, and of each fleet of a search.
pub(super) const TEST: usize = 2;
pub(super) const DOUBTED: usize = 8;
pub(super) const FLEET: usize = 2;

/// Those of a search are so many times as long.
pub(super) const LENGTHENED: usize = 4;

/// The search goes on until what is free is known so well, as a share of what the narrow link carries, or after so many
/// fleets.
const RESOLUTION: f64 = 0.12;
const FLEETS: usize = 12;

/// Trains of a search are by so much of the narrow link faster than what seems free, in turns: the nearer ones show what is free, the
/// others what the tight link carries.
const ABOVE: [f64; 2] = [0.1, 0.4];

/// But no faster than so much of it, at which it parts them itself.
const MOST: f64 = 0.96;

/// What trains at rates that may be free showed. Rates are packets of ours a nanosecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    fleets: Vec<Vec<Sample>>,
    rate: f64,
    /// Fleets of the search, of which some may have been lost.
    searched: usize,
    pub(super) searching: bool,
}

impl Trial {
    /// Trains at `rate` follow.
    pub(super) fn at(&mut self, rate: f64) {
        if rate != self.rate {
            self.fleets.push(Vec::new());
        }
        self.rate = rate;
    }

    /// One of them. A sender that was too quick asked for more than was meant: what counts is whether that came through.
    pub(super) fn see(&mut self, sample: Option<Sample>) {
        let asked = 1.0 / self.rate;
        let sample = sample.map(|sample| Sample { input: sample.input.max(asked), ..sample });
        if let Some(fleet) = self.fleets.last_mut() {
            fleet.extend(sample);
        }
    }

    /// Whether the last fleet, the test, came through as it was sent, where the cross traffic's work is as [`Line::noise`](super::line::Line) says;
    /// `None`: too few trains to tell.
    pub(super) fn passed(&self, noise: f64) -> Option<bool> {
        let fleet = self.fleets.last()?;
        match strain::verdict(fleet, noise) {
            Verdict::Below => Some(true),
            _ if fleet.len() < DOUBTED => None,
            Verdict::Above => Some(false),
            Verdict::Grey => Some(true),
        }
    }

    /// The rate to look at next in a search on a path whose narrow link takes `pace` a packet; `None`: it is over.
    pub(super) fn next(&mut self, pace: f64) -> Option<f64> {
        self.searching = true;
        let free = self.free(pace);
        if self.searched == FLEETS || free.is_some_and(|free| free.high - free.low < RESOLUTION) {
            return None;
        }
        let above = ABOVE[self.searched % ABOVE.len()];
        self.searched += 1;
        Some((free.map_or(0.5, |free| free.value) + above).min(MOST) / pace)
    }

    /// What is free, as a share of what the narrow link carries.
    pub(super) fn free(&self, pace: f64) -> Option<Estimate> {
        belief::free(&self.fleets, pace)
    }
}
