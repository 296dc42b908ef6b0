//! What is sent, and in which order.

use super::Busy;
use super::long::LONG;
use super::plan::{BURST, BURSTS, FULL_HEAD, HEAD, LEAST_PAUSE, Plan, TESTED};
use super::samples::Samples;
use super::trial::{DOUBTED, FLEET, TEST, UNKNOWN};
use super::waiting::waits;
use crate::avail::search::Verdict;
use crate::bucket::Bucket;
use crate::limit::by_size::BySize;
use crate::report::Vantage;
use crate::stats::quantile::mean;
use crate::train::Departure;
use crate::unit::Nanos;

/// A burst that a receiver reads in less than three batches shows no pace: the next are so many times as long, up to
/// the last of all.
const LONGER: usize = 4;
const LONGEST: usize = 704;

/// At the second spacing, and the third, train and cross traffic together are so much of what the link carries: were it
/// no more than all, the link would idle now and then. But the more it is, the more every other loaded link parts the
/// train as well.
const OVERLOAD: [f64; 2] = [1.25, 1.1];

/// The first spacing is so many times what a packet takes of the link: late packets leave it idle no more than others.
const FULL: f64 = 0.85;

/// The other spacings are at least so many times that.
const NEARER: f64 = 0.95;

/// More trains are sent until the interval is no wider than this share of the link (among bursts the second, for there each train
/// is a look of its own and costs little), or so many times.
const NARROW: f64 = 0.33;
const NARROW_AMONG_BURSTS: f64 = 0.2;
const MOST: usize = 8;

/// The same where bursts on another link leave no more than a bound.
const JERKED: usize = 4;

/// Spacings one after another at which the link idled, though what came before let expect that they were short enough: by
/// chance one may; of more than so many it is the load that has changed.
const SLACK: usize = 1;

/// What is free and less than this share of the tight link cannot be told from nothing, and is not put to the test.
pub(super) const NOTHING: f64 = 0.02;

/// Bursts of which some come so many times as fast as others do not show one link's pace.
const DIFFER: f64 = 2.0;

/// The long burst has at least so many packets.
const DEEP: usize = 64;

/// Once so long is over and something is known, nothing more is asked: on slow and busy links each queue takes long to drain.
const LONGEST_OF_ALL: Nanos = Nanos::from_secs(15);

/// Bursts are sent so often once more where trains showed that what they had told was not the link's.
const ANEW: usize = 2;

/// One in so many trains that loses packets is no accident.
const LOSSY: usize = 4;

/// What a round is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Bursts of so many packets, to see the pace.
    Pace(usize),
    /// The same of packets half as large, where a program took the stamps: whether a link sets the pace, or that program.
    Sizes,
    /// Trains at the pace.
    Full,
    /// One long burst, where all came as it was sent, none came whole, or many lost packets: a token bucket would be empty before
    /// its end.
    Deep,
    /// More of them, where traffic comes in bursts: how often before.
    More(usize),
    /// Trains nearer to what is free: how many spacings there were before.
    Nearer(usize),
    /// Trains at the least that seems free, and where these were held up, at rates of a search.
    Test,
    /// A long train at the least that seems free, where there is room for one, and others where its rate fell.
    Bucket,
    /// Enough is known.
    Over,
}

impl Busy {
    /// What is to be done after a round: the next, and its trains unless it has none.
    pub(super) fn after(&mut self) -> (Round, Option<Vec<Departure>>) {
        let is_known = self.samples.line().is_some() || self.trial.told.is_some();
        if self.sending.span >= LONGEST_OF_ALL && is_known && !self.is_bucket_near() {
            // What would have been asked counts as sent, so another is asked for it.
            self.is_cut_short = self.clone().course().1.is_some();
            return (Round::Over, None);
        }
        match self.course() {
            (Round::Over, _) if !self.sizes.is_of_hosts() && (self.is_dropped() || self.is_unseen()) => {
                self.deep()
            }
            next => next,
        }
    }

    /// Whether trains of a search showed where a token bucket is: long ones tell it, however long all takes.
    fn is_bucket_near(&self) -> bool {
        self.trial.searching && (self.round == Round::Bucket || !self.sought && self.came.fell().is_some())
    }

    /// Whether a token bucket was not looked for that passes all that so slow a sender makes, or trains as short as bursts.
    fn is_unseen(&self) -> bool {
        self.deep.packets == 0 && (self.is_slow() || self.sending.longest <= BURST)
    }

    /// Whether something on the way may drop packets and let too many pass before it for trains to show its rate.
    fn is_dropped(&self) -> bool {
        let is_lossy = self.round == Round::Deep || self.is_lossy();
        self.deep.fall.is_none() && self.lost > 0 && is_lossy && self.deep.further(self.config.packets)
    }

    /// Whether so many trains lost packets that it is no accident.
    pub(super) const fn is_lossy(&self) -> bool {
        self.lost > 0 && self.lost * LOSSY >= self.seen
    }

    /// The same where nothing is dropped.
    fn course(&mut self) -> (Round, Option<Vec<Departure>>) {
        let end = (Round::Over, None);
        if let Round::Full | Round::More(_) = self.round {
            self.samples.see_idle();
        }
        // Of bursts it is not known yet whether they show the link's pace or a host's.
        if let (false, Some(fall)) = (matches!(self.round, Round::Pace(_)), self.came.fell()) {
            if !self.trial.searching {
                return self.search();
            }
            if !self.sought {
                self.sought = true;
                return self.long_of_search(&fall);
            }
        }
        if self.came.are_crowded() && !self.apart && self.tell_of_each_other() {
            (self.apart, self.samples) = (true, Samples::default());
            self.sending.drained = self.came.drained();
            return self.pace(BURST);
        }
        match self.round {
            Round::Pace(0) => self.pace(BURST),
            Round::Pace(packets)
                if self.samples.bursts.is_empty() && self.unread() < self.seen && packets < LONGEST =>
            {
                self.pace(packets * LONGER)
            }
            Round::Pace(_) if self.samples.pace().is_none() => self.deep(),
            Round::Pace(packets) if self.vantage == Vantage::Application => {
                // As long in time: they are to span as many batches.
                (Round::Sizes, Some(self.sending.smaller(2 * packets.max(BURST), BURSTS)))
            }
            Round::Sizes if self.sizes.is_of_hosts() => end,
            Round::Pace(_) | Round::Sizes => self.full(Round::Full, |plan| plan.full),
            // They came in longer batches than bursts did.
            Round::Full if self.samples.batch > self.planned && !self.again => {
                self.again = true;
                self.samples.full_anew();
                self.full(Round::Full, |plan| plan.full)
            }
            Round::Full if self.samples.is_refuted() && self.anew < ANEW => {
                self.anew += 1;
                self.samples.anew();
                self.pace(BURST)
            }
            Round::Full if self.as_made() || self.samples.full.is_empty() => self.deep(),
            // The queue was too short for trains at the pace; slower ones may come through.
            Round::Deep if self.deep.doubt().is_some() => self.long_burst(),
            Round::Deep if self.samples.full.is_empty() && self.deep.fall.is_none() => self.nearer(0),
            // Another link is loaded, which holds such trains up by less than they show.
            Round::Deep if self.as_made() && self.waits() && self.lost == 0 && self.deep.fall.is_none() => {
                self.search()
            }
            Round::Deep => end,
            // Where nothing was met, short trains look more often than slow ones would.
            Round::Full if self.samples.bursty() || self.samples.idle() => self.more(0),
            Round::Full => self.nearer(0),
            // They say no more than what is free while they pass.
            Round::Nearer(step) | Round::More(step) if self.is_jerked() => {
                if step < JERKED {
                    self.more(step)
                } else {
                    end
                }
            }
            // The trains at the pace, which count then, are too few to have met both bursts and what lies between.
            Round::Nearer(step) if step < MOST && self.samples.bursty() => self.more(step),
            Round::Nearer(_) if self.samples.slack() > SLACK => self.search(),
            Round::Nearer(step) if step < OVERLOAD.len() => self.nearer(step),
            Round::Nearer(step) if step < MOST && (self.samples.slack() > 0 || !self.narrow()) => {
                self.nearer(step)
            }
            // A few looks differ as much by chance, too.
            Round::More(_) if !self.samples.idle() && !self.samples.differ() => {
                self.samples.bursts_seen = false;
                self.nearer(self.samples.near.len())
            }
            Round::More(step) if step < MOST && !self.narrow() => self.more(step),
            // A burst holds up trains of any rate: they test nothing.
            Round::Nearer(_) | Round::More(_) if self.samples.differ() => match self.samples.line() {
                Some(line) if self.elsewhere(&line).is_none() => self.long(line.free.low),
                _ => end,
            },
            Round::Nearer(_) | Round::More(_) => match (self.samples.line(), self.samples.pace()) {
                (Some(line), Some(_)) if self.elsewhere(&line).is_some() => self.search(),
                (_, Some(_)) if self.samples.are_blind() => self.search(),
                (Some(line), Some(pace)) if line.free.low * pace > NOTHING => match self.is_at_rest() {
                    true => self.long(line.free.low),
                    false => self.test(line.free.low, TEST),
                },
                _ => end,
            },
            Round::Test if self.trial.searching => self.search(),
            Round::Test => match self.samples.line() {
                Some(line) => match self.trial.passed(line.noise) {
                    Some(false) => self.search(),
                    // The test's trains waited as well.
                    Some(true) if self.elsewhere(&line).is_some() => self.search(),
                    Some(true) if !self.is_doubtful(&line) => self.long(line.free.low),
                    _ => self.test(line.free.low, DOUBTED),
                },
                None => end,
            },
            Round::Bucket if self.trial.searching => match self.emptied(LEAST_PAUSE) {
                (Round::Over, _) if self.bucket.as_ref().and_then(Bucket::fallen).is_none() => {
                    self.bucket = self.aside.take();
                    self.search()
                }
                next => next,
            },
            Round::Bucket => match self.held_up() {
                Some(Verdict::Above) => self.search(),
                Some(Verdict::Grey) if !self.bucket.as_mut().is_some_and(Bucket::again) => self.search(),
                _ => self.emptied(LEAST_PAUSE),
            },
            Round::Over => end,
        }
    }

    /// Whether trains that left before what the last had left was gone came so differently that it shows.
    fn tell_of_each_other(&self) -> bool {
        match self.round {
            Round::Pace(_) => self
                .samples
                .quickest()
                .zip(self.samples.burst())
                .is_some_and(|(quickest, burst)| quickest * DIFFER < burst),
            Round::Full | Round::More(_) => true,
            _ => false,
        }
    }

    /// Trains that are of no use.
    const fn unread(&self) -> usize {
        self.lost + self.disordered
    }

    /// Whether the interval is narrow enough.
    fn narrow(&self) -> bool {
        let narrow = if self.samples.bursts_seen { NARROW_AMONG_BURSTS } else { NARROW };
        self.unsure().is_none_or(|unsure| unsure < narrow)
    }

    /// How wide the interval is, as a share of the link. Of a line that begins at nothing, by chance, the pace tells what the
    /// link is.
    pub(super) fn unsure(&self) -> Option<f64> {
        let (line, pace) = self.samples.line().zip(self.samples.pace())?;
        Some((line.free.high - line.free.low) * pace)
    }

    /// Trains that should have been faster than the pace came as they were sent: the sender makes no faster ones.
    fn is_slow(&self) -> bool {
        self.samples.pace().is_some_and(|pace| self.samples.slow(FULL * pace))
    }

    /// Nor do any of their gaps tell of the link.
    pub(super) fn as_made(&self) -> bool {
        self.is_slow() && !self.samples.tell()
    }

    fn plan(&self, pace: f64) -> Plan {
        Plan::of(&self.config, pace, self.samples.share(), self.samples.batch)
    }

    fn pace(&mut self, packets: usize) -> (Round, Option<Vec<Departure>>) {
        self.samples.burst_anew();
        self.sizes = BySize::default();
        (Round::Pace(packets), Some(self.sending.bursts(packets, BURSTS)))
    }

    fn full(&mut self, round: Round, part: impl Fn(&Plan) -> usize) -> (Round, Option<Vec<Departure>>) {
        let Some(pace) = self.samples.pace() else { return (Round::Over, None) };
        let mut plan = self.plan(pace);
        if round != Round::Full && !self.samples.bursts_seen {
            plan.pause = LEAST_PAUSE;
        }
        (round, Some(self.headed(pace, FULL * pace, (FULL_HEAD, plan.look), part(&plan), &plan)))
    }

    /// A burst that would empty a token bucket, of the packets that are left.
    fn deep(&mut self) -> (Round, Option<Vec<Departure>>) {
        // Where packets were lost, so that nothing else can be told, as many as all others.
        let least = if self.lost > 0 { self.config.packets } else { DEEP };
        // Where nothing waits, a longer one is in nobody's way.
        let idle = self.samples.pace().filter(|_| self.as_made());
        let budget = idle.map_or(self.config.packets, |pace| self.config.budget(pace));
        let packets = budget.saturating_sub(self.sending.packets).min(LONGEST).max(least);
        // No faster than the link takes them then: what they are too many for drops them, not its queue, and the tokens of so long a time
        // show the rate. Where little of that is lost, the sender makes no more than the tokens are for but at once.
        let paced = self.lost > 0 && self.deep.packets < self.config.packets;
        let pace = self.deep.another().or_else(|| self.samples.pace().filter(|_| paced));
        self.deep.sent(packets, pace);
        self.long_burst()
    }

    /// That burst, again once a token bucket has filled that it may have emptied.
    fn long_burst(&mut self) -> (Round, Option<Vec<Departure>>) {
        let mut burst = match self.deep.pace {
            Some(pace) => self.sending.stream(pace, self.deep.packets),
            None => self.sending.bursts(self.deep.packets, 1),
        };
        let filled = self.deep.doubt().unwrap_or(Nanos::ZERO);
        burst.iter_mut().for_each(|train| train.pause = train.pause.max(filled));
        (Round::Deep, Some(burst))
    }

    /// More trains at the pace: as many as there are packets for in those of other spacings.
    fn more(&mut self, step: usize) -> (Round, Option<Vec<Departure>>) {
        self.samples.bursts_seen |= !self.samples.idle();
        // A long train takes the place of some, and of the test.
        let kept = if self.is_at_rest() { LONG.saturating_sub(TEST * TESTED) } else { 0 };
        self.full(Round::More(step + 1), |plan| plan.more - kept / (FULL_HEAD + plan.look))
    }

    /// Trains at the spacing at which they and what else is on the link are so many times what it carries.
    fn nearer(&mut self, step: usize) -> (Round, Option<Vec<Departure>>) {
        let Some(pace) = self.samples.pace() else { return (Round::Over, None) };
        let overload = OVERLOAD[step.min(OVERLOAD.len() - 1)];
        let gap = pace * (1.0 / (overload - self.samples.share())).max(NEARER);
        let plan = self.plan(pace);
        let count = plan.near[step.min(1)];
        (Round::Nearer(step + 1), Some(self.headed(pace, gap, (HEAD, plan.packets), count, &plan)))
    }

    fn headed(
        &mut self,
        pace: f64,
        gap: f64,
        parts: (usize, usize),
        count: usize,
        plan: &Plan,
    ) -> Vec<Departure> {
        self.planned = self.samples.batch.map(|batch| batch * 2);
        self.sending.headed(gap, FULL * self.samples.burst().unwrap_or(pace), count, parts, plan)
    }

    /// Short trains at `rate`, of which it is not known whether it is free.
    fn test(&mut self, rate: f64, count: usize) -> (Round, Option<Vec<Departure>>) {
        let Some(pace) = self.samples.pace() else { return (Round::Over, None) };
        self.trial.at(rate, count);
        let plan = self.plan(pace);
        (Round::Test, Some(self.sending.tests(1.0 / rate, plan.tested, count, &plan)))
    }

    /// Long trains at the next rate of a search, as far apart as the queue of the last takes to drain.
    fn search(&mut self) -> (Round, Option<Vec<Departure>>) {
        let Some(pace) = self.samples.fastest() else { return (Round::Over, None) };
        let narrow_free = self.samples.line().map_or(0.0, |line| line.free.low);
        // The plain mean: a search allows for a wait that is off by twice and more.
        let Some(rate) =
            self.trial.next(waits(&self.samples.firsts).and_then(|waits| mean(&waits)), pace, narrow_free)
        else {
            return (Round::Over, None);
        };
        self.trial.at(rate, FLEET);
        let plan = self.plan(pace);
        let free = self.trial.told.map_or(UNKNOWN, |told| told.free.value);
        let plan = plan.of_search(free);
        (Round::Test, Some(self.sending.tests(1.0 / rate, plan.searched, FLEET, &plan)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{OWN, seen};
    use super::*;
    use crate::stream::Passed;

    /// Trains of so many packets, each of which leaves behind the last at the pace, so much `apart`: the first twenty pass at once, and those that follow take
    /// three times what the link takes.
    fn came(busy: &mut Busy, trains: &[usize], apart: f64) {
        for (train, packets) in trains.iter().enumerate() {
            let passed = |number: usize| {
                let sent = OWN * number as f64;
                Passed { number, sent, came: sent + 2.0 * OWN * number.saturating_sub(20) as f64 }
            };
            busy.came.see(&(0..*packets).map(passed).collect::<Vec<_>>(), apart * train as f64);
        }
    }

    #[test]
    fn trains_that_fell_alike_are_searched_for_and_those_of_a_search_followed_by_long_ones_once() {
        let mut busy = seen(|_| OWN, 0.3, 40e3);
        busy.round = Round::Full;
        came(&mut busy, &[88; 8], 1e9);
        assert_eq!(busy.after().0, Round::Test);
        assert!(busy.trial.searching);
        busy.round = Round::Test;
        let (round, trains) = busy.after();
        assert_eq!((round, trains.unwrap()[0].train.packets.len()), (Round::Bucket, LONG));
        assert_eq!(busy.after().0, Round::Test);
        // One that did not fall may be what the others met.
        let mut busy = seen(|_| OWN, 0.3, 40e3);
        busy.round = Round::Full;
        came(&mut busy, &[88, 88, 20], 1e9);
        assert_eq!(busy.after().0, Round::Nearer(1));
    }

    #[test]
    fn trains_that_told_of_each_other_are_sent_again_further_apart() {
        let mut busy = seen(|_| OWN, 0.3, 40e3);
        busy.round = Round::Full;
        came(&mut busy, &[88, 40, 20], 1e6);
        let (round, trains) = busy.after();
        assert!(round == Round::Pace(BURST) && busy.samples.full.is_empty());
        // As long as 68 packets of 88 wait for, and the bucket takes to fill.
        let least = 2.0 * 2.0 * 67.0 / 88.0 * OWN * BURST as f64;
        assert!(trains.unwrap().iter().all(|departure| departure.pause.as_f64() > least));
        // Once.
        busy.samples = seen(|_| OWN, 0.3, 40e3).samples;
        busy.round = Round::Full;
        assert_eq!(busy.after().0, Round::Nearer(1));
    }

    #[test]
    fn looks_that_no_longer_differ_are_no_bursts_whenever_that_shows() {
        for step in [1, 3] {
            let mut busy = seen(|_| OWN, 0.3, 40e3);
            busy.round = Round::More(step);
            busy.samples.bursts_seen = true;
            assert_eq!(busy.after().0, Round::Nearer(2));
            assert!(!busy.samples.bursts_seen);
            // Those that do are, and are looked at again.
            let mut busy = seen(|_| OWN, 0.3, 40e3);
            busy.samples.full.iter_mut().step_by(2).for_each(|sample| sample.output *= 2.0);
            busy.samples.whole_looks = busy.samples.full.clone();
            busy.round = Round::More(step);
            busy.samples.bursts_seen = true;
            assert_eq!(busy.after().0, Round::More(step + 1));
            assert!(busy.samples.bursts_seen);
        }
    }
}
