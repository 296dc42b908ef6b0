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
    /// Nats against all that is above it.
    pub(super) against: f64,
}

/// Of trains so large a share may be untouched.
const UNTOUCHED: f64 = 0.3;

/// A first packet that was no later than this did not wait, and no packet behind it comes before its time: no such train ends
/// below the slope. One may: that whose delay the others' are held against. So the second lowest end counts, and the crest is
/// no farther from it than this.
const PROMPT: f64 = 0.03;
const AROUND: RangeInclusive<f64> = 0.75..=1.02;

/// No packet comes before its time, so whatever takes longer than a train that was cut allows has so many nats against it:
/// touched trains only say too much, and where most are touched, their sum would be right of what the others agree on.
pub(super) const EARLY: f64 = 4.0;

/// A train so late counts a quarter, in packets' times: one over it.
const LATE: f64 = 4.0;

/// What short runs say counts most: longer ones, that all have others in them, agree as well. Of a train that was cut that
/// is clear where the last of one, two or three packets had no more than this share of a packet's time to spare.
const FEW: usize = 3;
const CLOSELY: f64 = 0.1;

/// So many standard deviations between the shares of two packets and of longer runs that agree are no chance.
const NO_CHANCE: f64 = 2.5;

/// Whatever lies farther from a crest than this share of it is another one.
const APART: f64 = 0.08;

const RESAMPLES: usize = 200;

/// What has no more than so many nats less for it than the best is in the interval: half of the 3.84 by which twice a
/// likelihood's logarithm falls from its crest to the ends of an interval of 95 %.
const LIKELY: f64 = 1.92;

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
    /// Whether two packets agree on it less often than longer runs do. Nothing that is true of the link does that: what
    /// spares a run spares its parts.
    pub(super) woven: bool,
    /// How far trains that agree are apart, as a share of a packet's time, where marks were widened for that.
    pub(super) scatter: f64,
}

impl Mark {
    fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Nats that it is worth: what touched trains say lies anywhere, so a narrow interval says more than a wide one.
    fn weight(&self) -> f64 {
        let worth = (1.0 + UNTOUCHED * self.middle() / (self.high - self.low)).ln();
        let trust = (1.0 + LATE * self.late).powi(-2) / self.packets.max(1) as f64;
        if worth.is_finite() { trust * worth } else { 0.0 }
    }

    /// How many packets it tells of, if they need so long; of a train that was cut, where the last of them had little time to spare.
    fn packets(&self, slope: f64) -> Option<usize> {
        let Some(room) = self.room else { return Some(self.packets) };
        let packets = room / slope;
        (packets >= 1.0 && packets.fract() <= CLOSELY).then_some(packets as usize)
    }

    fn holds(&self, slope: f64) -> bool {
        (self.low..=self.high).contains(&slope)
    }
}

/// Where a mark begins or ends.
#[derive(Copy, Clone, Debug)]
struct End {
    at: f64,
    /// By how much the weight changes there.
    step: f64,
    /// Whose end it is.
    mark: usize,
}

/// The ends of all marks in the order of their places.
fn ends(marks: &[Mark]) -> Vec<End> {
    let ends = |(mark, one): (usize, &Mark)| {
        let weight = one.weight();
        [End { at: one.low, step: weight, mark }, End { at: one.high, step: -weight - one.against, mark }]
    };
    let mut ends: Vec<End> = marks.iter().enumerate().flat_map(ends).filter(|end| end.step != 0.0).collect();
    // Where one ends at which another begins, both hold it.
    ends.sort_unstable_by(|a, b| a.at.total_cmp(&b.at).then(b.step.total_cmp(&a.step)));
    ends
}

/// The stretches between the ends of marks that are there so many `times`: the weight of those that hold each, and its ends.
fn stretches(ends: &[End], times: impl Fn(usize) -> u32) -> impl Iterator<Item = (f64, f64, f64)> {
    let there = move |end: &End| {
        let times = times(end.mark);
        (times > 0).then(|| (end.at, end.step * f64::from(times)))
    };
    let mut there = ends.iter().filter_map(there);
    let (mut low, mut sum) = there.next().unwrap_or((0.0, 0.0));
    there.map(move |(high, step)| {
        let stretch = (sum, low, high);
        (low, sum) = (high, sum + step);
        stretch
    })
}

/// The stretch with the greatest weight that `fits`, the lowest of several.
fn highest(
    stretches: impl Iterator<Item = (f64, f64, f64)>,
    fits: impl Fn(f64) -> bool,
) -> Option<(f64, f64, f64)> {
    stretches.fold(None, |best: Option<(f64, f64, f64)>, other| {
        let is_higher = best.is_none_or(|best| other.0 > best.0);
        if is_higher && fits(f64::midpoint(other.1, other.2)) { Some(other) } else { best }
    })
}

/// All that has nearly as much for it as `most`, which lies within `low` and `high`.
fn likely(
    stretches: impl Iterator<Item = (f64, f64, f64)>,
    (most, low, high): (f64, f64, f64),
    fits: impl Fn(f64) -> bool,
) -> (f64, f64) {
    let near = |(weight, low, high): &(f64, f64, f64)| {
        *weight > most - LIKELY && low < high && fits(f64::midpoint(*low, *high))
    };
    stretches.filter(near).fold((low, high), |(least, most), (_, low, high)| (least.min(low), most.max(high)))
}

/// The second lowest end of those that did not wait.
fn floor(marks: &[Mark]) -> Option<f64> {
    let prompt = marks.iter().filter(|mark| mark.late <= PROMPT && mark.high.is_finite());
    let mut ends: Vec<f64> = prompt.map(|mark| mark.high).collect();
    (ends.len() > 1).then(|| *ends.select_nth_unstable_by(1, f64::total_cmp).1)
}

/// As many times as each is there where nothing is drawn.
fn once(_: usize) -> u32 {
    1
}

/// Nats that speak for the crest of all marks within `range`.
pub(super) fn score(marks: &[Mark], range: &RangeInclusive<f64>) -> f64 {
    let floor = floor(marks);
    let fits = |slope: f64| fits(slope, floor, range);
    highest(stretches(&ends(marks), once), fits).map_or(0.0, |(score, ..)| score)
}

fn fits(slope: f64, floor: Option<f64>, range: &RangeInclusive<f64>) -> bool {
    range.contains(&slope) && floor.is_none_or(|floor| AROUND.contains(&(slope / floor)))
}

/// Whether of marks that did not wait those of two packets hold a slope less often than longer ones.
fn woven(marks: &[Mark], slope: f64) -> bool {
    let (mut short, mut long) = ([0.0, 0.0], [0.0, 0.0]);
    for mark in marks.iter().filter(|mark| mark.late <= PROMPT) {
        let side = match mark.packets(slope) {
            None => continue,
            Some(1) => &mut short,
            Some(_) => &mut long,
        };
        // A hold tells of that gap in which it cuts, and meets one that others widened so much sooner.
        let wide = if mark.room.is_none() && mark.packets == 1 { mark.middle() / slope } else { 1.0 };
        side[0] += 1.0 / wide.max(1.0);
        side[1] += f64::from(u8::from(mark.holds(slope)));
    }
    let all = (short[1] + long[1]) / (short[0] + long[0]);
    let deviation = (all * (1.0 - all) * (1.0 / short[0] + 1.0 / long[0])).sqrt();
    long[1] / long[0] - short[1] / short[0] > NO_CHANCE * deviation
}

/// The crest of all marks within `range`.
pub(super) fn crest(marks: &[Mark], range: &RangeInclusive<f64>, seed: u64) -> Option<Crest> {
    let floor = floor(marks);
    let around = |slope: f64| fits(slope, floor, range);
    let ends = ends(marks);
    let (score, low, high) = highest(stretches(&ends, once), around)?;
    let value = f64::midpoint(low, high);
    // A resample has the same ends in the same order, each as often as its mark was drawn.
    let all: Vec<usize> = (0..marks.len()).collect();
    let mut times = vec![0; marks.len()];
    let middle = |drawn: &[usize]| {
        times.fill(0);
        drawn.iter().for_each(|mark| times[*mark] += 1);
        highest(stretches(&ends, |mark| times[mark]), around).map(|(_, low, high)| f64::midpoint(low, high))
    };
    let drawn = interval(&all, RESAMPLES, seed, middle)?;
    let trains = marks.iter().filter(|mark| mark.weight() > 0.0 && mark.holds(value)).count();
    let (low, high) = likely(stretches(&ends, once), (score, low, high), around);
    let slope = Estimate { value, low: drawn.low.min(low), high: drawn.high.max(high) };
    let total: f64 = marks.iter().map(Mark::weight).sum();
    let is_rival = |slope: f64| around(slope) && (slope / value - 1.0).abs() > APART;
    let rival = highest(stretches(&ends, once), is_rival).map_or(0.0, |rival| rival.0);
    let is_short = |mark: &&Mark| mark.packets(value).is_some_and(|packets| packets <= FEW);
    let short: Vec<&Mark> = marks.iter().filter(|mark| mark.late <= PROMPT).filter(is_short).collect();
    let agreeing = short.iter().filter(|mark| mark.holds(value)).count();
    Some(Crest {
        slope: slope.widened(small_sample_factor(trains).min(10.0)),
        score,
        share: score / total,
        trains,
        lead: score - rival,
        untouched: agreeing as f64 / short.len().max(1) as f64,
        woven: woven(marks, value),
        scatter: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVERYWHERE: RangeInclusive<f64> = 0.0..=f64::INFINITY;

    fn mark(low: f64, high: f64) -> Mark {
        Mark { low, high, late: 0.1, packets: 1, room: None, against: 0.0 }
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

    #[test]
    fn longer_runs_that_agree_where_two_packets_do_not_are_woven() {
        // Each packet takes 1, and of two packets or of five, so many of forty are as short as 1.3 a packet allows.
        let marks = |short: usize, long: usize| {
            let cut = |packets: usize, agree: bool| {
                let room = 1.3 * (packets as f64 + 0.05);
                let high = if agree { room / packets as f64 } else { f64::INFINITY };
                let low = if agree { room / (packets + 1) as f64 } else { room };
                Mark { low, high, late: 0.0, packets, room: Some(room), against: 0.0 }
            };
            let few = (0..40).map(move |place| cut(1, place < short));
            few.chain((0..40).map(move |place| cut(5, place < long))).collect::<Vec<_>>()
        };
        assert!(woven(&marks(2, 30), 1.3));
        assert!(!woven(&marks(28, 30), 1.3));
        assert!(!woven(&marks(30, 2), 1.3));
        assert!(!woven(&[], 1.3));
    }

    /// So many untouched trains, each of which knows the slope, 1, to within a fifth; three of four others say anything.
    fn among_many_others(seed: u64, untouched: usize) -> Crest {
        let mut chance = crate::stats::bootstrap::Indices::new(seed);
        let mut share = || chance.below(1 << 20) as f64 / f64::from(1 << 20);
        let mut marks: Vec<Mark> = Vec::new();
        for train in 0..2 * untouched {
            let truth = if train % 2 == 0 { 1.0 } else { 0.5 + 2.0 * share() };
            let low = truth * (1.0 - 0.2 * share());
            marks.push(mark(low, low + 0.2 * truth));
        }
        crest(&marks, &EVERYWHERE, seed).unwrap()
    }

    #[test]
    fn the_value_is_within_a_twentieth_but_by_rare_chance() {
        for seed in 0..300 {
            let found = among_many_others(seed, 30 + seed as usize % 30);
            assert!((found.slope.value - 1.0).abs() < 0.05, "{seed}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn a_mark_that_is_drawn_so_often_counts_as_so_many(drawn in prop::collection::vec((1u32..9, 1u32..9, 0u32..4, any::<bool>()), 1..12)) {
            // Ends that meet, marks without an end, and such as speak against all above them.
            let of = |&(low, wide, times, cut): &(u32, u32, u32, bool)| {
                let (low, high) = (f64::from(low), if wide == 8 { f64::INFINITY } else { f64::from(low + wide) });
                (Mark { against: if cut { EARLY } else { 0.0 }, ..mark(low, high) }, times)
            };
            let (marks, times): (Vec<Mark>, Vec<u32>) = drawn.iter().map(of).unzip();
            let each: Vec<Mark> =
                marks.iter().zip(&times).flat_map(|(mark, times)| vec![*mark; *times as usize]).collect();
            let fits = |slope: f64| slope < 12.0;
            let counted = highest(stretches(&ends(&marks), |mark| times[mark]), fits);
            let repeated = highest(stretches(&ends(&each), once), fits);
            prop_assert_eq!(counted.is_some(), repeated.is_some());
            if let Some((counted, repeated)) = counted.zip(repeated) {
                // Of ends that meet, one may be taken for the other where both weigh the same but for rounding.
                prop_assert!((counted.0 - repeated.0).abs() < 1e-9, "{counted:?} {repeated:?}");
            }
        }

        #[test]
        fn untouched_trains_are_found_among_many_others(seed in 0..1_000u64, untouched in 30..60usize) {
            let found = among_many_others(seed, untouched);
            prop_assert!(found.slope.low <= 1.0 && 1.0 <= found.slope.high, "{found:?}");
            // Of all that can be drawn here one in 3,000 is farther off than a twentieth, and none by more than this.
            prop_assert!((found.slope.value - 1.0).abs() < 0.055, "{found:?}");
            // More is known than any one of them says.
            prop_assert!(found.slope.high - found.slope.low < 0.2, "{found:?}");
        }
    }
}
