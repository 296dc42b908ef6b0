//! Fleets at rates that may be free: a test of one, and a search where that one is not.

use super::sample::Sample;
use super::strain;
use crate::avail::search::{Search, Verdict};
use crate::report::{Finding, Unit};
use crate::stats::quantile::mean;

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
    /// Squares of the standard errors of what fleets of the search showed, as shares of their rates.
    doubts: Vec<f64>,
    /// What strain they were allowed.
    allowances: Vec<f64>,
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
        self.doubts.extend(strain::doubt(&self.fleet).map(|doubt| doubt.powi(2)));
        self.allowances.push(strain::allowed(&self.fleet, noise));
        self.fleets += 1;
        search.next().filter(|_| self.fleets < FLEETS)
    }

    /// What the search found. Its ends are no surer than the fleets were: at a rate R above what is free, trains grow by
    /// (R - A) / C of themselves, C being at least what a burst came at, so a doubt about that growth is one about A. And
    /// what growth a fleet was allowed may have been such.
    pub(super) fn range(&self, burst: f64) -> Option<Finding> {
        let search = self.search.as_ref()?;
        let doubt = 1.96 * mean(&self.doubts).unwrap_or(0.0).sqrt() * burst;
        let allowed = mean(&self.allowances).unwrap_or(0.0) * burst;
        let low = (search.free - doubt - allowed).max(0.0);
        Some(match search.full {
            Some(full) => Finding::value(f64::midpoint(low, full + doubt), low, full + doubt, Unit::Bps),
            None => Finding::at_least(low, Unit::Bps, "no rate that was tried was too much"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fleets on a link of 100 of which 50 are free, at the mean.
    fn searched(differ: f64) -> Trial {
        let mut trial = Trial::default();
        let mut next = Some(70.0);
        while let Some(rate) = next {
            trial.at(rate);
            for i in 0..FLEET {
                let chance = if i % 2 == 0 { differ } else { -differ };
                let grown = 1.0 + ((rate - 50.0) / 100.0).max(0.0) + chance;
                let input = 1e9 / rate;
                let sample = Sample { input, output: grown * input, gaps: 20.0, blur: 0.0, scatter: 0.0 };
                trial.see(Some(sample), 1.0);
            }
            next = trial.next(0.0, 100.0);
        }
        trial
    }

    #[test]
    fn a_range_is_as_sure_as_its_fleets() {
        let (quiet, rough) = (searched(0.001).range(100.0).unwrap(), searched(0.04).range(100.0).unwrap());
        let width = |finding: &Finding| match finding {
            Finding::Value { low, high, .. } => high - low,
            _ => f64::NAN,
        };
        assert_eq!((quiet.holds(50.0), rough.holds(50.0)), (Some(true), Some(true)), "{quiet:?} {rough:?}");
        // 0.04 of eight trains: a standard error of 0.016 with their own mean taken off.
        assert!(width(&quiet) < 7.0 && width(&rough) > 2.0 * 1.96 * 1.5, "{quiet:?} {rough:?}");
    }
}
