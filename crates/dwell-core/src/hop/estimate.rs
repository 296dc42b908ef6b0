//! Lines under round-trip times.
//!
//! Of each size the least round trip has met no queue; least round trips lie on a line over the size, whose slope is the
//! sum of the links' times for a byte (Jacobson 1997). Queues only ever add, so the line lies under all of them. Downey
//! (1999) deals probes to two halves by turns and lays a line through each: where they differ, so much at least is not
//! known. Here they are dealt to four.

use crate::stats::hull::line_under;
use crate::stats::slope::least_squares;
use crate::stats::{Estimate, Line};
use crate::unit::Bytes;
use std::collections::BTreeMap;

const PARTS: usize = 4;

/// Round trips by size; of each size the least of each part.
#[derive(Clone, Debug, Default)]
pub(super) struct Least {
    by_size: BTreeMap<Bytes, Size>,
}

#[derive(Clone, Debug)]
struct Size {
    count: usize,
    parts: [f64; PARTS],
}

/// A byte's time up to a hop, in nanoseconds, and the least round trip of any packet; and the line that they lie on.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rise {
    pub(super) slope: Estimate,
    pub(super) least: f64,
    pub(super) line: Line,
}

/// Sizes that make a line with an interval.
const FEWEST_SIZES: usize = 4;

impl Least {
    pub(super) fn push(&mut self, size: Bytes, round_trip: f64) {
        let seen = self.by_size.entry(size).or_insert(Size { count: 0, parts: [f64::INFINITY; PARTS] });
        let part = &mut seen.parts[seen.count % PARTS];
        *part = part.min(round_trip);
        seen.count += 1;
    }

    /// How often that size that was seen least often was.
    pub(super) fn fewest(&self, sizes: &[Bytes]) -> usize {
        sizes.iter().map(|size| self.by_size.get(size).map_or(0, |seen| seen.count)).min().unwrap_or(0)
    }

    fn points(&self, of: impl Fn(&Size) -> f64) -> Vec<(f64, f64)> {
        let points = self.by_size.iter().map(|(size, seen)| (size.0 as f64, of(seen)));
        points.filter(|(_, y)| y.is_finite()).collect()
    }

    /// Nanoseconds for a byte, by the smallest size and the largest alone, once each was seen twice.
    pub(super) fn byte(&self) -> Option<f64> {
        let least = |seen: &Size| seen.parts.iter().copied().fold(f64::INFINITY, f64::min);
        let ((small, seen), (large, seen_large)) =
            (self.by_size.iter().next()?, self.by_size.iter().next_back()?);
        let more = large.0.checked_sub(small.0).filter(|more| *more > 0)?;
        (seen.count.min(seen_large.count) >= 2).then(|| (least(seen_large) - least(seen)) / more as f64)
    }

    /// The line; `None` of too few sizes, or where a part has too few.
    pub(super) fn rise(&self) -> Option<Rise> {
        let whole = self.points(|seen| seen.parts.iter().copied().fold(f64::INFINITY, f64::min));
        let line = line_of_least(&whole)?;
        let value = line.slope;
        let part = |part: usize| Some(line_of_least(&self.points(|seen| seen.parts[part]))?.slope);
        let parts: Option<Vec<f64>> = (0..PARTS).map(part).collect();
        let parts = parts?;
        let (low, high) =
            parts.iter().fold((value, value), |(low, high), part| (low.min(*part), high.max(*part)));
        let least = whole.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        Some(Rise { slope: Estimate { value, low, high }, least, line })
    }
}

/// The line under all points finds those that met no queue: the half that is nearest to it. The slope is that of the line
/// through these, for what routers take to make their messages varies a little on both sides.
fn line_of_least(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < FEWEST_SIZES {
        return None;
    }
    let under = line_under(points)?;
    let mut nearest = points.to_vec();
    nearest.sort_by(|a, b| (a.1 - under.at(a.0)).total_cmp(&(b.1 - under.at(b.0))));
    nearest.truncate(points.len().div_ceil(2).max(3));
    least_squares(&nearest).map(|fit| fit.line())
}

/// By how much one slope is above another.
pub(super) fn difference(of: Estimate, before: Estimate) -> Estimate {
    let value = of.value - before.value;
    let [below, above] =
        [(of.value - of.low, before.high - before.value), (of.high - of.value, before.value - before.low)]
            .map(|(a, b): (f64, f64)| a.hypot(b));
    Estimate { value, low: value - below, high: value + above }
}
