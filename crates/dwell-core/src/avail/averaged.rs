//! Figures of which a method takes the mean.

use crate::report::{Finding, Unit};
use crate::stats::bootstrap::{interval, small_sample_factor};
use crate::stats::quantile::mean;

const RESAMPLES: usize = 1_000;

const SEED: u64 = 6;

/// The mean with its interval by resampling; `None` of fewer than two.
pub(crate) fn averaged(rates: &[f64]) -> Option<Finding> {
    if rates.len() < 2 {
        return None;
    }
    let estimate = interval(rates, RESAMPLES, SEED, mean)?.widened(small_sample_factor(rates.len()));
    Some(Finding::value(estimate.value, estimate.low, estimate.high, Unit::Bps))
}
