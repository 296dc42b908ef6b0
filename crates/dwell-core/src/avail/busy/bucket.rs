//! A token bucket deeper than all other trains: one long train at what seems free must come to its end as it was sent. Where it falls
//! to a lower rate, and the next one at the same packet, a bucket is empty there; and what comes through then has a line as
//! what comes through a link has: the bucket's rate, and what others take of it.

use super::line::{Line, line};
use super::sample::Sample;
use crate::avail::stream::{Passed, stream};
use crate::capacity::fall::{Fall, WINDOW, alike, fall};
use crate::stats::Estimate;
use crate::stats::quantile::mean;
use crate::train::Train;
use crate::unit::{Bytes, Nanos};

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

/// But no more than come in so many nanoseconds, and so many at the least.
const LASTING: f64 = 1e9;
const LEAST: usize = 40;

/// The first are so many times as far apart as packets came through; the others, and what else passes, are together so many times what the
/// bucket gets.
const FULL: f64 = 0.85;
const OVERLOAD: f64 = 1.1;

/// What comes less than so many times as far apart as it was sent was not held up by an empty bucket.
const HELD: f64 = 1.05;

/// A long train that loses one packet in so many did so by no chance.
const LOSSY: usize = 10;

/// So many packets after it seemed empty it surely is.
const MARGIN: usize = 8;

/// So many packets that came through make a sample.
const BLOCK: usize = 10;

/// A bucket has so many times as long to fill as it would take at the rate at which packets then came through: of that the others take their part
/// once the train is over.
const REFILLED: f64 = 5.0;

/// A range as wide as this share of the bucket's rate does not say what is free.
const UNSURE: f64 = 0.5;

/// What long trains showed.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
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
    pub(super) watched: f64,
    /// What fell alike was no bucket.
    refuted: bool,
    /// The second long train came as it was sent: what made the first fall was traffic of others.
    cleared: bool,
    /// A long train lost too much for chance.
    lossy: bool,
}

impl Bucket {
    /// Long trains have so many packets, `gap` nanoseconds apart.
    pub(super) const fn new(gap: f64, packets: usize) -> Self {
        Self {
            gap,
            packets,
            sent: 0,
            last: 0,
            falls: Vec::new(),
            filled: Vec::new(),
            emptied: Vec::new(),
            watched: 0.0,
            refuted: false,
            lossy: false,
            cleared: false,
        }
    }

    /// The next train of packets of `size`, and the pause before it; `None`: no other is needed.
    pub(super) fn next(&mut self, size: Bytes) -> Option<(Train, Nanos)> {
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
    pub(super) fn see(&mut self, passed: &[Passed]) {
        if self.sent <= ALIKE {
            let sent = passed.last().map_or(self.packets, |last| last.number + 1);
            self.lossy |= passed.len() * LOSSY < sent * (LOSSY - 1);
            let Some(fall) = fall(passed) else {
                let last = passed.last().filter(|_| self.sent == ALIKE && !self.lossy);
                self.cleared = last.is_some_and(|last| last.came < HELD * last.sent);
                return;
            };
            let emptied = self.watch(passed.get(fall.passed as usize + MARGIN..).unwrap_or_default());
            // Single windows hold one packet of others or none: all together tell the rate better than their median.
            let outputs: Vec<f64> = emptied.iter().map(|sample| sample.output).collect();
            let after = mean(&outputs).filter(|after| *after > fall.before).unwrap_or(fall.after);
            self.falls.push(Fall { after, ..fall });
            self.filled
                .push(passed.get(fall.passed as usize).map_or(fall.passed * self.gap, |packet| packet.sent));
        } else {
            let head = self.head().unwrap_or(0);
            let from = passed.iter().position(|packet| packet.number >= head).unwrap_or(passed.len());
            let emptied = self.watch(&passed[from..]);
            if self.sent == ALIKE + 1 {
                let held: Vec<f64> = emptied.iter().map(|sample| sample.output / sample.input).collect();
                self.refuted = mean(&held).is_none_or(|held| held < HELD);
            }
        }
    }

    /// What came once the bucket was empty.
    fn watch(&mut self, passed: &[Passed]) -> Vec<Sample> {
        let emptied = blocks(passed);
        self.emptied.extend(&emptied);
        self.watched += passed.first().zip(passed.last()).map_or(0.0, |(from, to)| to.sent - from.sent);
        emptied
    }

    /// How packets fell, where all long trains did alike.
    pub(super) fn fallen(&self) -> Option<Fall> {
        let fell = self.falls.len() == ALIKE && alike(&self.falls, PLACE, RATE) && !self.refuted;
        fell.then(|| self.falls[0])
    }

    /// Why what seems free may not be: a long train at it did not come as it was sent. `None` also where it is known why.
    pub(super) fn doubt(&self) -> Option<&'static str> {
        match (self.fallen(), self.falls.is_empty() || self.cleared, self.lossy) {
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
    pub(super) fn line(&self) -> Option<Line> {
        let line =
            line(&[], &self.emptied, None).filter(|_| self.fallen().is_some_and(|fall| !fall.drops))?;
        ((line.free.high - line.free.low) * line.own.value < UNSURE).then_some(line)
    }

    /// The most that came through it once it was empty, packets a nanosecond: of each train one more may have.
    pub(super) fn through(&self) -> f64 {
        let packets = |fall: &Fall| (self.packets as f64 - fall.passed) * self.gap / fall.after;
        let rate = |fall: &Fall| (1.0 + 1.0 / packets(fall).max(1.0)) / fall.after;
        self.falls.iter().map(rate).fold(0.0, f64::max)
    }

    /// Packets that a bucket held of which so many are free a nanosecond: while those passed that emptied it, more came. Where a train fell is
    /// known to within a window.
    pub(super) fn depth(&self, free: f64) -> Option<Estimate> {
        let depth = |(fall, filled): (&Fall, &f64)| fall.passed - free * filled;
        let depths: Vec<f64> = self.falls.iter().zip(&self.filled).map(depth).collect();
        let window = WINDOW as f64 * (1.0 - free * self.gap);
        Some(Estimate {
            value: mean(&depths)?,
            low: (depths.iter().copied().reduce(f64::min)? - window).max(0.0),
            high: depths.iter().copied().reduce(f64::max)? + window,
        })
    }

    /// Packets at what seems free of the next train, or the last: as many as there may be, or as many as empty the bucket.
    fn head(&self) -> Option<usize> {
        let most = self.falls.iter().map(|fall| fall.passed).reduce(f64::max);
        let emptied = |most: f64, more: usize| most.ceil() as usize + more;
        match (self.sent, self.falls.len()) {
            (0, _) => Some(self.packets),
            // Few of them pass a policer.
            (1, 1) if self.falls[0].drops => Some(self.packets),
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
        let timely = (LASTING / after) as usize;
        Some(stream(size, gap, packets.min(timely.max(LEAST))))
    }

    /// How long it takes until what the last train left is gone and the bucket is full.
    fn drained(&self) -> Nanos {
        let Some(fall) = self.falls.last() else { return Nanos::ZERO };
        Nanos::from_f64((self.last as f64 + REFILLED * fall.passed) * fall.after)
    }
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Bytes = Bytes(1_500);

    /// Nanoseconds of 1 Gb/s that a packet takes, and packets that the bucket holds.
    const GAP: f64 = 12_000.0;
    const DEPTH: f64 = 40.0;

    /// What comes of a train through a full bucket that gets a token for a packet each `own` nanoseconds, of which others take `share`, evenly.
    fn bucket(train: &Train, own: f64, share: f64, drops: bool) -> Vec<Passed> {
        let (mut sent, mut last, mut tokens, mut ready) = (0.0, 0.0, DEPTH, 0.0_f64);
        let mut passed = Vec::new();
        for (number, packet) in train.packets.iter().enumerate() {
            sent += if number > 0 { packet.hold.as_f64() } else { 0.0 };
            tokens = f64::min(tokens + (sent - last) * (1.0 - share) / own, DEPTH);
            last = sent;
            if tokens >= 1.0 {
                tokens -= 1.0;
                ready = sent;
            } else if drops {
                continue;
            } else {
                // It waits for its token behind those that wait already, and what others sent meanwhile.
                ready = ready.max(sent) + (own + share * packet.hold.as_f64()).max(packet.hold.as_f64());
                tokens = 0.0;
            }
            passed.push(Passed { number, sent, came: ready });
        }
        passed
    }

    fn run(packets: usize, mut path: impl FnMut(&Train) -> Vec<Passed>) -> Bucket {
        let mut bucket = Bucket::new(GAP, packets);
        while let Some((train, _)) = bucket.next(SIZE) {
            bucket.see(&path(&train));
        }
        bucket
    }

    proptest! {
        #[test]
        fn what_a_shaper_leaves_is_told_with_its_rate_and_depth(slower in 2.0..40.0f64, share in 0.0..0.7f64) {
            let own = slower * GAP;
            let told = run(600, |train| bucket(train, own, share, false));
            let line = told.line().unwrap();
            prop_assert!((line.free.value * own / (1.0 - share) - 1.0).abs() < 0.03, "{line:?}");
            prop_assert!((line.own.value / own - 1.0).abs() < 0.03, "{line:?}");
            let depth = told.depth(line.free.value).unwrap();
            prop_assert!(depth.low <= DEPTH && DEPTH <= depth.high && depth.high - depth.low < 12.0, "{depth:?}");
        }

        #[test]
        fn of_a_policer_the_bound_holds(slower in 2.0..20.0f64) {
            let told = run(600, |train| bucket(train, slower * GAP, 0.0, true));
            prop_assert!(told.fallen().is_some_and(|fall| fall.drops) && told.line().is_none());
            let free = 1.0 / (slower * GAP);
            prop_assert!(told.through() >= free && told.through() < 1.1 * free, "{} {free}", told.through());
        }
    }

    #[test]
    fn a_train_that_comes_as_it_was_sent_is_the_only_one() {
        let told = run(600, |train| bucket(train, 0.9 * GAP, 0.0, false));
        assert_eq!((told.sent, told.fallen(), told.doubt()), (1, None, None));
    }

    #[test]
    fn what_falls_once_is_no_bucket() {
        let told = |second: f64| {
            let mut trains = 0;
            run(600, |train| {
                trains += 1;
                bucket(train, if trains == 1 { 4.0 * GAP } else { second * GAP }, 0.0, false)
            })
        };
        let passed = told(0.9);
        assert_eq!((passed.sent, passed.fallen(), passed.doubt()), (2, None, None));
        // The second was held up as well, but otherwise.
        let held = told(1.6);
        assert_eq!((held.sent, held.fallen()), (2, None));
        assert!(held.doubt().unwrap().contains("slower"));
    }

    #[test]
    fn what_lets_slower_trains_pass_is_no_bucket() {
        // Others came with either long train, and with none behind them.
        let mut trains = 0;
        let told = run(600, |train| {
            trains += 1;
            bucket(train, if trains <= ALIKE { 4.0 * GAP } else { 0.9 * GAP }, 0.0, false)
        });
        assert_eq!(told.fallen(), None);
        assert!(told.doubt().unwrap().contains("slower"));
    }

    #[test]
    fn what_loses_packets_by_no_rule_is_in_doubt() {
        let lost = |part: usize| {
            run(600, |train| {
                let passed = bucket(train, 0.9 * GAP, 0.0, false);
                passed.into_iter().filter(|packet| !(packet.number.pow(2) / 7).is_multiple_of(part)).collect()
            })
        };
        assert!(lost(5).doubt().unwrap().contains("lost"));
        assert_eq!(lost(50).doubt(), None);
    }

    #[test]
    fn a_bucket_has_time_to_fill_and_a_queue_to_drain() {
        let mut told = Bucket::new(GAP, 600);
        let (train, pause) = told.next(SIZE).unwrap();
        assert_eq!((train.packets.len(), pause), (600, Nanos::ZERO));
        told.see(&bucket(&train, 10.0 * GAP, 0.5, false));
        let (second, pause) = told.next(SIZE).unwrap();
        assert!(second.packets.len() < 600);
        // What waits of the first, and forty tokens at half of the bucket's rate.
        let waits = (600.0 - DEPTH) * 10.0 * GAP;
        assert!(pause.as_f64() > waits + DEPTH * 20.0 * GAP, "{pause:?}");
    }
}
