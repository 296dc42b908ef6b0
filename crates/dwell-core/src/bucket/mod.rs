//! A token bucket deeper than all other trains: one long train at what seems free must come to its end as it was sent. Where it falls
//! to a lower rate, and the next one at the same packet, a bucket is empty there; and what comes through then has a line as
//! what comes through a link has: the bucket's rate, and what others take of it.
//!
//! Capacity looks for one by trains at a link's own pace. There others hold up a train too, and a bucket may be so shallow that
//! hardly a packet passes at that pace: [`At::Pace`] says what differs.

pub(crate) mod fall;

use crate::report::{Finding, Quantity, Report, Unit};
use crate::stats::Estimate;
use crate::stats::quantile::mean;
use crate::stream::line::{Line, line};
use crate::stream::sample::Sample;
use crate::stream::{Passed, occupied, stream};
use crate::train::Train;
use crate::unit::{Bytes, Nanos};
use fall::{Fall, WINDOW, alike, fall_of_few, overflowed, policed};

/// So many long trains must fall alike: what others send while a bucket empties moves the place by no more than such a factor, and
/// the rate by no more than such another.
const ALIKE: usize = 2;
const PLACE: f64 = 2.0;
const RATE: f64 = 1.25;

/// The second has so many packets more than would fall at a place that far away.
const BEHIND: usize = 64;

/// Trains behind those: so many packets follow those that empty the bucket, at the pace of what then comes through, and twice nearer to
/// what is free.
const TAILS: [usize; 3] = [100, 400, 400];

/// But no more than come in the time that [`At::lasting`] says, and so many at the least.
const LEAST: usize = 40;

/// Where others send bursts, a train must fall in the first of so many parts of itself: what makes its last packets slower may be a burst.
const LASTS: f64 = 2.0;

/// The first are so many times as far apart as packets came through; the others, and what else passes, are together so many times what the
/// bucket gets.
const FULL: f64 = 0.85;
const OVERLOAD: f64 = 1.1;

/// What comes less than so many times as far apart as it was sent was not held up by an empty bucket.
const HELD: f64 = 1.05;

/// And what comes so much nearer to each other came from a queue that drained, which an empty bucket's does not while more is sent than it gets. Trains at a
/// link's pace leave so much waiting that it may, where less is sent behind them than was thought.
const DRAINED: f64 = 0.9;

/// A long train that loses one packet in so many did so by no chance.
const LOSSY: usize = 10;

/// So many packets after it seemed empty it surely is.
const MARGIN: usize = 8;

/// So many packets that came through make a sample, and so many of these tell.
const BLOCK: usize = 10;
const BLOCKS: usize = 5;

/// Of a policer that let fewer pass no figure is told.
const FEWEST: f64 = 24.0;

/// A bucket has so many times as long to fill as it would take at the rate at which packets then came through: of that the others take their part
/// once the train is over.
const REFILLED: f64 = 5.0;

/// A long train is looked at in so many parts.
const PARTS: usize = 8;

/// A range as wide as this share of the bucket's rate does not say what is free.
const UNSURE: f64 = 0.5;

/// Where no ten packets of a train at a link's own pace come less than so many times as far apart, it is held up from its beginning: what others
/// send between packets is now and then next to nothing.
const ALWAYS: f64 = 1.3;

/// Places are alike that are so many packets apart, however near the beginning.
const NEAR: f64 = 8.0;

/// And where it comes from a bucket that is so much slower than that link: less may be what others did by chance.
const SLOWER: f64 = 1.2;

/// And a link by so much faster than the pace is another one.
const FASTER: f64 = 1.1;

/// Of what comes from it so small a share follows as soon as that link lets it (within a tenth): of what others hold up more does.
const UNPARTED: f64 = 0.05;
const NEARLY: f64 = 1.1;

/// What holds less is no bucket: a link takes one packet at once, and where a train fell is known to a part of one.
const ONE: f64 = 1.5;

/// What long trains are sent at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// What seems free: the link has room for what others send beside them.
    Free,
    /// The pace of a link, whatever others send.
    Pace,
}

impl At {
    /// So long trains behind them last, nanoseconds: those at a link's pace leave more waiting.
    const fn lasting(self) -> f64 {
        match self {
            Self::Free => 1e9,
            Self::Pace => 0.3e9,
        }
    }
}

/// What long trains showed.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    at: At,
    /// How far apart packets of a long train are, nanoseconds, and how many they are.
    gap: f64,
    packets: usize,
    /// Trains that were sent, and packets of the last.
    sent: usize,
    last: usize,
    falls: Vec<Fall>,
    /// How long packets were sent for until a train fell, nanoseconds.
    filled: Vec<f64>,
    /// Of packets that came once the bucket was empty.
    emptied: Vec<Sample>,
    /// How long these were sent for, nanoseconds.
    pub(crate) watched: f64,
    /// Gaps between them, and those that are no longer than the trains' own.
    gaps: (usize, usize),
    /// What fell alike was no bucket.
    refuted: bool,
    /// A train fell where a link's queue was full.
    overflowed: bool,
    /// The second long train came as it was sent: what made the first fall was traffic of others.
    cleared: bool,
    /// A long train lost too much for chance.
    lossy: bool,
    /// Others send bursts, which make trains fall as well, until they are over.
    bursts: bool,
    /// Parts of the long trains that did not fall.
    parts: Vec<Sample>,
    /// Another one as long as the first, whether that fell or not.
    again: bool,
}

impl Bucket {
    /// Long trains have so many packets, `gap` nanoseconds apart.
    pub(crate) const fn new(at: At, gap: f64, packets: usize) -> Self {
        Self {
            at,
            gap,
            packets,
            sent: 0,
            last: 0,
            falls: Vec::new(),
            filled: Vec::new(),
            emptied: Vec::new(),
            watched: 0.0,
            gaps: (0, 0),
            refuted: false,
            overflowed: false,
            lossy: false,
            cleared: false,
            bursts: false,
            parts: Vec::new(),
            again: false,
        }
    }

    /// The same where others may send bursts: another long train is then as long as the first, for a bucket stays empty to its end and few bursts last
    /// so long.
    pub(crate) fn among_bursts(self, bursts: bool) -> Self {
        Self { bursts, ..self }
    }

    /// The next train of packets of `size`, and the pause before it; `None`: no other is needed.
    pub(crate) fn next(&mut self, size: Bytes) -> Option<(Train, Nanos)> {
        let pause = self.drained();
        let mut train = stream(size, Nanos::from_f64(self.gap), self.head()?);
        if self.sent >= ALIKE {
            self.fallen().filter(|fall| !fall.drops)?;
            let tail = *TAILS.get(self.sent - ALIKE)?;
            train.packets.extend(self.tail(size, tail)?.packets);
        }
        self.sent += 1;
        self.last = train.packets.len();
        Some((train, pause))
    }

    /// One of them.
    pub(crate) fn see(&mut self, passed: &[Passed]) {
        if self.sent <= ALIKE {
            let sent = passed.last().map_or(self.packets, |last| last.number + 1);
            self.lossy |= passed.len() * LOSSY < sent * (LOSSY - 1);
            let shallow = || policed(passed).or_else(|| self.throttled(passed));
            let Some(fall) = shallow().or_else(|| fall_of_few(passed)) else {
                self.parts.extend(parts(passed));
                let last = passed.last().filter(|_| self.sent == ALIKE && !self.lossy);
                self.cleared = last.is_some_and(|last| last.came < HELD * last.sent);
                return;
            };
            self.refuted |= self.bursts && fall.passed * LASTS > sent as f64;
            let emptied = self.watch(passed.get(fall.passed as usize + MARGIN..).unwrap_or_default());
            // Single windows hold one packet of others or none: all together tell the rate better than their median.
            let outputs: Vec<f64> = emptied.iter().map(|sample| sample.output).collect();
            // What passes a policer may come as near to each other as it left a queue.
            let after =
                mean(&outputs).filter(|after| !fall.drops && *after > fall.before).unwrap_or(fall.after);
            self.overflowed |= overflowed(&fall, passed);
            self.falls.push(Fall { after, ..fall });
            self.filled
                .push(passed.get(fall.passed as usize).map_or(fall.passed * self.gap, |packet| packet.sent));
        } else {
            let head = self.head().unwrap_or(0);
            let from = passed.iter().position(|packet| packet.number >= head).unwrap_or(passed.len());
            let emptied = self.watch(&passed[from..]);
            let held: Vec<f64> = emptied.iter().map(|sample| sample.output / sample.input).collect();
            let least = match self.at {
                _ if self.sent == ALIKE + 1 => HELD,
                At::Free => DRAINED,
                At::Pace => 0.0,
            };
            self.refuted |= mean(&held).is_none_or(|held| held < least);
        }
    }

    /// A bucket so shallow that hardly any packet passed it at the link's pace.
    fn throttled(&self, passed: &[Passed]) -> Option<Fall> {
        if self.at == At::Free {
            return None;
        }
        let long = |two: &[Passed]| two[1].came - two[0].came > self.gap * ALWAYS;
        let first = passed.windows(2).position(long)? + 1;
        let outputs: Vec<f64> = blocks(&passed[first..]).iter().map(|block| block.output).collect();
        let after = mean(&outputs).filter(|_| outputs.len() >= BLOCKS)?;
        outputs.iter().all(|output| *output > self.gap * ALWAYS).then_some(Fall {
            before: self.gap,
            sent: self.gap,
            after,
            passed: first as f64,
            drops: false,
        })
    }

    /// What came once the bucket was empty.
    fn watch(&mut self, passed: &[Passed]) -> Vec<Sample> {
        let emptied = blocks(passed);
        self.emptied.extend(&emptied);
        let unparted = |two: &&[Passed]| two[1].came - two[0].came < self.gap * NEARLY;
        let unparted = passed.windows(2).filter(unparted).count();
        self.gaps = (self.gaps.0 + passed.len().saturating_sub(1), self.gaps.1 + unparted);
        self.watched += passed.first().zip(passed.last()).map_or(0.0, |(from, to)| to.sent - from.sent);
        emptied
    }

    /// How packets fell, where all long trains did alike.
    pub(crate) fn fallen(&self) -> Option<Fall> {
        let is_refuted = self.refuted || self.overflowed;
        let fell = self.falls.len() == ALIKE && fell_alike(&self.falls) && !is_refuted;
        fell.then(|| self.falls[0])
    }

    /// Why what seems free may not be: a long train at it did not come as it was sent. `None` also where it is known why.
    pub(crate) fn doubt(&self) -> Option<&'static str> {
        match (self.fallen(), self.falls.is_empty() || self.cleared, self.lossy) {
            (None, false, _) if self.overflowed => Some(
                "a long train at what seems free filled the queue of a link, for others were between its packets",
            ),
            (None, false, _) => Some(
                "a long train at what seems free came slower from some packet on, and the next did not alike: a token bucket, or traffic of others",
            ),
            (None, true, true) => Some(
                "a long train at what seems free lost a tenth of its packets or more, at no steady rate: what drops them is not known",
            ),
            _ => None,
        }
    }

    /// What comes through the emptied bucket, where that is known well enough to say what is free. A policer that has no more than a packet's
    /// worth of tokens lets those pass that come in step with them, and drops what comes when it may: what passes of ours there says
    /// no more than a bound.
    pub(crate) fn line(&self) -> Option<Line> {
        let line =
            line(&[], &self.emptied, None).filter(|_| self.fallen().is_some_and(|fall| !fall.drops))?;
        let is_sure = (line.free.high - line.free.low) * line.own.value < UNSURE;
        let is_bucket = self.at == At::Free || self.is_slower(&line);
        (is_bucket && is_sure).then_some(line)
    }

    /// Whether what trains at a link's own pace emptied is slower than that link. What holds them up may be others on several links, which lets
    /// packets come sooner now and then.
    fn is_slower(&self, line: &Line) -> bool {
        let ((gaps, unparted), own) = (self.gaps, line.own);
        let is_parted = (unparted as f64) < gaps as f64 * UNPARTED;
        own.value > self.gap * SLOWER && own.low > self.gap && is_parted
    }

    /// Whether trains at a link's own pace fell alike, and what came then has that link's own line: the traffic of others held them up.
    pub(crate) fn is_load(&self) -> bool {
        self.own().is_some_and(|own| own.value <= self.gap * SLOWER)
    }

    /// Whether what came once trains at a link's own pace had fallen has the line of a faster link: others are in all that told that pace, or it is
    /// another link that they fill.
    pub(crate) fn is_of_a_faster_link(&self) -> bool {
        self.own().is_some_and(|own| own.high * FASTER < self.gap)
    }

    /// What a packet takes by that line, where trains fell alike.
    fn own(&self) -> Option<Estimate> {
        self.fallen().and_then(|_| line(&[], &self.emptied, None)).map(|line| line.own)
    }

    /// The most that came through it once it was empty, packets a nanosecond: of each train one more may have.
    pub(crate) fn through(&self) -> f64 {
        self.falls.iter().map(|fall| (1.0 + self.one(fall)) / fall.after).fold(0.0, f64::max)
    }

    /// One packet, as a share of those that came through it then.
    fn one(&self, fall: &Fall) -> f64 {
        let packets = (self.packets as f64 - fall.passed) * self.gap / fall.after;
        1.0 / packets.max(1.0)
    }

    /// Whether long trains lost too much for chance, at no steady rate.
    pub(crate) const fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Parts of the long trains that did not fall, one after another: none where one lost a tenth of its packets.
    pub(crate) fn parts(&self) -> &[Sample] {
        if self.lossy { &[] } else { &self.parts }
    }

    /// What the first train says is not enough: another follows that is as long. Tells whether it is the next.
    pub(crate) fn again(&mut self) -> bool {
        self.again = self.sent < ALIKE;
        self.again
    }

    /// Whether any train fell.
    pub(crate) const fn fell(&self) -> bool {
        !self.falls.is_empty()
    }

    /// Adds what the rate and the depth of a policer are at the least, of packets of a size, unless it let too few pass to say so.
    pub(crate) fn policed(&self, report: Report, size: Bytes) -> Report {
        if self.falls.iter().any(|fall| self.one(fall) * FEWEST > 1.0) {
            return report;
        }
        let why = "others' packets may be a part of what passes a policer";
        let least = |figure: &dyn Fn(&Fall) -> f64| {
            self.falls.iter().map(|fall| (1.0 - self.one(fall)) * figure(fall)).fold(f64::INFINITY, f64::min)
        };
        report
            .with(Quantity::TokenRate, Finding::at_least(least(&|fall| fall.rate(size)), Unit::Bps, why))
            .with(
                Quantity::BucketDepth,
                Finding::at_least(least(&|fall| fall.depths(size).0), Unit::Bytes, why),
            )
    }

    /// Adds the rate and the depth that this line shows, of packets of a size, by stamps of that `resolution`.
    pub(crate) fn told(&self, report: Report, line: &Line, size: Bytes, resolution: f64) -> Report {
        let finding = |of: Estimate, each: f64, unit| {
            Finding::value(each * of.value, each * of.low, each * of.high, unit)
        };
        let token = line.carries(resolution);
        let report = report.with(Quantity::TokenRate, finding(token, occupied(size) * 1e9, Unit::Bps));
        match self.depth(line) {
            Some(depth) => report.with(Quantity::BucketDepth, finding(depth, size.0 as f64, Unit::Bytes)),
            None => report,
        }
    }

    /// Whether it holds no more than the one packet that every link takes at once.
    pub(crate) fn is_link(&self, line: &Line) -> bool {
        self.depth(line).is_some_and(|depth| depth.value < ONE)
    }

    /// Packets that a bucket held from which these come: while those passed that emptied it, more came in. Where a train fell is known to
    /// within a window.
    fn depth(&self, line: &Line) -> Option<Estimate> {
        let free = line.free.value;
        let beside = |(fall, filled): (&Fall, &f64)| fall.passed - free * filled;
        let beside: Vec<f64> = self.falls.iter().zip(&self.filled).map(beside).collect();
        // At the pace of its own link all that passes is what this carries, for the others wait as well; of a link before it that is not
        // so.
        let full = |fall: &Fall| fall.passed * fall.before * (1.0 / self.gap - 1.0 / line.own.value);
        let full: Vec<f64> = match self.at {
            At::Free => beside.clone(),
            At::Pace => self.falls.iter().map(full).collect(),
        };
        let window = WINDOW as f64 * (1.0 - free * self.gap);
        let all = || full.iter().chain(&beside).copied();
        Some(Estimate {
            value: mean(&full)?,
            low: (all().reduce(f64::min)? - window).max(0.0),
            high: all().reduce(f64::max)? + window,
        })
    }

    /// Packets at what seems free of the next train, or the last: as many as there may be, or as many as empty the bucket.
    fn head(&self) -> Option<usize> {
        let most = self.falls.iter().map(|fall| fall.passed).reduce(f64::max);
        let emptied = |most: f64, more: usize| most.ceil() as usize + more;
        match (self.sent, self.falls.len()) {
            (0, _) => Some(self.packets),
            (1, _) if self.again => Some(self.packets),
            // Few of them pass a policer.
            (1, 1) if self.falls[0].drops || self.bursts => Some(self.packets),
            (1, 1) => Some(emptied(PLACE * most?, BEHIND).min(self.packets)),
            (_, ALIKE) => Some(emptied(most?, MARGIN)),
            _ => None,
        }
    }

    /// The packets behind those.
    fn tail(&self, size: Bytes, packets: usize) -> Option<Train> {
        let after = self.falls.iter().map(|fall| fall.after).reduce(f64::max)?;
        let nearer = |line: Line| line.own.value / (OVERLOAD - line.share.value.clamp(0.0, 1.0));
        let line = line(&[], &self.emptied, None).filter(|_| self.sent > ALIKE);
        let gap = Nanos::from_f64(line.map_or(FULL * after, nearer));
        let timely = (self.at.lasting() / after) as usize;
        Some(stream(size, gap, packets.min(timely.max(LEAST))))
    }

    /// How long it takes until what the last train left is gone and the bucket is full.
    fn drained(&self) -> Nanos {
        self.falls.last().map_or(Nanos::ZERO, |fall| drained(fall, self.last))
    }
}

/// How long it takes until what a train of so many packets left is gone that fell so, and the bucket is full.
pub(crate) fn drained(fall: &Fall, packets: usize) -> Nanos {
    Nanos::from_f64((packets as f64 + REFILLED * fall.passed) * fall.after)
}

/// Whether long trains fell at one place and to one rate: a bucket empties at the same place each time, and others send what they send.
pub(crate) fn fell_alike(falls: &[Fall]) -> bool {
    let near = |fall: &Fall| Fall { passed: fall.passed + NEAR, ..*fall };
    alike(&falls.iter().map(near).collect::<Vec<_>>(), PLACE, RATE)
}

/// The parts of a long train.
fn parts(passed: &[Passed]) -> Vec<Sample> {
    let gaps = passed.len().saturating_sub(1) / PARTS;
    let part = |part: usize| {
        let passed = passed.get(part * gaps..=(part + 1) * gaps)?;
        Sample::of(passed, &vec![true; gaps])
    };
    (0..PARTS).filter_map(part).collect()
}

/// What came through an emptied bucket: of what a policer let pass, too, each took as long as the bucket got for it.
fn blocks(passed: &[Passed]) -> Vec<Sample> {
    let gaps = BLOCK as f64;
    let block = |from: Passed, to: Passed| Sample {
        input: (to.sent - from.sent) / (to.number - from.number) as f64,
        output: (to.came - from.came) / gaps,
        gaps,
        blur: 0.0,
        scatter: 0.0,
    };
    let ends: Vec<Passed> = passed.iter().copied().step_by(BLOCK).collect();
    ends.windows(2).map(|two| block(two[0], two[1])).collect()
}

#[cfg(test)]
mod tests;
