//! Percentile intervals by resampling with replacement, from a seed, so that the same data give the same interval.

use super::quantile::{quantile_of_sorted, sorted};
use super::{CONFIDENCE, Estimate};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// A source of indices below a bound; deterministic.
#[derive(Clone, Debug)]
pub struct Indices(SplitMix64);

impl Indices {
    /// The same seed yields the same indices.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// An index below `bound`, or 0 if that is 0 (multiply and shift; its bias is below `bound` / 2^64).
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// The statistic of `values` with its percentile interval over `resamples` resamples; resamples whose statistic is
/// `None` or not finite are passed over, and when more than half of them are, so is the interval.
pub fn interval<T: Copy>(
    values: &[T],
    resamples: usize,
    seed: u64,
    mut statistic: impl FnMut(&[T]) -> Option<f64>,
) -> Option<Estimate> {
    let [estimate] = intervals(&[values], resamples, seed, |groups| Some([statistic(&groups[0])?]))?;
    Some(estimate)
}

/// Several statistics of several groups at once: each group is resampled by itself, all statistics are taken of the
/// same resamples.
pub fn intervals<T: Copy, const N: usize>(
    groups: &[&[T]],
    resamples: usize,
    seed: u64,
    mut statistics: impl FnMut(&[Vec<T>]) -> Option<[f64; N]>,
) -> Option<[Estimate; N]> {
    let mut drawn: Vec<Vec<T>> = groups.iter().map(|group| group.to_vec()).collect();
    let values = statistics(&drawn).filter(|values| values.iter().all(|value| value.is_finite()))?;
    let mut indices = Indices::new(seed);
    let mut seen: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(resamples));
    for _ in 0..resamples {
        for (from, to) in groups.iter().zip(&mut drawn) {
            for slot in to.iter_mut() {
                *slot = from[indices.below(from.len())];
            }
        }
        let figures = statistics(&drawn).filter(|figures| figures.iter().all(|figure| figure.is_finite()));
        for (to, figure) in seen.iter_mut().zip(figures.into_iter().flatten()) {
            to.push(figure);
        }
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let mut estimates = [Estimate { value: 0.0, low: 0.0, high: 0.0 }; N];
    for ((estimate, seen), value) in estimates.iter_mut().zip(seen).zip(values) {
        if seen.len() * 2 < resamples {
            return None;
        }
        let seen = sorted(&seen);
        let end = |p| quantile_of_sorted(&seen, p).unwrap_or(value);
        *estimate = Estimate { value, low: end(tail).min(value), high: end(1.0 - tail).max(value) };
    }
    Some(estimates)
}

/// By how much a percentile interval of `n` values is too narrow: a resample of n values spreads like a sample with n
/// in the denominator of its variance, and its percentiles are the normal distribution's, not Student's. Some 1.6 for
/// five values, 1.2 for ten, and 1 for many; infinite for fewer than two.
#[must_use]
pub fn small_sample_factor(n: usize) -> f64 {
    let upper = (1.0 + CONFIDENCE) / 2.0;
    let freedom = n.saturating_sub(1) as f64;
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| {
        student.inverse_cdf(upper) / Normal::standard().inverse_cdf(upper) * (n as f64 / freedom).sqrt()
    })
}

#[cfg(test)]
mod tests {
    use super::super::quantile::{mean, median};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mean_of_normal_data_gets_its_textbook_width() {
        // Quantiles of the standard normal distribution stand in for a sample: the standard error is 1 / sqrt(n).
        let normal = Normal::standard();
        let values: Vec<f64> = (0..400).map(|i| normal.inverse_cdf((f64::from(i) + 0.5) / 400.0)).collect();
        let estimate = interval(&values, 2000, 7, mean).unwrap();
        assert!((estimate.high - estimate.low - 2.0 * 1.96 / 20.0).abs() < 0.02, "{estimate:?}");
        assert_eq!(Some(estimate), interval(&values, 2000, 7, mean));
    }

    #[test]
    fn groups_are_resampled_apart() {
        let (a, b) = (vec![1.0; 5], vec![3.0; 9]);
        let [difference] = intervals(&[&a, &b], 50, 1, |g| Some([mean(&g[1])? - mean(&g[0])?])).unwrap();
        assert_eq!((difference.value, difference.low, difference.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn small_samples_need_wider_intervals() {
        // t(4) = 2.776445, z = 1.959964, sqrt(5 / 4) = 1.118034.
        assert!((small_sample_factor(5) - 2.776_445 / 1.959_964 * 1.118_034).abs() < 1e-5);
        assert!((small_sample_factor(100_000) - 1.0).abs() < 1e-3);
        assert!(small_sample_factor(1).is_infinite() && small_sample_factor(0).is_infinite());
    }

    proptest! {
        #[test]
        fn holds_its_value_and_never_panics(values in prop::collection::vec(any::<f64>(), 0..30), seed: u64, resamples in 0usize..50) {
            if let Some(e) = interval(&values, resamples, seed, median) {
                prop_assert!(e.holds(e.value));
            }
        }
    }
}
