//! What trains showed so far, and what it says of the link.

mod idle;
mod signs;

use super::late;
use super::plan::{FULL_HEAD, HEAD, TOGETHER};
use super::strain;
use super::unparted::{batch, unparted};
use crate::avail::search::Verdict;
use crate::stats::quantile::{mean, median};
use crate::stream::Passed;
use crate::stream::line::{self, Known, Line};
use crate::stream::sample::{Sample, busy};

/// Bursts that come in so much of the time that they were sent in show the sender's pace, not the path's.
const SPREAD: f64 = 1.03;

/// A sender that takes this part of what bursts come apart, or more, for each packet is slow.
const SLOW: f64 = 2.0;

/// No more of the gaps of bursts are shorter than L / C where the sender is about as slow as that.
const BELOW: f64 = 0.25;

/// Trains that leave so much slower than they should are as fast as the sender makes them.
const LATE: f64 = 1.1;

/// One train tells of no batches.
const TWICE: usize = 2;

/// What is taken for loaded before anything is known.
const UNKNOWN: f64 = 0.5;

/// Mean spacings of all trains but those of a test.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Packets that the receiver reads at once, where it reads several.
    pub(super) batch: Option<usize>,
    /// The same of single trains.
    batches: Vec<Option<usize>>,
    /// Single gaps of bursts, nanoseconds.
    gaps: Vec<f64>,
    /// The same of trains at the pace.
    full_gaps: Vec<f64>,
    /// Bursts of one length, as they were read.
    read: Vec<Vec<Passed>>,
    /// Departure and apparent delay of their first packets, nanoseconds.
    read_began: Vec<Option<(f64, f64)>>,
    /// Of these.
    pub(super) bursts: Vec<Sample>,
    /// Mean gap between packets of bursts as they were sent.
    made: Vec<f64>,
    /// Of whole trains at the pace, whenever their packets left.
    pub(super) sent: Vec<Sample>,
    /// Departure and apparent delay of the first packets of each of these.
    began: Vec<Option<(f64, f64)>>,
    /// L / C, where trains that waited for nothing showed it.
    shown: Option<Known>,
    /// The same of their gaps that tell (see [`late`]).
    pub(super) full: Vec<Sample>,
    /// Of the heads of slower trains: behind their first packets these come at the pace as well.
    pub(super) heads: Vec<Sample>,
    /// Of all that came faster than the narrow link carries by itself, heads among it: each for as much, however many of its gaps tell.
    /// Where traffic comes in bursts they alone count: what surely finds the link busy is what meets a burst, and would count for more.
    pub(super) whole_looks: Vec<Sample>,
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
        self.batches.clear();
        self.gaps.clear();
        self.bursts.clear();
    }

    /// Nothing that bursts showed counts, nor what was sent at their pace.
    pub(super) fn anew(&mut self) {
        self.read.clear();
        self.read_began.clear();
        self.full_gaps.clear();
        self.full_anew();
    }

    /// Trains at the pace are sent a second time.
    pub(super) fn full_anew(&mut self) {
        self.batches.clear();
        self.sent.clear();
        self.began.clear();
        self.full.clear();
        self.whole_looks.clear();
    }

    /// Looks at how packets were read: in batches, if most trains were (of one some packets may have waited behind a faster link, so that these came
    /// nearer to each other than the others).
    pub(super) fn see_batches(&mut self, passed: &[Passed]) {
        self.batches.push(batch(&gaps(passed)));
        let read = self.batches.iter().flatten();
        if read.clone().count() >= TWICE && read.clone().count() * 2 > self.batches.len() {
            self.batch = self.batch.max(read.max().copied());
        }
    }

    /// A burst, whose first packet left and came so.
    pub(super) fn see_burst(&mut self, passed: &[Passed], began: Option<(f64, f64)>) {
        self.gaps.extend(gaps(passed));
        self.read.push(passed.to_vec());
        self.read_began.push(began);
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

    /// A train at the pace, whose first packet left and came so, and of whose gaps those behind the head count that `busy` says.
    pub(super) fn see_full(&mut self, passed: &[Passed], began: Option<(f64, f64)>, busy: &[bool]) {
        self.full_gaps.extend(gaps(passed.get(1..).unwrap_or_default()));
        let Some(behind) = passed.get(FULL_HEAD - 1..) else { return };
        if let Some(whole) = self.whole(behind) {
            self.sent.push(whole);
            self.began.push(began);
        }
        self.full.extend(self.sample(behind, &busy[FULL_HEAD - 1..]));
        self.whole_looks.extend(self.look(behind, &busy[FULL_HEAD - 1..]));
    }

    /// Of slower trains, step by step: heads, and what came behind them.
    pub(super) fn see_near(&mut self, step: usize, passed: &[Passed], busy: &[bool]) {
        let part = |from: usize, to: usize| passed.get(from..to).zip(busy.get(from..to - 1));
        self.near.resize(step, Vec::new());
        if let Some((head, busy)) = part(TOGETHER - 1, HEAD) {
            self.heads.extend(self.sample(head, busy));
            self.whole_looks.extend(self.look(head, busy));
        }
        if let Some((behind, busy)) = part(HEAD - 1, passed.len()) {
            let sample = self.sample(behind, busy);
            self.near[step - 1].extend(sample);
            let fast = sample.zip(self.pace()).is_some_and(|(sample, pace)| sample.input < pace);
            self.whole_looks.extend(self.look(behind, busy).filter(|_| fast));
        }
    }

    /// Which gaps of a train count whose packets were to leave `holds` apart.
    pub(super) fn timely(&self, passed: &[Passed], holds: &[f64]) -> Vec<bool> {
        timely(passed, holds, self.own().map(|(own, _)| own))
    }

    /// A train at the pace, by those of its gaps that tell, or where none does, as if the link had been busy in all. It counts for the
    /// time that it takes of the link, however many these are and however late the sender was.
    fn look(&self, passed: &[Passed], busy: &[bool]) -> Option<Sample> {
        // Of a train that was read at once nothing is known, whenever its packets left.
        let whole = self.whole(passed)?;
        let Some((own, _)) = self.own().filter(|_| self.batch.is_none()) else { return Some(whole) };
        let told = Sample::of(passed, busy);
        let look = told.or_else(|| self.whole(&late::kept_busy(passed, busy, own)))?;
        Some(Sample { gaps: busy.len() as f64 * own / look.input, ..look })
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
        self.shown.or_else(|| unparted(&self.gaps, self.burst()? - self.made()?))
    }

    /// L / C, where packets show it: where bursts come faster than the link serves them.
    pub(super) fn own(&self) -> Option<Known> {
        let made = self.made()?;
        self.crowd().filter(|(own, _)| made * SPREAD < *own)
    }

    /// Whether bursts show nothing of what the tight link carries though they came through: the sender, or its own link, makes them so
    /// slowly that it need not be the narrow one, nor near to it. Gaps that crowd by chance have others below them.
    pub(super) fn are_blind(&self) -> bool {
        let is_shown = |own: f64| {
            let below = self.gaps.iter().filter(|gap| **gap < own * (2.0 - SPREAD)).count();
            below as f64 <= BELOW * self.gaps.len() as f64
        };
        let is_slow = self.made().zip(self.burst()).is_some_and(|(made, burst)| burst < made * SLOW);
        is_slow && self.batch.is_none() && !self.own().is_some_and(|(own, _)| is_shown(own))
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

    /// Whether bursts came no further apart than they were sent.
    pub(super) fn are_senders(&self) -> bool {
        self.made().zip(self.burst()).is_some_and(|(made, burst)| burst < made * SPREAD)
    }

    /// How far apart packets of bursts come.
    pub(super) fn burst(&self) -> Option<f64> {
        let came: Vec<f64> = self.bursts.iter().map(|burst| burst.output).collect();
        median(&came)
    }

    /// How far apart packets came of the burst or train at the pace that came fastest.
    pub(super) fn quickest(&self) -> Option<f64> {
        self.bursts.iter().chain(&self.full).map(|train| train.output).reduce(f64::min)
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
            line::line(&self.whole_looks, &[], self.own())
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
mod tests;
