//! Where intervals lie over each other most.

use crate::stats::Estimate;
use crate::stats::bootstrap::{interval, small_sample_factor};
use std::ops::RangeInclusive;

/// What one train says of a slope, nanoseconds a bit: it is in here, if nobody touched the train.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) low: f64,
    pub(super) high: f64,
    /// How late the first packet of the train was, in packets' times, and as it is known no better.
    pub(super) late: f64,
    /// Packets' times that it rests on: others get into a long one sooner than into a short one.
    pub(super) packets: usize,
    /// Of a train that was cut: the time that it had to come in, nanoseconds a bit of one of its packets.
    pub(super) room: Option<f64>,
}

/// Of trains so large a share may be untouched.
const UNTOUCHED: f64 = 0.3;

/// A first packet that was no later than this did not wait, and no packet behind it comes before its time: no such train ends
/// below the slope. One may: that whose delay the others' are held against. So the second lowest end counts, and the crest is
/// no farther from it than this.
const PROMPT: f64 = 0.03;
const AROUND: RangeInclusive<f64> = 0.75..=1.02;

/// A train so late counts a quarter, in packets' times: one over it.
const LATE: f64 = 4.0;

/// What short runs say counts most: longer ones, that all have others in them, agree as well. Of a train that was cut that
/// is clear where it was so by no more than this share of the time that one, two or three packets need.
const FEW: f64 = 3.0;
const CLOSELY: f64 = 1.1;

/// Whatever lies farther from a crest than this share of it is another one.
const APART: f64 = 0.08;

const RESAMPLES: usize = 200;

/// The slope that most speaks for.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Crest {
    pub(super) slope: Estimate,
    /// Nats that speak for it.
    pub(super) score: f64,
    /// Of all nats that could.
    pub(super) share: f64,
    /// Trains that agree on it.
    pub(super) trains: usize,
    /// Nats by which that is more than for anything that lies apart.
    pub(super) lead: f64,
    /// Share of the short runs that agree on it: the longer ones may agree on what others made of all of them.
    pub(super) untouched: f64,
    /// How far trains that agree are apart, as a share of a packet's time, where marks were widened for that.
    pub(super) scatter: f64,
}

impl Mark {
    /// Nats that it is worth: what touched trains say lies anywhere, so a narrow interval says more than a wide one.
    fn weight(&self) -> f64 {
        let middle = f64::midpoint(self.low, self.high);
        let worth = (1.0 + UNTOUCHED * middle / (self.high - self.low)).ln();
        let trust = (1.0 + LATE * self.late).powi(-2) / self.packets.max(1) as f64;
        if worth.is_finite() { trust * worth } else { 0.0 }
    }

    /// Whether it is a run of few packets, if these need so long; of a cut one, whether it tells of the last of them.
    fn is_short(&self, slope: f64) -> bool {
        let Some(room) = self.room else { return self.packets == 1 };
        let packets = (room / slope).floor();
        (1.0..=FEW).contains(&packets) && room / slope <= CLOSELY * packets
    }

    fn holds(&self, slope: f64) -> bool {
        (self.low..=self.high).contains(&slope)
    }
}

/// The stretch with the greatest weight that `fits`: weight and ends.
fn highest(marks: &[Mark], fits: impl Fn(f64) -> bool) -> Option<(f64, f64, f64)> {
    let ends = |mark: &Mark| [(mark.low, mark.weight()), (mark.high, -mark.weight())];
    let mut ends: Vec<(f64, f64)> = marks.iter().flat_map(ends).filter(|end| end.1 != 0.0).collect();
    // Where one ends at which another begins, both hold it.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut sum = 0.0;
    let mut best: Option<(f64, f64, f64)> = None;
    for two in ends.windows(2) {
        sum += two[0].1;
        if best.is_none_or(|(most, ..)| sum > most) && fits(f64::midpoint(two[0].0, two[1].0)) {
            best = Some((sum, two[0].0, two[1].0));
        }
    }
    best
}

/// The second lowest end of those that did not wait.
fn floor(marks: &[Mark]) -> Option<f64> {
    let prompt = marks.iter().filter(|mark| mark.late <= PROMPT && mark.high.is_finite());
    let mut ends: Vec<f64> = prompt.map(|mark| mark.high).collect();
    (ends.len() > 1).then(|| *ends.select_nth_unstable_by(1, f64::total_cmp).1)
}

/// Nats that speak for the crest of all marks within `range`.
pub(super) fn score(marks: &[Mark], range: &RangeInclusive<f64>) -> f64 {
    let floor = floor(marks);
    let fits = |slope: f64| fits(slope, floor, range);
    highest(marks, fits).map_or(0.0, |(score, ..)| score)
}

fn fits(slope: f64, floor: Option<f64>, range: &RangeInclusive<f64>) -> bool {
    range.contains(&slope) && floor.is_none_or(|floor| AROUND.contains(&(slope / floor)))
}

/// The crest of all marks within `range`.
pub(super) fn crest(marks: &[Mark], range: &RangeInclusive<f64>, seed: u64) -> Option<Crest> {
    let floor = floor(marks);
    let around = |slope: f64| fits(slope, floor, range);
    let (score, low, high) = highest(marks, around)?;
    let value = f64::midpoint(low, high);
    let middle = |marks: &[Mark]| highest(marks, around).map(|(_, low, high)| f64::midpoint(low, high));
    let trains = marks.iter().filter(|mark| mark.weight() > 0.0 && mark.holds(value)).count();
    let drawn = interval(marks, RESAMPLES, seed, middle)?;
    let slope = Estimate { value, low: drawn.low.min(low), high: drawn.high.max(high) };
    let total: f64 = marks.iter().map(Mark::weight).sum();
    let rival = highest(marks, |slope| around(slope) && (slope / value - 1.0).abs() > APART)
        .map_or(0.0, |rival| rival.0);
    let short: Vec<&Mark> = marks.iter().filter(|mark| mark.late <= PROMPT && mark.is_short(value)).collect();
    let agreeing = short.iter().filter(|mark| mark.holds(value)).count();
    Some(Crest {
        slope: slope.widened(small_sample_factor(trains).min(10.0)),
        score,
        share: score / total,
        trains,
        lead: score - rival,
        untouched: agreeing as f64 / short.len().max(1) as f64,
        scatter: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVERYWHERE: RangeInclusive<f64> = 0.0..=f64::INFINITY;

    fn mark(low: f64, high: f64) -> Mark {
        Mark { low, high, late: 0.1, packets: 1, room: None }
    }

    #[test]
    fn most_and_narrowest_win() {
        let marks =
            [mark(1.0, 2.0), mark(1.5, 1.6), mark(1.55, 3.0), mark(4.0, 5.0), mark(1.4, f64::INFINITY)];
        let crest = crest(&marks, &EVERYWHERE, 1).unwrap();
        assert!((1.55..=1.6).contains(&crest.slope.value), "{crest:?}");
        // That which has no end says nothing of where.
        assert_eq!(crest.trains, 3);
        assert!(crest.lead > 0.7 && crest.share > 0.7, "{crest:?}");
        assert_eq!(super::crest(&[], &EVERYWHERE, 1), None);
    }

    proptest! {
        #[test]
        fn untouched_trains_are_found_among_many_others(seed in 0..1_000u64, untouched in 30..60usize) {
            // Each knows the slope to within a fifth; three of four others say anything.
            let mut chance = crate::stats::bootstrap::Indices::new(seed);
            let mut share = || chance.below(1 << 20) as f64 / f64::from(1 << 20);
            let mut marks: Vec<Mark> = Vec::new();
            for train in 0..2 * untouched {
                let truth = if train % 2 == 0 { 1.0 } else { 0.5 + 2.0 * share() };
                let low = truth * (1.0 - 0.2 * share());
                marks.push(mark(low, low + 0.2 * truth));
            }
            let found = crest(&marks, &EVERYWHERE, seed).unwrap();
            prop_assert!((found.slope.value - 1.0).abs() < 0.05, "{found:?}");
        }
    }
}
