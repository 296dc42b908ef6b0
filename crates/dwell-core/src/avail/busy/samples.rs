//! What trains showed so far, and what it says of the link.

use super::late;
use super::plan::FULL_HEAD;
use super::strain;
use super::unparted::{Another, another, batch, unparted};
use super::waiting::HOST;
use crate::avail::search::Verdict;
use crate::stats::NORMAL;
use crate::stats::quantile::{mean, median};
use crate::stream::Passed;
use crate::stream::line::{self, Known, Line};
use crate::stream::sample::{Sample, busy, differ, heavier, surplus};

/// Bursts that come in so much of the time that they were sent in show the sender's pace, not the path's.
const SPREAD: f64 = 1.03;

/// Trains that leave so much slower than they should are as fast as the sender makes them.
const LATE: f64 = 1.1;

/// By so much of L / C, or what a host delays the last packet of a burst, a link's packets are no further apart, beside what came between
/// them.
const APART: f64 = 0.1;

/// Gaps that are longer by less were not parted.
const NEAR: f64 = 0.05;

/// What is taken for loaded before anything is known.
const UNKNOWN: f64 = 0.5;

/// Mean spacings of all trains but those of a test.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Packets that the receiver reads at once, where it reads several.
    pub(super) batch: Option<usize>,
    /// Single gaps of bursts, nanoseconds.
    gaps: Vec<f64>,
    /// The same of trains at the pace.
    full_gaps: Vec<f64>,
    /// Bursts of one length, as they were read.
    read: Vec<Vec<Passed>>,
    /// Of these.
    pub(super) bursts: Vec<Sample>,
    /// Mean gap between packets of bursts as they were sent.
    made: Vec<f64>,
    /// Of whole trains at the pace, whenever their packets left.
    pub(super) sent: Vec<Sample>,
    /// The same of their gaps that tell (see [`late`]).
    pub(super) full: Vec<Sample>,
    /// Of the heads of slower trains: behind their first packets these come at the pace as well.
    pub(super) heads: Vec<Sample>,
    /// Traffic was seen to come in bursts, which it may not do all the time.
    pub(super) bursts_seen: bool,
    /// Of trains nearer to what is free, spacing by spacing.
    pub(super) near: Vec<Vec<Sample>>,
    /// Departure and apparent delay of first packets, nanoseconds.
    pub(super) firsts: Vec<(f64, f64)>,
    /// How much longer the second packets of bursts took to leave than the others: some senders take as long for each.
    pub(super) cold: Vec<f64>,
}

impl Samples {
    /// Bursts of another length follow.
    pub(super) fn burst_anew(&mut self) {
        self.gaps.clear();
        self.bursts.clear();
    }

    /// Trains at the pace are sent a second time.
    pub(super) fn full_anew(&mut self) {
        self.sent.clear();
        self.full.clear();
    }

    /// Looks at how packets were read.
    pub(super) fn see_batches(&mut self, passed: &[Passed]) {
        self.batch = self.batch.max(batch(&gaps(passed)));
    }

    pub(super) fn see_burst(&mut self, passed: &[Passed]) {
        self.gaps.extend(gaps(passed));
        self.read.push(passed.to_vec());
        self.read_bursts(None);
        // Where its gaps crowd tells L / C however late the sender was, and L / C tells which of them are the sender's own.
        if let Some((own, _)) = self.crowd() {
            self.read_bursts(Some(own));
            if self.own().is_none() {
                self.read_bursts(None);
            }
        }
    }

    /// Reads the bursts, of which a link that takes `own` a packet was not always busy, where that is known.
    fn read_bursts(&mut self, own: Option<f64>) {
        let length = self.read.last().map_or(0, Vec::len);
        (self.bursts, self.made, self.cold) = Default::default();
        for passed in &self.read {
            let busy = timely(passed, &vec![0.0; passed.len()], own);
            let left = passed.windows(2).zip(&busy).filter(|(_, busy)| **busy);
            let made = mean(&left.map(|(two, _)| two[1].sent - two[0].sent).collect::<Vec<_>>());
            self.made.extend(made);
            self.cold.extend(passed.get(1).zip(made).map(|(second, made)| second.sent - made));
            if passed.len() == length {
                self.bursts.extend(self.sample(passed, &busy));
            }
        }
    }

    /// A train at the pace, of whose gaps those behind the head count that `busy` says.
    pub(super) fn see_full(&mut self, passed: &[Passed], busy: &[bool]) {
        self.full_gaps.extend(gaps(passed.get(1..).unwrap_or_default()));
        let Some(behind) = passed.get(FULL_HEAD - 1..) else { return };
        self.sent.extend(self.whole(behind));
        self.full.extend(self.sample(behind, &busy[FULL_HEAD - 1..]));
    }

    /// Which gaps of a train count whose packets were to leave `holds` apart.
    pub(super) fn timely(&self, passed: &[Passed], holds: &[f64]) -> Vec<bool> {
        timely(passed, holds, self.own().map(|(own, _)| own))
    }

    /// The mean spacing of a train, read as this receiver reads, over the gaps that `busy` says count.
    pub(super) fn sample(&self, passed: &[Passed], busy: &[bool]) -> Option<Sample> {
        if self.batch.is_some() { Sample::of_batches(passed) } else { Sample::of(passed, busy) }
    }

    /// The same over all gaps.
    pub(super) fn whole(&self, passed: &[Passed]) -> Option<Sample> {
        self.sample(passed, &timely(passed, &[], None))
    }

    /// How far apart packets of bursts leave.
    pub(super) fn made(&self) -> Option<f64> {
        median(&self.made)
    }

    /// Where gaps of bursts crowd.
    fn crowd(&self) -> Option<Known> {
        unparted(&self.gaps, self.burst()? - self.made()?)
    }

    /// L / C, where packets show it: where bursts come faster than the link serves them.
    pub(super) fn own(&self) -> Option<Known> {
        let made = self.made()?;
        self.crowd().filter(|(own, _)| made * SPREAD < *own)
    }

    /// What a packet takes of the link, as far as is known: at most what bursts come apart.
    pub(super) fn pace(&self) -> Option<f64> {
        self.own().map(|(own, _)| own).or_else(|| self.burst())
    }

    /// The pace of the fastest trains that may be free: what is free is no more than what bursts come at. And where another link
    /// jostles what the narrow one sends, the gaps that are shorter are not that one's.
    pub(super) fn fastest(&self) -> Option<f64> {
        self.burst().into_iter().chain(self.pace()).reduce(f64::max)
    }

    /// Whether bursts show that another link is loaded than the one whose pace they have, or as well.
    pub(super) fn another(&self) -> Option<Another> {
        another(&self.gaps, &self.full_gaps, self.own(), self.made()?, self.burst()?)
    }

    /// Whether bursts come further apart than the load of that line makes them: between two of their packets comes what was sent
    /// meanwhile, give or take what so few packets of others do by chance.
    pub(super) fn apart(&self, line: &Line) -> bool {
        let (Some((own, _)), Some(made), Some(burst)) = (self.own(), self.made(), self.burst()) else {
            return false;
        };
        // Within a burst of others there is as much as the link carries.
        let between = if self.bursty() { made } else { line.share.high * made };
        let chance = NORMAL * (between * own / self.gaps.len() as f64).sqrt();
        let unparted = self.gaps.iter().filter(|gap| **gap < own * (1.0 + NEAR)).count();
        let gaps = self.bursts.iter().map(|burst| burst.gaps).fold(1.0, f64::max);
        // One packet of others, which one in a burst may be; where hardly two gaps are alike it is none, but at most a host.
        let one = if unparted * 2 < self.gaps.len() { (own * APART).min(HOST / gaps) } else { own * APART };
        burst > own + one + between + chance
    }

    /// Whether bursts came no further apart than they were sent.
    pub(super) fn are_senders(&self) -> bool {
        self.made().zip(self.burst()).is_some_and(|(made, burst)| burst < made * SPREAD)
    }

    /// How far apart packets of bursts come.
    pub(super) fn burst(&self) -> Option<f64> {
        let came: Vec<f64> = self.bursts.iter().map(|burst| burst.output).collect();
        median(&came)
    }

    /// rho, as far as the samples and what is known of L / C tell; half before there are any.
    pub(super) fn share(&self) -> f64 {
        let Some(own) = self.pace() else { return UNKNOWN };
        let of = |samples: &mut dyn Iterator<Item = &Sample>| {
            let (between, watched) = samples.fold((0.0, 0.0), |(between, watched), sample| {
                (between + (sample.output - own) * sample.gaps, watched + sample.input * sample.gaps)
            });
            (watched > 0.0).then(|| between / watched)
        };
        let share = if self.alone().is_some() && !self.bursty() {
            // Of a link that is loaded alone all that kept it busy say the same, and all together vary the least. Those that did not
            // came further apart than its load makes them: it is no more than they say.
            let kept = of(&mut self.full.iter().chain(self.near.iter().filter(|near| busy(near)).flatten()));
            let idle = self.near.iter().filter(|near| !busy(near)).filter_map(|near| of(&mut near.iter()));
            idle.chain(kept).reduce(f64::min)
        } else {
            of(&mut self.near.iter().rev().find(|near| !near.is_empty()).unwrap_or(&self.full).iter())
        };
        share.unwrap_or(UNKNOWN).clamp(0.0, 1.0)
    }

    pub(super) fn line(&self) -> Option<Line> {
        // Trains that were, as the last tell, too slow to keep the link busy say nothing; nor do those of a spacing that
        // shows it itself.
        let least = self.pace()? / (1.0 - self.share()).max(f64::MIN_POSITIVE);
        let last = self.near.len().saturating_sub(1);
        let kept = |(round, sample): &(usize, &Sample)| *round == last || sample.input < least;
        let alone = self.alone().is_some();
        let rounds = self.near.iter().enumerate().filter(|(_, near)| !alone || busy(near));
        let near = rounds.flat_map(|(round, near)| near.iter().map(move |sample| (round, sample)));
        let near: Vec<Sample> = near.filter(kept).map(|(_, sample)| *sample).collect();
        let looks = self.looks()?.len();
        let line = if self.bursty() {
            // Faster than what it carries by itself, trains keep a link busy between bursts too.
            line::line(&self.looks()?, &[], self.own())
        } else {
            line::line(&self.full, &near, self.own())
        };
        Some(line?.of_looks(looks))
    }

    /// Of how many spacings, up to the last, trains were too slow to keep the link busy, so that they say no more than that
    /// it has so much free.
    pub(super) fn slack(&self) -> usize {
        let alone = self.alone().is_some();
        self.near.iter().rev().take_while(|near| alone && !busy(near)).count()
    }

    /// Trains that should have been `gap` apart came as they were sent, and that was slower.
    pub(super) fn slow(&self, gap: f64) -> bool {
        self.sent.iter().all(|sample| sample.input > LATE * gap)
            && strain::verdict(&self.sent, 0.0) == Verdict::Below
    }

    /// Most trains at the pace kept the link busy for a while, however late their packets were: those gaps tell.
    pub(super) fn tell(&self) -> bool {
        self.own().is_some() && self.full.len() * 2 >= self.sent.len()
    }

    /// What is free at the least, packets of ours a nanosecond, where trains came as they were sent: their rate, less what of them
    /// may have waited unseen. A link that sends `own` a packet and has A free lengthens a train that comes every g by
    /// s = own (1 / g - A), so A = 1 / g - s / own: `s` is what these few trains allow, and `own` at most their pace. And where
    /// nothing at all came between their packets, a few may have in that time.
    pub(super) fn at_least(&self) -> Option<f64> {
        let slowest = self.sent.iter().map(|sample| sample.input.max(sample.output)).fold(0.0, f64::max);
        let watched: f64 = self.sent.iter().map(|sample| sample.input * sample.gaps).sum();
        let hidden = strain::highest(&self.sent)? / self.pace()?;
        Some((1.0 / slowest - hidden.max(line::UNSEEN / watched)).max(0.0))
    }

    /// L / C of a link beside which no other is known to be loaded.
    fn alone(&self) -> Option<f64> {
        self.own().filter(|_| self.another().is_none()).map(|(own, _)| own)
    }

    /// Whether traffic comes in bursts longer than a train. It is told only of a link that is loaded alone.
    pub(super) fn bursty(&self) -> bool {
        self.bursts_seen || self.differ()
    }

    fn heavier(&self, own: f64) -> bool {
        self.looks().is_some_and(|looks| self.near.iter().any(|near| heavier(near, &looks, own)))
    }

    /// Whether slower trains may have met more load than those at the pace, as they do where the tight link is another than the narrow
    /// one: the line has then another beginning than the narrow link's packets.
    pub(super) fn steeper(&self) -> bool {
        self.alone().is_some_and(|own| self.heavier(own))
    }

    /// By how many standard errors all slower trains together met more load than those at the pace.
    pub(super) fn surplus(&self) -> Option<f64> {
        surplus(&self.near.concat(), &self.looks()?, self.pace()?)
    }

    /// By how many standard errors the trains of all spacings begin below what a packet of a link that is loaded alone takes. Where packets
    /// came too near to each other for one link it is not known, and they count for one: hosts make them come so as well.
    pub(super) fn sooner(&self, line: &Line) -> f64 {
        match (self.alone(), line.begins) {
            (Some(own), Some(begins)) => {
                let wide = (begins.high - begins.low).max(own * line::RESOLUTION);
                (own - begins.value) / wide * 2.0 * NORMAL
            }
            _ if self.another() == Some(Another::Closer) => 1.0,
            _ => 0.0,
        }
    }

    /// Whether trains of one spacing met more and less, on a link that is loaded alone. Those at the pace are short and many: their
    /// gaps would hide what the slower ones show, so either kind is asked for itself.
    pub(super) fn differ(&self) -> bool {
        self.alone().is_some()
            && (differ(self.near.iter().map(Vec::as_slice)) || differ([self.full.as_slice(), &self.heads]))
    }

    /// All that came faster than the narrow link carries by itself: that keeps it busy whatever else there is on it.
    fn looks(&self) -> Option<Vec<Sample>> {
        let pace = self.pace()?;
        let slower = self.heads.iter().chain(self.near.iter().flatten());
        Some(self.full.iter().chain(slower.filter(|sample| sample.input < pace)).copied().collect())
    }

    /// Nothing was met so far, by packets that are read one by one.
    pub(super) fn idle(&self) -> bool {
        self.batch.is_none() && self.line().is_some_and(|line| line.share.high < line::RESOLUTION)
    }
}

/// All gaps count where it is not known what a packet takes of the link.
fn timely(passed: &[Passed], holds: &[f64], own: Option<f64>) -> Vec<bool> {
    own.map_or_else(|| vec![true; passed.len().saturating_sub(1)], |own| late::busy(passed, holds, own))
}

fn gaps(passed: &[Passed]) -> Vec<f64> {
    passed.windows(2).map(|two| two[1].came - two[0].came).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::Indices;
    use crate::stats::chance::exponential;
    use crate::unit::Nanos;

    const OWN: f64 = 1e3;

    /// A train of 24 packets, `gap` apart, over a link that sends one in 1,000 ns, of which Poisson traffic of such packets takes
    /// `load`.
    fn train(chance: &mut Indices, load: f64, gap: f64) -> Sample {
        let (packets, warmed) = (24, 300.0 * OWN);
        let (mut at, mut work, mut left) = (0.0, 0.0_f64, Vec::new());
        let mut other = 0.0;
        for packet in 0..packets {
            let due = warmed + f64::from(packet) * gap;
            while other < due {
                work = (work - (other - at)).max(0.0) + OWN;
                at = other;
                other += exponential(chance, Nanos::from_f64(OWN / load)).as_f64();
            }
            work = (work - (due - at)).max(0.0) + OWN;
            at = due;
            left.push(due + work);
        }
        let gaps = f64::from(packets - 1);
        Sample { input: gap, output: (left[23] - left[0]) / gaps, gaps, blur: 0.0, scatter: 0.0 }
    }

    fn came(input: f64, output: f64, scatter: f64) -> Sample {
        Sample { input, output, gaps: 10.0, blur: 0.0, scatter }
    }

    /// Bursts of which a third of the gaps are parted, or none.
    fn bursts(parted: bool) -> Samples {
        let far = if parted { 3.0 * OWN } else { OWN };
        let gaps: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { far } else { OWN }).collect();
        let burst = came(10.0, gaps.iter().sum::<f64>() / 30.0, 0.0);
        Samples { gaps, bursts: vec![burst; 3], made: vec![10.0; 3], ..Samples::default() }
    }

    #[test]
    fn what_slower_trains_meet_now_and_then_is_not_hidden_by_gaps_of_short_ones() {
        let slower = |first: f64| {
            let met = |load: f64| came(4.0 * OWN, OWN * (1.0 + 4.0 * load), (0.05 * OWN).powi(2));
            vec![[first, 0.9, 0.9, 0.9, 0.9].map(met).to_vec()]
        };
        let full = vec![came(0.85 * OWN, 1.75 * OWN, (0.3 * OWN).powi(2)); 30];
        assert!(Samples { near: slower(0.8), full: full.clone(), ..bursts(false) }.differ());
        assert!(!Samples { near: slower(0.89), full: full.clone(), ..bursts(false) }.differ());
        assert!(!Samples { near: slower(0.8), full, ..bursts(true) }.differ());
    }

    #[test]
    fn a_link_with_little_load_does_not_part_bursts() {
        let full: Vec<Sample> =
            (0..8).map(|i| came(0.85 * OWN, OWN * (1.04 + 0.01 * f64::from(i % 2)), 0.0)).collect();
        let line = line::line(&full, &[], Some((OWN, 1.0))).unwrap();
        assert!(bursts(true).apart(&line) && !bursts(false).apart(&line));
    }

    #[test]
    fn gaps_of_which_hardly_two_are_alike_are_no_single_packet_of_others() {
        // A hundredth of what a packet takes is more than a host delays it.
        let own = 100.0 * OWN;
        let full: Vec<Sample> =
            (0..8).map(|i| came(0.85 * own, own * (1.01 + 0.01 * f64::from(i % 2)), 0.0)).collect();
        let line = line::line(&full, &[], Some((own, 1.0))).unwrap();
        let burst = came(10.0, 1.09 * own, 0.0);
        let told = |gap: fn(u32) -> f64| {
            let gaps = (0..30).map(|place| own * gap(place)).collect();
            Samples { gaps, bursts: vec![burst; 3], made: vec![10.0; 3], ..Samples::default() }.apart(&line)
        };
        assert!(!told(|place| if place % 10 == 0 { 1.9 } else { 1.0 }));
        assert!(told(|place| if place < 8 { 1.0 } else { 1.06 + 0.005 * f64::from(place) }));
    }

    #[test]
    fn no_train_is_faster_than_bursts_come() {
        let parted = bursts(true);
        assert_eq!((parted.pace(), parted.fastest()), (Some(OWN), parted.burst()));
        assert_eq!(bursts(false).fastest(), Some(OWN));
        assert_eq!(Samples::default().fastest(), None);
    }

    #[test]
    fn trains_that_meet_more_when_slower_begin_sooner() {
        let full: Vec<Sample> =
            (0..8).map(|i| came(0.85 * OWN, OWN * (1.20 + 0.1 * f64::from(i % 2)), 0.0)).collect();
        let met = |load: f64| {
            (0..7)
                .map(|i| came(1.3 * OWN, OWN * (1.0 + 1.3 * load + 0.1 * f64::from(i % 2)), 0.0))
                .collect::<Vec<_>>()
        };
        let told = |near: Vec<Sample>| {
            let line = line::line(&full, &near, Some((OWN, 1.0))).unwrap();
            Samples { full: full.clone(), near: vec![near], ..bursts(false) }.sooner(&line)
        };
        let (same, more) = (told(met(0.24)), told(met(0.32)));
        assert!(same < 0.5 && more > 1.0, "{same} {more}");
    }

    #[test]
    fn a_link_is_idle_until_something_is_met() {
        let idle = vec![came(0.85 * OWN, OWN, 0.0); 8];
        assert!(Samples { full: idle.clone(), ..bursts(false) }.idle());
        let heads = vec![came(0.85 * OWN, 1.5 * OWN, 0.0)];
        let met = Samples { full: idle, heads, bursts_seen: true, ..bursts(false) };
        assert!(!met.idle());
    }

    #[test]
    fn ten_trains_that_pass_by_chance_bound_no_more_than_is_free() {
        let (load, mut chance) = (0.6, Indices::new(7));
        let free = (1.0 - load) / OWN;
        // A little faster than what is free, which ten trains cannot tell.
        let gap = 1.0 / (free * 1.03);
        let burst = Sample { input: 1.0, output: OWN, gaps: 10.0, blur: 0.0, scatter: 0.0 };
        let (mut passed, mut wrong) = (0, 0);
        for _ in 0..400 {
            let full: Vec<Sample> = (0..10).map(|_| train(&mut chance, load, gap)).collect();
            if strain::verdict(&full, 0.0) != Verdict::Below {
                continue;
            }
            let samples = Samples { sent: full, bursts: vec![burst], ..Samples::default() };
            passed += 1;
            wrong += usize::from(samples.at_least().unwrap() > free);
        }
        assert!(passed > 50, "{passed}");
        assert!(wrong * 20 <= passed, "{wrong} of {passed}");
    }
}
