//! Fleets at rates that may be free: a test of one, and a search where that one is not.

use super::belief::{Belief, belief};
use super::sample::Sample;
use super::strain;
use crate::avail::search::Verdict;

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
const ABOVE: [f64; 3] = [0.1, 0.2, -0.1];

/// But no faster than so much of it, at which it parts them itself.
const MOST: f64 = 0.96;
const LEAST: f64 = 0.03;

/// What is taken for free before a search shows anything.
pub(super) const UNKNOWN: f64 = 0.5;

/// A tight link that carries more than the narrow one holds trains up by less: they are up to so many times as far from what is free.
const WIDER: f64 = 2.0;

/// What trains at rates that may be free showed. Rates are packets of ours a nanosecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    fleets: Vec<Vec<Sample>>,
    rate: f64,
    /// Fleets of the search, of which some may have been lost.
    searched: usize,
    pub(super) searching: bool,
    /// What all fleets tell.
    pub(super) told: Option<Belief>,
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
    pub(super) fn next(&mut self, waited: Option<f64>, pace: f64) -> Option<f64> {
        self.searching = true;
        self.told = belief(&self.fleets, waited, pace);
        let narrow = |told: Belief| told.free.high - told.free.low < RESOLUTION;
        if self.searched == FLEETS || self.told.is_some_and(narrow) {
            return None;
        }
        let (free, carries) = self.told.map_or((UNKNOWN, 1.0), |told| (told.free.value, told.carries));
        let above = ABOVE[self.searched % ABOVE.len()] * carries.clamp(1.0, WIDER);
        self.searched += 1;
        Some((free + above).clamp(LEAST, MOST) / pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: f64 = 1e5;

    /// A link that carries as much as the narrow one, of which half is free, whatever the time.
    fn sent(trial: &mut Trial, rate: f64, count: usize) {
        trial.at(rate);
        for _ in 0..count {
            let input = 1.0 / rate;
            let output = input + ((rate * PACE - 0.5) * input).max(0.0);
            trial.see(Some(Sample { input, output, gaps: 87.0, blur: 0.0, scatter: 0.0 }));
        }
    }

    #[test]
    fn a_test_that_is_in_doubt_goes_on() {
        let mut trial = Trial::default();
        sent(&mut trial, 0.4 / PACE, TEST);
        assert_eq!(trial.passed(0.0), Some(true));
        sent(&mut trial, 0.6 / PACE, TEST);
        assert_eq!(trial.passed(0.0), None);
        sent(&mut trial, 0.6 / PACE, DOUBTED);
        assert_eq!(trial.passed(0.0), Some(false));
    }

    #[test]
    fn a_search_ends_where_what_is_free_is_known() {
        let (mut trial, mut fleets) = (Trial::default(), 0);
        while let Some(rate) = trial.next(None, PACE) {
            assert!((LEAST..=MOST).contains(&(rate * PACE)));
            sent(&mut trial, rate, FLEET);
            fleets += 1;
        }
        let told = trial.told.unwrap().free;
        assert!(
            fleets <= FLEETS && told.holds(0.5) && told.high - told.low < 2.0 * RESOLUTION,
            "{fleets} {told:?}"
        );
    }
}
