//! The intra-probe gap of papers/000: the time between the two stamps of a compound probe at the receiver, and the
//! filter that tells which gaps the network has touched.
//!
//! A gap is a difference of two stamps of one clock, so the clock's offset is not in it, and of its skew only that
//! share of the gap itself (0.1 ns in a microsecond at 100 ppm).

use crate::report::Vantage;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::{mean, sorted, standard_deviation};
use crate::train::{Fate, Observation};
use crate::unit::{Bytes, Nanos};

/// The bin of the filter when nobody says otherwise: the paper's clock ticked in microseconds.
pub const FILTER_BIN: Nanos = Nanos::from_micros(1);

/// The gap between two packets that were sent one after the other, in nanoseconds; `None` unless both arrived, next
/// to each other and in order, and both carry the stamp of this vantage.
#[must_use]
pub fn between(first: &Fate, second: &Fate, vantage: Vantage) -> Option<f64> {
    let (first, second) = (first.arrival.as_ref()?, second.arrival.as_ref()?);
    if first.order.checked_add(1) != Some(second.order) {
        return None;
    }
    let gap = vantage.read(&second.stamps)? - vantage.read(&first.stamps)?;
    Some(gap.as_f64())
}

/// The sizes of a compound probe: exactly two packets, the second sent back to back with the first and not the
/// larger one.
#[must_use]
pub fn compound_probe(observation: &Observation) -> Option<(Bytes, Bytes)> {
    match observation.fates.as_slice() {
        [heading, trailing]
            if trailing.packet.hold == Nanos::ZERO && heading.packet.size >= trailing.packet.size =>
        {
            Some((heading.packet.size, trailing.packet.size))
        }
        _ => None,
    }
}

/// The gaps of one trailing-packet size after the filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    /// G_small: the smallest gap.
    pub small: f64,
    /// G_peak: lower edge of the lowest bin of the most frequent ones.
    pub peak: f64,
    /// G_avg: mean of the gaps kept.
    pub avg: f64,
    /// sigma: standard deviation of the gaps kept.
    pub sigma: f64,
    /// The gaps kept, in ascending order.
    pub kept: Vec<f64>,
}

impl Filtered {
    /// G_low, equation (18).
    #[must_use]
    pub fn low(&self) -> f64 {
        self.avg - self.sigma
    }

    /// G_high, equation (19).
    #[must_use]
    pub fn high(&self) -> f64 {
        self.avg + self.sigma
    }

    /// Standard error of G_avg.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        self.sigma / (self.kept.len().saturating_sub(1).max(1) as f64).sqrt()
    }
}

/// The filter of papers/000, section 2.3, steps 1 to 5.
///
/// The paper's histogram has no bin width because its clock gave one: stamps came in whole microseconds. With
/// nanosecond stamps almost every gap is unique, the 'smallest gap with the highest frequency' is the smallest gap,
/// J is zero and all others are thrown away. So the bin is a parameter, and the comparison in step 3 is made in whole
/// bins; on stamps that tick in bins this is the paper's filter to the letter. `None` without a finite gap, or for a
/// bin that is not positive.
#[must_use]
pub fn filter(gaps: &[f64], bin: f64) -> Option<Filtered> {
    let histogram = Histogram::new(gaps, bin)?;
    // Step 1: G_small. Step 2: the smallest of the most frequent gaps, G_peak.
    let (smallest, peak) = (histogram.bins().next()?, histogram.peak()?);
    // Step 3: J = G_peak - G_small; everything greater than G_peak + J goes.
    let limit = peak.high + (peak.low - smallest.low);
    let mut kept = sorted(gaps);
    let small = *kept.first()?;
    kept.retain(|gap| *gap < limit);
    // Steps 4 and 5.
    let (avg, sigma) = (mean(&kept)?, standard_deviation(&kept)?);
    (avg.is_finite() && sigma.is_finite()).then_some(Filtered { small, peak: peak.low, avg, sigma, kept })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_microseconds_as_in_the_paper() {
        // Smallest 77, peak 79 (three times, as often as 80: the smaller counts), J = 2: all above 81 go.
        let us = [77.0, 79.0, 79.0, 79.0, 80.0, 80.0, 80.0, 81.0, 82.0, 140.0];
        let gaps: Vec<f64> = us.iter().map(|us| us * 1e3).collect();
        let filtered = filter(&gaps, 1e3).unwrap();
        assert_eq!((filtered.small, filtered.peak, filtered.kept.len()), (77e3, 79e3, 8));
        assert_eq!(filtered.avg, 635e3 / 8.0);
        // Deviations from 79.375 us: 2.375 once, 0.375 three times, 0.625 three times, 1.625 once.
        let sigma = ((5.640_625 + 3.0 * 0.140_625 + 3.0 * 0.390_625 + 2.640_625) / 8.0_f64).sqrt() * 1e3;
        assert!((filtered.high() - 79_375.0 - sigma).abs() < 1e-6, "{filtered:?}");
    }

    #[test]
    fn nanosecond_stamps_need_the_bin() {
        let gaps: Vec<f64> = (0..200).map(|i| 79_000.0 + f64::from(i * 7919 % 1601)).collect();
        assert_eq!(filter(&gaps, 1.0).unwrap().kept.len(), 1);
        assert!(filter(&gaps, 1e3).unwrap().kept.len() > 100);
    }

    #[test]
    fn nothing_to_filter() {
        assert_eq!(filter(&[], 1e3), None);
        assert_eq!(filter(&[f64::NAN], 1e3), None);
        assert_eq!(filter(&[1.0], 0.0), None);
    }

    proptest! {
        #[test]
        fn keeps_the_smallest_and_only_what_was_there(gaps in prop::collection::vec(any::<f64>(), 0..40), bin in 1.0..1e4f64) {
            if let Some(filtered) = filter(&gaps, bin) {
                prop_assert_eq!(filtered.kept.first(), Some(&filtered.small));
                prop_assert!(filtered.kept.iter().all(|gap| gaps.contains(gap)));
            }
        }

        #[test]
        fn is_invariant_to_a_shift_by_whole_bins(gaps in prop::collection::vec(0..200_000i64, 1..60), shift in -100..100i64) {
            let at = |shift: i64| -> Vec<f64> { gaps.iter().map(|gap| (gap + shift * 1_000) as f64).collect() };
            let (here, there) = (filter(&at(0), 1e3).unwrap(), filter(&at(shift), 1e3).unwrap());
            prop_assert_eq!(here.kept.len(), there.kept.len());
            prop_assert!((here.avg + shift as f64 * 1e3 - there.avg).abs() < 1e-3);
        }
    }
}
