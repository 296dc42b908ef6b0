//! Lines under round-trip times.
//!
//! Of each size the least round trip has met no queue; least round trips lie on a line over the size, whose slope is the
//! sum of the links' times for a byte (Jacobson 1997). Queues only ever add, so the line lies under all of them. Downey
//! (1999) deals probes to two halves by turns and lays a line through each: where they differ, so much at least is not
//! known. Here they are dealt to four. But least round trips scatter about their line themselves, for a host is never twice as
//! quick, and the lines of four parts may agree by chance: the error that the scatter of its own points leaves a slope comes on top.

use crate::stats::hull::line_under;
use crate::stats::slope::{Fit, least_squares};
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

/// A round trip is told to a whole nanosecond at either end, and so are the least ones of the smallest size and the largest.
const ROUNDED: f64 = 2.0;

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
        let fit = line_of_least(&whole)?;
        let part = |part: usize| Some(line_of_least(&self.points(|seen| seen.parts[part]))?.slope.value);
        let parts: Option<Vec<f64>> = (0..PARTS).map(part).collect();
        let parts = parts?;
        let (value, scatter) = (fit.slope.value, fit.slope.half_width());
        let (low, high) =
            parts.iter().fold((value, value), |(low, high), part| (low.min(*part), high.max(*part)));
        let rounded = ROUNDED / (whole.last()?.0 - whole.first()?.0);
        let around = |side: f64| side.hypot(scatter) + rounded;
        let slope = Estimate { value, low: value - around(value - low), high: value + around(high - value) };
        let least = whole.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        Some(Rise { slope, least, line: fit.line() })
    }
}

/// The line under all points finds those that met no queue: the half that is nearest to it. The slope is that of the line
/// through these, for what routers take to make their messages varies a little on both sides.
fn line_of_least(points: &[(f64, f64)]) -> Option<Fit> {
    if points.len() < FEWEST_SIZES {
        return None;
    }
    let under = line_under(points)?;
    let mut nearest = points.to_vec();
    nearest.sort_by(|a, b| (a.1 - under.at(a.0)).total_cmp(&(b.1 - under.at(b.0))));
    nearest.truncate(points.len().div_ceil(2).max(3));
    least_squares(&nearest)
}

/// By how much one slope is above another.
pub(super) fn difference(of: Estimate, before: Estimate) -> Estimate {
    let value = of.value - before.value;
    let [below, above] =
        [(of.value - of.low, before.high - before.value), (of.high - of.value, before.value - before.low)]
            .map(|(a, b): (f64, f64)| a.hypot(b));
    Estimate { value, low: value - below, high: value + above }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::Indices;
    use crate::stats::chance::exponential;
    use crate::unit::Nanos;

    /// What 200 round trips of each of twelve sizes tell of a link that takes so many nanoseconds for a byte, behind hosts that do five
    /// things one after the other, each for 4 us at the mean by chance.
    fn told(byte: f64, seed: u64) -> Estimate {
        let (mut chance, mut least) = (Indices::new(seed), Least::default());
        for place in 0..12 {
            let size = 602 + 84 * place;
            for _ in 0..200 {
                let hosts: f64 = (0..5).map(|_| exponential(&mut chance, Nanos(4_000)).as_f64()).sum();
                least.push(Bytes(size), (27e3 + byte * size as f64 + hosts).round());
            }
        }
        least.rise().unwrap().slope
    }

    /// The least round trips of a kernel scatter by some microseconds, which 1 Gb/s takes for a packet: four lines alike are no proof.
    #[test]
    fn what_hosts_take_is_in_the_interval_of_a_slope() {
        for byte in [0.8, 8.0] {
            let held = (0..200).filter(|seed| told(byte, *seed).holds(byte)).count();
            assert!(held >= 188, "{byte} ns a byte: {held} of 200");
        }
    }

    #[test]
    fn a_slope_is_no_more_certain_than_stamps() {
        let mut least = Least::default();
        for (size, number) in
            [600u64, 900, 1_200, 1_500].into_iter().flat_map(|size| (0..8).map(move |number| (size, number)))
        {
            least.push(Bytes(size), (1e4 + 0.0801 * size as f64 + f64::from(number % 2)).floor());
        }
        let slope = least.rise().unwrap().slope;
        assert!(slope.holds(0.0801) && slope.half_width() < 0.01, "{slope:?}");
    }
}
