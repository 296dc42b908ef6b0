//! Histograms of fixed bins, and modes.

use super::quantile::sorted;
use std::collections::BTreeMap;

/// Counts per bin of one width; only bins that hold something take room, so outliers cost nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    width: f64,
    counts: BTreeMap<i64, usize>,
}

/// One bin.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Bin {
    /// Lower edge, which belongs to the bin.
    pub low: f64,
    /// Upper edge, which does not.
    pub high: f64,
    /// Values inside.
    pub count: usize,
}

impl Histogram {
    /// Counts the finite values into bins `[k * width, (k + 1) * width)`; `None` unless `width` is a positive number.
    #[must_use]
    pub fn new(values: &[f64], width: f64) -> Option<Self> {
        if !(width.is_finite() && width > 0.0) {
            return None;
        }
        let mut counts = BTreeMap::new();
        for value in values.iter().filter(|value| value.is_finite()) {
            *counts.entry((value / width).floor() as i64).or_insert(0) += 1;
        }
        Some(Self { width, counts })
    }

    fn bin(&self, (&index, &count): (&i64, &usize)) -> Bin {
        let low = index as f64 * self.width;
        Bin { low, high: low + self.width, count }
    }

    /// The bins that hold something, from low to high.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.counts.iter().map(|entry| self.bin(entry))
    }

    /// The fullest bin; of several, the lowest.
    #[must_use]
    pub fn peak(&self) -> Option<Bin> {
        let top = self.counts.values().max()?;
        self.counts.iter().find(|(_, count)| *count == top).map(|entry| self.bin(entry))
    }

    /// The bins that are fuller than what lies next to them on either side, from low to high. Neighbours that are
    /// equally full count once, as their lowest.
    #[must_use]
    pub fn local_modes(&self) -> Vec<Bin> {
        let at = |index: i64| self.counts.get(&index).copied().unwrap_or(0);
        let mut modes = Vec::new();
        for (&index, &count) in &self.counts {
            if index.checked_sub(1).is_some_and(|before| at(before) >= count) {
                continue;
            }
            let plateau = (index..=i64::MAX).take_while(|&i| at(i) == count).last().unwrap_or(index);
            if plateau.checked_add(1).is_none_or(|after| at(after) < count) {
                modes.push(self.bin((&index, &count)));
            }
        }
        modes
    }
}

/// The half-sample mode (Robertson and Cryer 1974; Bickel and Fruehwirth 2006): the densest half of the values, of
/// that the densest half, and so on. Needs no bin, and outliers do not move it.
#[must_use]
pub fn half_sample_mode(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let mut rest = sorted.as_slice();
    loop {
        match *rest {
            [] => return None,
            [only] => return Some(only),
            [a, b] => return Some(a / 2.0 + b / 2.0),
            [a, b, c] => {
                // Of three, the closer pair; with equal distances, the middle one.
                return Some(match (b - a).total_cmp(&(c - b)) {
                    std::cmp::Ordering::Less => a / 2.0 + b / 2.0,
                    std::cmp::Ordering::Greater => b / 2.0 + c / 2.0,
                    std::cmp::Ordering::Equal => b,
                });
            }
            _ => {
                let half = rest.len().div_ceil(2);
                let width = |start: &usize| rest[start + half - 1] - rest[*start];
                let start = (0..=rest.len() - half).min_by(|a, b| width(a).total_cmp(&width(b)))?;
                rest = &rest[start..start + half];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn peak_is_the_smallest_of_the_fullest() {
        let histogram = Histogram::new(&[5.2, 5.9, 7.0, 7.5, 9.0], 1.0).unwrap();
        let peak = histogram.peak().unwrap();
        assert_eq!((peak.low, peak.high, peak.count), (5.0, 6.0, 2));
    }

    #[test]
    fn local_modes_of_a_plateau_and_an_edge() {
        let values = [1.0, 1.0, 2.0, 2.0, 3.0, 6.0, 7.0, 7.0];
        let modes: Vec<f64> =
            Histogram::new(&values, 1.0).unwrap().local_modes().iter().map(|b| b.low).collect();
        assert_eq!(modes, [1.0, 7.0]);
    }

    #[test]
    fn half_sample_mode_ignores_the_tail() {
        let mut values: Vec<f64> = (0..100).map(|i| 50.0 + f64::from(i) * 0.01).collect();
        values.extend((0..60).map(|i| 100.0 + f64::from(i) * 10.0));
        let mode = half_sample_mode(&values).unwrap();
        assert!((50.0..51.0).contains(&mode), "{mode}");
    }

    #[test]
    fn no_bin_no_histogram() {
        assert!(Histogram::new(&[1.0], 0.0).is_none());
        assert!(Histogram::new(&[1.0], f64::NAN).is_none());
        assert!(Histogram::new(&[], 1.0).unwrap().peak().is_none());
        assert!(half_sample_mode(&[f64::NAN]).is_none());
    }

    proptest! {
        #[test]
        fn every_finite_value_is_counted_once(values in prop::collection::vec(any::<f64>(), 0..60), width in 1e-3..1e9f64) {
            let histogram = Histogram::new(&values, width).unwrap();
            let finite = values.iter().filter(|v| v.is_finite()).count();
            prop_assert_eq!(histogram.bins().map(|bin| bin.count).sum::<usize>(), finite);
            let fullest = histogram.bins().map(|bin| bin.count).max();
            prop_assert_eq!(histogram.peak().map(|bin| bin.count), fullest);
            prop_assert_eq!(histogram.local_modes().iter().map(|bin| bin.count).max(), fullest);
        }

        #[test]
        fn half_sample_mode_lies_within(values in prop::collection::vec(any::<f64>(), 1..60)) {
            let kept = sorted(&values);
            if let Some(mode) = half_sample_mode(&values) {
                prop_assert!(kept[0] <= mode && mode <= kept[kept.len() - 1]);
            }
        }
    }
}
