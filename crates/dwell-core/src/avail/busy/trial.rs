//! Fleets at rates that may be free: a test of one, and a search where that one is not.

use super::sample::Sample;
use super::strain;
use crate::avail::search::{Search, Verdict};
use crate::report::{Finding, Unit};

/// Trains of the test, and of each fleet of a search.
pub(super) const TEST: usize = 2;
pub(super) const FLEET: usize = 8;

/// The search goes on until its ends are so near to each other, as a share of the rate of a burst, or after so many
/// fleets.
const RESOLUTION: f64 = 0.05;
const FLEETS: usize = 10;

/// The fleet under way and what those before it showed. Rates are bits per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    fleet: Vec<Sample>,
    rate: f64,
    fleets: usize,
    pub(super) search: Option<Search>,
}

impl Trial {
    /// Trains at `rate` follow.
    pub(super) fn at(&mut self, rate: f64) {
        if rate != self.rate {
            self.fleet.clear();
        }
        self.rate = rate;
    }

    /// One of them, whose packets take `bits` of a link each. A sender that was too quick asked for more than was meant:
    /// what counts is whether that came through.
    pub(super) fn see(&mut self, sample: Option<Sample>, bits: f64) {
        let asked = bits * 1e9 / self.rate;
        self.fleet.extend(sample.map(|sample| Sample { input: sample.input.max(asked), ..sample }));
    }

    /// The rate to look at next, given what became of the last fleet; `None`: the first rate is free, or the search is
    /// over. `noise` is the line's; a burst came at rate `burst`.
    pub(super) fn next(&mut self, noise: f64, burst: f64) -> Option<f64> {
        let verdict = strain::verdict(&self.fleet, noise);
        if self.search.is_none() {
            if verdict == Verdict::Below {
                return None;
            }
            if self.fleet.len() < FLEET {
                return Some(self.rate);
            }
            if verdict != Verdict::Above {
                return None;
            }
        }
        let resolution = RESOLUTION * burst;
        let search = self.search.get_or_insert_with(|| Search::new(resolution, resolution));
        search.learn(self.rate, verdict);
        self.fleets += 1;
        search.next().filter(|_| self.fleets < FLEETS)
    }
}

/// What a search found.
pub(super) fn range(search: &Search) -> Finding {
    match search.full {
        Some(full) => Finding::value(f64::midpoint(search.free, full), search.free, full, Unit::Bps),
        None => Finding::at_least(search.free, Unit::Bps, "no rate that was tried was too much"),
    }
}
