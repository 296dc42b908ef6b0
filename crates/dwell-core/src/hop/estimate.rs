//! Lines under round-trip times.
//!
//! Of each size the least round trip has met no queue; least round trips lie on a line over the size, whose slope is the
//! sum of the links' times for a byte (Jacobson 1997). As Downey (1999) does, probes are dealt to two halves by turns,
//! and a line is laid through each half too: where the halves differ, so much at least is not known.

use crate::stats::Estimate;
use crate::stats::slope::robust;
use crate::unit::Bytes;
use std::collections::BTreeMap;

/// Round trips by size; of each size the least of either half.
#[derive(Clone, Debug, Default)]
pub(super) struct Least {
    by_size: BTreeMap<Bytes, Size>,
}

#[derive(Clone, Debug)]
struct Size {
    count: u32,
    halves: [f64; 2],
}

/// A byte's time up to a hop, in nanoseconds, and the round trip of a packet of no size.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rise {
    pub(super) slope: Estimate,
    /// Of the smallest packet, the least that was seen.
    pub(super) least: f64,
}

/// Sizes that make a line with an interval.
const FEWEST_SIZES: usize = 4;

impl Least {
    pub(super) fn push(&mut self, size: Bytes, round_trip: f64) {
        let seen = self.by_size.entry(size).or_insert(Size { count: 0, halves: [f64::INFINITY; 2] });
        let half = &mut seen.halves[(seen.count % 2) as usize];
        *half = half.min(round_trip);
        seen.count += 1;
    }

    /// How often that size that was seen least often was.
    pub(super) fn fewest(&self, sizes: &[Bytes]) -> u32 {
        sizes.iter().map(|size| self.by_size.get(size).map_or(0, |seen| seen.count)).min().unwrap_or(0)
    }

    fn points(&self, of: impl Fn(&Size) -> f64) -> Vec<(f64, f64)> {
        let points = self.by_size.iter().map(|(size, seen)| (size.0 as f64, of(seen)));
        points.filter(|(_, y)| y.is_finite()).collect()
    }

    /// The line; `None` of too few sizes.
    pub(super) fn rise(&self) -> Option<Rise> {
        let whole = self.points(|seen| seen.halves[0].min(seen.halves[1]));
        if whole.len() < FEWEST_SIZES {
            return None;
        }
        let Estimate { value, mut low, mut high } = robust(&whole)?.slope;
        for half in 0..2 {
            if let Some(fit) = robust(&self.points(|seen| seen.halves[half])) {
                low = low.min(fit.slope.value);
                high = high.max(fit.slope.value);
            }
        }
        let least = whole.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        Some(Rise { slope: Estimate { value, low, high }, least })
    }
}

/// By how much one slope is above another.
pub(super) fn difference(of: Estimate, before: Estimate) -> Estimate {
    let value = of.value - before.value;
    let [below, above] =
        [(of.value - of.low, before.high - before.value), (of.high - of.value, before.value - before.low)]
            .map(|(a, b): (f64, f64)| a.hypot(b));
    Estimate { value, low: value - below, high: value + above }
}
