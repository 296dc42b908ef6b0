//! Spans of time by how often they occurred, in bounded memory.

use crate::report::{Finding, Unit};
use crate::unit::Nanos;
use hdrhistogram::Histogram;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Significant figures that are kept of a span.
const FIGURES: u8 = 3;
/// What each end of a 95 % interval leaves out.
const TAIL: f64 = 0.025;

/// How often which span occurred: three significant figures of each, the sum and the largest exactly.
#[derive(Clone, Debug)]
pub struct Distribution {
    spans: Histogram<u64>,
    sum: Nanos,
    max: Nanos,
}

impl Default for Distribution {
    fn default() -> Self {
        let spans = Histogram::new(FIGURES).expect("a histogram may have three figures");
        Self { spans, sum: Nanos::ZERO, max: Nanos::ZERO }
    }
}

impl Distribution {
    /// Counts a span; one that runs backwards is none at all.
    pub fn add(&mut self, span: Nanos) {
        let span = span.max(Nanos::ZERO);
        // It grows with the spans, so that every span has its place.
        let _ = self.spans.record(span.0.unsigned_abs());
        self.sum += span;
        self.max = self.max.max(span);
    }

    /// Counts all of another's.
    pub fn merge(&mut self, other: &Self) {
        // It grows with the spans, as above.
        let _ = self.spans.add(&other.spans);
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// How many spans were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spans.len()
    }

    /// All spans together.
    #[must_use]
    pub const fn sum(&self) -> Nanos {
        self.sum
    }

    /// The longest.
    #[must_use]
    pub const fn max(&self) -> Nanos {
        self.max
    }

    /// The `rank`-th span in ascending order, from 1.
    pub(super) fn at_rank(&self, rank: u64) -> Nanos {
        // Half a place back, so that no rounding lifts it to the next rank.
        let value = self.spans.value_at_quantile((rank as f64 - 0.5) / self.count() as f64);
        Nanos(i64::try_from(value).unwrap_or(i64::MAX)).min(self.max)
    }

    /// The `p`-quantile of these spans; `None` of no spans.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<Nanos> {
        let count = self.count();
        (count > 0).then(|| self.at_rank(((p * count as f64).ceil() as u64).clamp(1, count)))
    }

    /// The `p`-quantile as far as so many spans can tell it: a value with the order statistics that hold it in 95 % of
    /// all such samples, or, where too few spans lie above it, the bound from below that they give.
    #[must_use]
    pub fn percentile(&self, p: f64) -> Finding {
        let count = self.count();
        let Some(value) = self.quantile(p) else { return Finding::unmeasurable("no packet passed here") };
        let [low, high] = interval_ranks(p, count);
        match (low, high) {
            (Some(low), Some(high)) => Finding::Value {
                value: value.as_f64(),
                low: self.at_rank(low).as_f64(),
                high: self.at_rank(high).as_f64(),
                unit: Unit::Ns,
            },
            (Some(low), None) => {
                let reason = format!("{count} packets are too few for a value");
                Finding::at_least(self.at_rank(low).as_f64(), Unit::Ns, reason)
            }
            (None, _) => Finding::unmeasurable(format!("{count} packets are too few")),
        }
    }
}

/// The ranks of the order statistics between which the `p`-quantile of the population lies in 95 % of all samples of
/// `count`; `None` where there is no such span on that side.
pub(super) fn interval_ranks(p: f64, count: u64) -> [Option<u64>; 2] {
    let Ok(below) = Binomial::new(p, count) else { return [None, None] };
    let low = below.inverse_cdf(TAIL);
    let high = below.inverse_cdf(1.0 - TAIL) + 1;
    [(low >= 1).then_some(low), (high <= count).then_some(high)]
}

/// The same of differences, which may be negative.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    below: Distribution,
    above: Distribution,
}

impl Differences {
    /// Counts a difference.
    pub fn add(&mut self, difference: Nanos) {
        if difference < Nanos::ZERO { self.below.add(-difference) } else { self.above.add(difference) }
    }

    /// Counts all of another's.
    pub fn merge(&mut self, other: &Self) {
        self.below.merge(&other.below);
        self.above.merge(&other.above);
    }

    /// The `p`-quantile of these differences; `None` of none.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<Nanos> {
        let count = self.count();
        (count > 0).then(|| self.at_rank(((p * count as f64).ceil() as u64).clamp(1, count)))
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.below.count() + self.above.count()
    }

    fn at_rank(&self, rank: u64) -> Nanos {
        let below = self.below.count();
        if rank <= below { -self.below.at_rank(below + 1 - rank) } else { self.above.at_rank(rank - below) }
    }

    /// The order statistics that hold the `p`-quantile in 95 % of all such samples; `None` where there are too few.
    #[must_use]
    pub fn interval(&self, p: f64) -> Option<[Nanos; 2]> {
        let [Some(low), Some(high)] = interval_ranks(p, self.count()) else { return None };
        Some([self.at_rank(low), self.at_rank(high)])
    }

    /// The median with its 95 % interval; `None` where there are too few for one.
    #[must_use]
    pub fn median(&self) -> Option<Finding> {
        let [low, high] = self.interval(0.5)?.map(Nanos::as_f64);
        Some(Finding::Value { value: self.quantile(0.5)?.as_f64(), low, high, unit: Unit::Ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(spans: impl IntoIterator<Item = i64>) -> Distribution {
        let mut distribution = Distribution::default();
        spans.into_iter().for_each(|span| distribution.add(Nanos(span)));
        distribution
    }

    #[test]
    fn a_percentile_of_too_few_packets_is_a_bound() {
        let hundred = of(1..=100);
        assert!(matches!(hundred.percentile(0.5), Finding::Value { value: 50.0, .. }));
        // Of 100 packets 99.9 % lie below the true value with probability 0.905: nothing bounds it from above.
        assert!(matches!(hundred.percentile(0.999), Finding::Bound { bound: 99.0, .. }));
        assert!(matches!(of(1..=3).percentile(0.5), Finding::Unmeasurable { .. }));
        assert!(matches!(of([]).percentile(0.5), Finding::Unmeasurable { .. }));
        // By hand: 0.99^368 < 0.025 < 0.99^367.
        assert_eq!(interval_ranks(0.99, 367)[1], None);
        assert_eq!(interval_ranks(0.99, 368)[1], Some(368));
    }

    #[test]
    fn differences_have_a_sign() {
        let mut differences = Differences::default();
        assert_eq!(differences.median(), None);
        (-50..=150).for_each(|ns| differences.add(Nanos(ns)));
        let Some(Finding::Value { value, low, high, .. }) = differences.median() else {
            panic!("201 of them")
        };
        assert_eq!(value, 50.0);
        assert!(low < 50.0 && high > 50.0 && low > 30.0 && high < 70.0, "{low} to {high}");
    }

    proptest! {
        #[test]
        fn within_a_thousandth_of_the_order_statistics(
            mut spans in prop::collection::vec(0_i64..10_000_000_000, 1..300), p in 0.001..0.999f64,
        ) {
            let distribution = of(spans.iter().copied());
            spans.sort_unstable();
            let rank = ((p * spans.len() as f64).ceil() as usize).clamp(1, spans.len());
            let (truth, told) = (spans[rank - 1] as f64, distribution.quantile(p).unwrap().as_f64());
            prop_assert!((told - truth).abs() <= truth * 1e-3 + 1.0, "{told} for {truth}");
            prop_assert_eq!(distribution.max(), Nanos(*spans.last().unwrap()));
            prop_assert_eq!(distribution.sum(), Nanos(spans.iter().sum()));
        }
    }
}
