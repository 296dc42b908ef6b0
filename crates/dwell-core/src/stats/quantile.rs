//! Quantiles, and what is made of them.

use super::{Estimate, NORMAL};

/// The finite values in ascending order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut kept: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    kept.sort_unstable_by(f64::total_cmp);
    kept
}

/// The `p`-quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan, the default of R
/// and NumPy); `None` without a finite value or for a `p` outside 0 to 1.
#[must_use]
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut kept: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let (place, share) = place(kept.len(), p)?;
    // Nothing needs the order of the others.
    let (_, below, more) = kept.select_nth_unstable_by(place, f64::total_cmp);
    let above = more.iter().copied().min_by(f64::total_cmp).unwrap_or(*below);
    Some(between(*below, above, share))
}

/// The same of values that are finite and in ascending order already.
#[must_use]
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let (place, share) = place(sorted.len(), p)?;
    let below = *sorted.get(place)?;
    Some(between(below, sorted.get(place + 1).copied().unwrap_or(below), share))
}

/// After which of so many values the `p`-quantile lies, and which share of the way to the next.
fn place(count: usize, p: f64) -> Option<(usize, f64)> {
    let last = count.checked_sub(1)?;
    let place = p * last as f64;
    (0.0..=1.0).contains(&p).then(|| (place as usize, place.fract()))
}

fn between(below: f64, above: f64, share: f64) -> f64 {
    // Weighted rather than below + share * (above - below): the difference of two finite values may overflow.
    if share == 0.0 { below } else { below * (1.0 - share) + above * share }
}

/// The median.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The three quartiles.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the values lie below.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// A quarter of the values lie above.
    pub p75: f64,
}

/// The quartiles.
#[must_use]
pub fn quartiles(values: &[f64]) -> Option<Quartiles> {
    let sorted = sorted(values);
    let at = |p| quantile_of_sorted(&sorted, p);
    Some(Quartiles { p25: at(0.25)?, p50: at(0.5)?, p75: at(0.75)? })
}

/// The `p`-quantile with the order statistics that hold the population's in 95 % of all samples, by the normal
/// approximation to the binomial; of finite values in ascending order.
#[must_use]
pub fn quantile_interval(ascending: &[f64], p: f64) -> Option<Estimate> {
    let reach = NORMAL * (p * (1.0 - p) / ascending.len() as f64).sqrt();
    let at = |p: f64| quantile_of_sorted(ascending, p.clamp(0.0, 1.0));
    Some(Estimate { value: at(p)?, low: at(p - reach)?, high: at(p + reach)? })
}

/// The part of `sorted` (ascending) that holds `share` of the values in the shortest interval: where they are densest.
#[must_use]
pub fn densest(sorted: &[f64], share: f64) -> Option<&[f64]> {
    let count = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1));
    sorted.windows(count).min_by(|a, b| (a[count - 1] - a[0]).total_cmp(&(b[count - 1] - b[0])))
}

/// The median absolute deviation from the median, as it is: times [`MAD_TO_SIGMA`] it estimates the standard
/// deviation of a normal distribution.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

/// 1 / (the normal distribution's third quartile).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// The mean of the finite values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    let (sum, count) = finite_sum(values.iter().copied());
    (count > 0).then(|| sum / count as f64)
}

/// The standard deviation of the finite values about their mean, with n in the denominator: the spread of these
/// values, not an estimate of another population's.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let (sum, count) = finite_sum(values.iter().map(|value| (value - centre).powi(2)));
    (count > 0).then(|| (sum / count as f64).sqrt())
}

fn finite_sum(values: impl Iterator<Item = f64>) -> (f64, usize) {
    values.filter(|value| value.is_finite()).fold((0.0, 0), |(sum, count), value| (sum + value, count + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn type_7_by_hand() {
        // Places 0.75, 1.5 and 2.25 in 1, 2, 4, 8, counted from 0.
        let q = quartiles(&[8.0, 1.0, 4.0, 2.0]).unwrap();
        assert_eq!((q.p25, q.p50, q.p75), (1.75, 3.0, 5.0));
        assert_eq!(mad(&[1.0, 2.0, 4.0, 8.0, f64::NAN]).unwrap(), 1.5);
    }

    #[test]
    fn the_densest_part() {
        assert_eq!(densest(&[0.0, 4.0, 5.0, 6.0, 12.0, 13.0], 0.5), Some(&[4.0, 5.0, 6.0][..]));
        assert_eq!(densest(&[1.0, 2.0], f64::NAN), Some(&[1.0][..]));
        assert_eq!(densest(&[], 0.5), None);
    }

    #[test]
    fn nothing_of_nothing() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(quantile(&[1.0], 1.1), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(mean(&[]), None);
    }

    proptest! {
        #[test]
        fn within_the_values_and_rising(values in prop::collection::vec(any::<f64>(), 0..40), p in 0.0..=1.0f64) {
            let kept = sorted(&values);
            for p in [0.0, p, 1.0] {
                prop_assert_eq!(quantile(&values, p), quantile_of_sorted(&kept, p));
            }
            match (quantile(&values, p), kept.first(), kept.last()) {
                (Some(q), Some(low), Some(high)) => {
                    prop_assert!(*low <= q && q <= *high);
                    prop_assert!(quantile(&values, p / 2.0).unwrap() <= q);
                }
                (q, low, _) => prop_assert!(q.is_none() && low.is_none()),
            }
            let _ = (mad(&values), standard_deviation(&values));
        }

        #[test]
        fn half_the_values_on_each_side(values in prop::collection::vec(-1e6..1e6f64, 1..60)) {
            let m = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < m).count();
            let above = values.iter().filter(|v| **v > m).count();
            prop_assert!(below * 2 <= values.len() && above * 2 <= values.len());
        }
    }
}
