//! What a long train shows as a whole: at what rate it came, and whether others stood in it in step.

use crate::stats::Estimate;
use crate::stats::quantile::{MAD_TO_SIGMA, mad, median};
use crate::stats::slope::theil_sen;
use crate::stream::{Passed, occupied};
use crate::unit::{Bytes, ETHERNET_MIN};

/// It came slower than it was sent by more than this share.
const SLOWER: f64 = 0.02;

/// So many stretches, or fewer of so many packets at the least, tell how evenly it came: of a source that keeps time the longest one holds
/// as many packets as the shortest, but for one, and of a random source the more differ the longer they are.
const STRETCHES: usize = 24;
const STRETCH: usize = 10;
const FEWEST: usize = 8;

/// A random source's packets differ in number from stretch to stretch by the root of it, the more in bits the larger they are. Where they
/// differ by less than this share of what the smallest would, they come in step.
const IN_STEP: f64 = 0.5;

/// Of a link's own gaps others leave some alone, unless they are in all: so large a share of gaps is as short as they were sent, to
/// this share of it.
const UNPARTED: f64 = 0.05;
const SHORT: f64 = 0.005;

/// Packets that come closer than so much of what they were sent apart are of one lump. A stretch between the last packets of two is blurred
/// by so much of a packet's time, for either is as old as may be up to that (the root of two twelfths).
const LUMP: f64 = 0.5;
const BLUR: f64 = 0.41;

/// A train after one that was held up is so much of what that was held up by slower than it.
const FURTHER: f64 = 0.7;

/// A long train as it came.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Whole {
    /// Nanoseconds a packet, of those that came.
    pub(super) each: f64,
    /// A packet, those that did not come too: as they were sent, and as the others came.
    sent: f64,
    came: f64,
    /// It came slower than it was sent: in nearly each gap, or by less than others take of the link.
    pub(super) is_held_up: bool,
    /// What came between its packets.
    pub(super) between: Between,
    /// As large a share of gaps as others leave alone is as long as they were sent: no longer, and no shorter either.
    pub(super) has_untouched: bool,
}

/// What came between a train's packets, stretch by stretch.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Between {
    /// As much in each.
    Even,
    /// More here and less there, as chance makes it.
    Uneven,
    /// Too few stretches came whole.
    Unknown,
}

impl Whole {
    /// Of packets of `size` that were to be sent `gap` nanoseconds apart: where the sender was later than that, nobody held them up. Where a NIC
    /// has gathered them (`is_gathered`) single gaps are of its making.
    pub(super) fn of(passed: &[Passed], gap: f64, size: Bytes, is_gathered: bool) -> Option<Self> {
        let (first, last) = (passed.first()?, passed.last()?);
        let each = (last.came - first.came) / passed.len().checked_sub(1).filter(|gaps| *gaps > 0)? as f64;
        let stretch = (passed.len() / STRETCHES).max(STRETCH);
        let ends = ends(passed, stretch, gap, is_gathered);
        let apart = |from: &Passed, to: &Passed| (to.number - from.number) as f64;
        let sent = |from: &Passed, to: &Passed| (to.sent - from.sent).max(gap * apart(from, to));
        // By how much each was sent, and came, in a longer time than was asked for, were all of as many packets.
        let whole =
            ends.windows(2).filter(|two| passed[two[1]].number - passed[two[0]].number == two[1] - two[0]);
        let longer: Vec<(f64, f64)> = whole
            .map(|two| (&passed[two[0]], &passed[two[1]]))
            .map(|(from, to)| {
                let (asked, alike) = (gap * apart(from, to), stretch as f64 / apart(from, to));
                ((to.sent - from.sent - asked) * alike, (to.came - from.came - asked) * alike)
            })
            .collect();
        // Where one was lost the gap is of another's making, and where the sender was late what waited is gone.
        let is_in_time = |two: &&[Passed]| {
            two[1].number == two[0].number + 1 && two[1].sent - two[0].sent <= gap * (1.0 + SLOWER)
        };
        let unparted: Vec<f64> = passed
            .windows(2)
            .filter(is_in_time)
            .map(|two| (two[1].came - two[0].came) / sent(&two[0], &two[1]))
            .filter(|longer| *longer <= 1.0 + SHORT)
            .collect();
        let untouched = unparted.iter().filter(|longer| **longer >= 1.0 - SHORT).count();
        let are_some = |gaps: usize| gaps as f64 >= UNPARTED * passed.len() as f64;
        let is_parted = is_gathered || !are_some(unparted.len());
        // What was lost did not come either.
        let sent_each = sent(first, last) / (last.number - first.number).max(1) as f64;
        let slower = each / sent_each - 1.0;
        let load = load(&longer);
        let blur = if is_gathered { BLUR * each } else { 0.0 };
        let between = match is_even(&longer, load.map_or(0.0, |load| load.value), blur, occupied(size) / gap)
        {
            _ if longer.len() < FEWEST => Between::Unknown,
            true => Between::Even,
            false => Between::Uneven,
        };
        // At the pace of the link a train comes slower by what others take. If it is slower by less than that, the pace is not the link's:
        // packets take less of it, and what is as short as they were sent has others in it.
        let is_too_slow = load.is_some_and(|load| load.low > slower + SLOWER);
        let points: Vec<(f64, f64)> =
            ends.iter().map(|end| (apart(first, &passed[*end]), passed[*end].came)).collect();
        let came = theil_sen(&points).map_or(each, |fit| fit.slope.value);
        Some(Self {
            each,
            sent: sent_each,
            came,
            is_held_up: slower > SLOWER && (is_parted || is_too_slow),
            between,
            has_untouched: are_some(untouched),
        })
    }

    /// How far apart the packets of another train are to be, further than these that were to be `gap` nanoseconds apart, so that a link which
    /// holds these up still never rests; where that is far enough to tell anything.
    pub(super) fn further(&self, gap: f64) -> Option<f64> {
        let further = FURTHER * (self.came / self.sent - 1.0);
        (further > SLOWER).then_some(gap * (1.0 + further))
    }

    /// What a packet takes of a link that neither this train nor the `other` lets rest: beside it what others send meanwhile passes, in
    /// proportion to how far apart packets are sent.
    pub(super) fn own(&self, other: &Self) -> f64 {
        let load = (other.came - self.came) / (other.sent - self.sent);
        self.came - load * self.sent
    }
}

/// Where stretches of so many packets end, or of some more where a NIC gathers what comes: there the last packet of a lump is no older than a
/// packet's time, and the others are older.
fn ends(passed: &[Passed], stretch: usize, gap: f64, is_gathered: bool) -> Vec<usize> {
    let is_last =
        |one: usize| passed.get(one + 1).is_some_and(|next| next.came - passed[one].came > LUMP * gap);
    let mut ends: Vec<usize> = Vec::new();
    for one in (0..passed.len()).filter(|one| !is_gathered || is_last(*one)) {
        if ends.last().is_none_or(|last| one >= last + stretch) {
            ends.push(one);
        }
    }
    ends
}

/// The share of the link that others take. The sender is late now and then, and catches up: of a link that never rests, a stretch that was sent in
/// a longer time has more of them, by their share, which is the slope of what stretches came in over what they were sent in.
fn load(longer: &[(f64, f64)]) -> Option<Estimate> {
    theil_sen(longer).map(|fit| fit.slope)
}

/// Whether others, who take this share of a link that carries so many bits a nanosecond, took as much of each stretch as those do that keep time. What
/// is left of the differences without what the sender makes of them is not the sender's, nor what stretches are blurred by.
fn is_even(longer: &[(f64, f64)], load: f64, blur: f64, bits: f64) -> bool {
    let others: Vec<f64> = longer.iter().map(|(sent, came)| (came - load * sent) * bits).collect();
    median(&others).zip(mad(&others)).is_some_and(|(middle, deviation)| {
        let by_chance = (middle * occupied(ETHERNET_MIN)).max(0.0).sqrt();
        MAD_TO_SIGMA * deviation < (IN_STEP * by_chance).hypot(blur * bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::Indices;

    const SIZE: Bytes = Bytes(1_526);
    const GAP: f64 = 123e3;

    /// Of 200 packets, between each two of which others take so many nanoseconds.
    fn came(others: impl FnMut(usize) -> f64) -> Whole {
        let mut at = 0.0;
        let passed: Vec<Passed> = (0..200)
            .zip((0..200).map(others))
            .map(|(number, more)| {
                at += GAP + more;
                Passed { number, sent: GAP * number as f64, came: at }
            })
            .collect();
        Whole::of(&passed, GAP, SIZE, false).unwrap()
    }

    /// Of 480 packets that take this share of the gap each, and others that keep time and take 1.3 times the link's time beside them; one packet
    /// in three is late.
    fn beside(own: f64) -> Whole {
        const OTHER: f64 = 0.279 * GAP;
        let every = OTHER / (1.3 - own);
        let (mut free, mut others) = (0.0_f64, 0.0);
        let passed = (0..480).map(|number| {
            let late = if number % 3 == 1 { 0.4 + 0.001 * number as f64 } else { 0.0 };
            let sent = GAP * (number as f64 + late);
            while others <= sent {
                free = free.max(others) + OTHER;
                others += every;
            }
            free = free.max(sent) + own * GAP;
            Passed { number, sent, came: free }
        });
        Whole::of(&passed.collect::<Vec<_>>(), GAP, SIZE, false).unwrap()
    }

    /// Of 2,000 packets that leave `gap` apart, behind a link that takes GAP for each and the share of a gap that `others` says, and a NIC that
    /// hands over what came in four times GAP.
    fn gathered(gap: f64, mut others: impl FnMut() -> f64) -> Whole {
        let mut at = 0.0_f64;
        let passed = (0..2_000).map(|number| {
            let sent = gap * number as f64;
            at = sent.max(at + GAP + others() * gap);
            Passed { number, sent, came: (at / (4.0 * GAP)).ceil() * 4.0 * GAP }
        });
        Whole::of(&passed.collect::<Vec<_>>(), gap, SIZE, true).unwrap()
    }

    #[test]
    fn a_slower_train_tells_what_the_link_takes_for_a_packet() {
        // The pace that was found is the link's, or what it leaves of it.
        for pace in [1.0, 1.12] {
            let first = gathered(pace * GAP, || 0.2);
            assert!(first.is_held_up && first.between == Between::Even, "{first:?}");
            let gap = first.further(pace * GAP).unwrap();
            assert!(gap > pace * GAP && gap < 1.25 * GAP, "{gap}");
            let own = first.own(&gathered(gap, || 0.2));
            assert!((own / GAP - 1.0).abs() < 0.02, "{own}");
        }
        // Slower by 1 %: no slower train differs by enough.
        assert_eq!(gathered(1.24 * GAP, || 0.2).further(1.24 * GAP), None);
    }

    #[test]
    fn lumps_of_a_nic_are_no_more_even_than_what_is_in_them() {
        // At 100 Mb/s a packet of 1,000 bytes in one gap of four, at random.
        let mut chance = Indices::new(5);
        let random = gathered(GAP, || if chance.below(4) == 0 { 0.66 } else { 0.0 });
        assert!(random.is_held_up && random.between == Between::Uneven, "{random:?}");
    }

    #[test]
    fn a_period_is_no_gap_that_nobody_touched() {
        // Of a link, where one packet in three waits behind another of its size.
        assert!(came(|number| if number % 3 == 0 { GAP } else { 0.0 }).has_untouched);
        // The same handed on whenever a period ends that is a little shorter than a gap: as short as they were sent, and none as long.
        let period = 0.955 * GAP;
        let passed: Vec<Passed> = (0..200)
            .map(|number| {
                let sent = GAP * number as f64;
                Passed { number, sent, came: (sent * 1.3 / period).ceil() * period }
            })
            .collect();
        let whole = Whole::of(&passed, GAP, SIZE, false).unwrap();
        assert!(!whole.has_untouched && !whole.is_held_up, "{whole:?}");
    }

    #[test]
    fn others_that_keep_time_are_told_from_those_that_come_at_random() {
        // A fifth of the link: of small packets three or four in each gap; or as many at random; or nobody.
        let small = 7e3;
        let even = came(|number| small * (3.0 + f64::from(u8::from(number % 2 == 0))));
        assert!(
            even.is_held_up && even.between == Between::Even && (even.each / GAP - 1.2).abs() < 0.01,
            "{even:?}"
        );
        let mut chance = Indices::new(3);
        let random = came(|_| (0..35).filter(|_| chance.below(10) == 0).count() as f64 * small);
        assert!(random.is_held_up && random.between == Between::Uneven, "{random:?}");
        assert!(!came(|_| 0.0).is_held_up);
        // A sender that is as late with each.
        let late: Vec<Passed> = (0..200)
            .map(|number| Passed { number, sent: 1.2 * GAP * number as f64, came: 1.2 * GAP * number as f64 })
            .collect();
        assert!(!Whole::of(&late, GAP, SIZE, false).unwrap().is_held_up);
        // Others take a fifth of the link, evenly, and now and then the sender is late: the link has the less to do, for some of these
        // packets it waits, and they come as they were sent.
        let mut passed = Vec::new();
        let (mut sent, mut at) = (0.0, 0.0_f64);
        for number in 0..200 {
            let gap = match number {
                1..=12 => 1.5 * GAP,
                _ if number % 40 == 39 => 3.0 * GAP,
                _ => GAP,
            };
            sent += gap;
            at = sent.max(at + GAP + 0.2 * gap);
            passed.push(Passed { number, sent, came: at });
        }
        let whole = Whole::of(&passed, GAP, SIZE, false).unwrap();
        assert!(whole.is_held_up && whole.between == Between::Even, "{whole:?}");
        // At a pace slower than the link's, where one of others' packets makes a gap as long as it was sent; and at the link's own.
        let slow = beside(0.715);
        assert!(slow.is_held_up && slow.between == Between::Even && slow.each < 1.35 * GAP, "{slow:?}");
        let right = beside(1.0);
        assert!(!right.is_held_up && right.between == Between::Even, "{right:?}");
        // One packet in three gaps, as large as ours.
        assert!(!came(|number| if number % 3 == 0 { GAP } else { 0.0 }).is_held_up);
    }
}
