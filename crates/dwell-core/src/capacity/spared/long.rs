//! A long train at the pace that was found: whether a token bucket passed all trains before it; and the verdict.

use super::SparedRuns;
use super::verdict::{AGREEING, in_all, narrow_link};
use super::whole::{Between, Whole};
use crate::bucket::fall::unseen;
use crate::bucket::{At, Bucket};
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Side, Unit};
use crate::stats::Estimate;
use crate::stream::{occupied, passed, spacing, stream};
use crate::train::{Departure, Fleet, Observation, Train};
use crate::unit::{Bytes, Nanos};

/// The long train takes so much of the narrow link's time, for it is in the way of others; but it has so many packets at the least, and
/// at the most, as long as these take no longer than the other time.
const LASTING: Nanos = Nanos::from_millis(50);
const PACKETS: (usize, usize) = (128, 2_048);
const LONGEST: Nanos = Nanos::from_millis(500);

/// Of fewer packets no train shows where its rate falls.
const FEWEST: usize = 40;

/// Before it a bucket has so long to fill, where all can be over by then.
const FILLING: Nanos = Nanos::from_millis(500);
const OVER: Nanos = Nanos::from_millis(4_800);

/// One packet in so many is much to lose.
const MUCH: usize = 20;

/// The line of two trains begins where a link's does that is within so much of the pace found.
const THERE: f64 = 0.05;

/// Why others' packets may be in all that was measured.
const IN_STEP: &str = "a long train at that rate came slower, in each gap and as much everywhere: others' packets are in all of these, in step";
const TORN: &str = "a long train at that rate came slower, in nearly each gap, and so much of it was lost that nothing says how evenly: others' packets may \
                    be in all of these";
const LOOSE: &str = "a long train at that rate came slower, in nearly each gap, and packets of different sizes agree on it less closely than a \
                     link's would: others' packets may be in all of these";
const LOST: &str = "of long trains at that rate many packets were lost, and packets of different sizes agree on it less closely than a link's \
                    would: others' packets may be in all of these";

/// What long trains showed.
#[derive(Clone, Debug)]
pub(super) struct Long {
    bucket: Bucket,
    /// Packets of the first train; of all trains those that were sent, and those that were lost.
    packets: usize,
    sent: usize,
    lost: usize,
    /// Nanoseconds between the first train's packets, their size, and how that train came.
    gap: f64,
    size: Bytes,
    whole: Option<Whole>,
    /// Whether a NIC gathers packets.
    is_gathered: bool,
    /// Of the last train of all, a slower one, where one was sent: how far apart, and how it came.
    slower: Option<(f64, Option<Whole>)>,
}

impl Long {
    pub(super) fn see(&mut self, observation: &Observation) {
        let passed = passed(observation);
        let whole = |gap| Whole::of(&passed, gap, self.size, self.is_gathered);
        if let Some((gap, slower)) = &mut self.slower {
            *slower = whole(*gap);
            return;
        }
        if self.sent == 0 {
            self.whole = whole(self.gap);
        }
        self.sent += observation.fates.len();
        self.lost += observation.fates.len() - passed.len();
        self.bucket.see(&passed);
    }

    /// The next train, and how long to wait before it; `None`: there is nothing more to ask.
    fn next(&mut self) -> Option<(Train, Nanos)> {
        if self.slower.is_some() {
            return None;
        }
        self.bucket.next(self.size).or_else(|| self.slower())
    }

    /// A slower train, where the gaps of the first were a NIC's, so that only how much slower a slower one comes says whether others are
    /// in all of these. What still waits then does no harm: it keeps the link from resting.
    fn slower(&mut self) -> Option<(Train, Nanos)> {
        let whole = self
            .whole
            .filter(|whole| self.is_gathered && whole.is_held_up && whole.between == Between::Even)?;
        let gap = whole.further(self.gap).filter(|_| self.lost == 0)?;
        self.slower = Some((gap, None));
        Some((stream(self.size, Nanos::from_f64(gap), self.packets), Nanos::ZERO))
    }

    /// Whether the line of both trains begins at the link whose pace the first one had.
    fn begins_there(&self) -> bool {
        let slower = self.slower.and_then(|(_, slower)| slower);
        self.whole
            .zip(slower)
            .is_some_and(|(first, slower)| (first.own(&slower) / self.gap - 1.0).abs() < THERE)
    }
}

impl SparedRuns {
    /// The long train, and where its rate falls, others; empty: it is known whether a bucket empties, or nothing came through.
    pub(super) fn lengthen(&mut self) -> Fleet {
        let size = self.facts.max_size;
        if self.long.is_none() {
            let Some(rate) = self.rate() else { return Fleet::new() };
            // No faster than the link takes them: what waits before it are the others' packets alone.
            let gap = spacing(size, rate).as_f64().max(1.0);
            let within = |time: Nanos| (time.as_f64() / gap) as usize;
            let packets = within(LASTING).clamp(PACKETS.0, PACKETS.1).min(within(LONGEST));
            if packets < FEWEST {
                return Fleet::new();
            }
            let bucket = Bucket::new(At::Pace, gap, packets);
            let is_gathered = self.ears.is_some();
            self.long = Some(Long {
                bucket,
                packets,
                sent: 0,
                lost: 0,
                gap,
                size,
                whole: None,
                is_gathered,
                slower: None,
            });
        }
        let Some(long) = &mut self.long else { return Fleet::new() };
        let Some((train, drained)) = long.next() else { return Fleet::new() };
        let gone = self.span.map_or(Nanos::ZERO, |(first, last)| last - first);
        // No bucket has to fill before a slower train.
        let filling = if long.slower.is_some() { Nanos::ZERO } else { FILLING };
        let pause = filling.min(OVER - gone - train.lasts()).max(self.config.pause * 2).max(drained);
        vec![Departure { pause, train }]
    }

    /// Why others' packets may be in all gaps of a train that came like this.
    fn shared(&self, long: &Long, whole: &Whole) -> Option<&'static str> {
        // Where sizes do not agree at all a warning says so, and the train was sent faster than most of them say.
        let is_loose = || !long.is_gathered && !self.is_doubted() && !self.is_close();
        if whole.is_held_up {
            return match whole.between {
                Between::Even => (!long.begins_there()).then_some(IN_STEP),
                // Of what was lost nobody can say how evenly it would have come, where too little came to show it.
                Between::Unknown => (long.lost > 0).then_some(TORN),
                Between::Uneven => is_loose().then_some(LOOSE),
            };
        }
        // A link's own gaps prove that others left some alone, and a NIC's prove nothing. They may be those of one that was not heard where few
        // sizes agree as closely as packets do that got through untouched, or where none is as it was sent and runs do not agree so closely.
        let is_vague = || match (long.is_gathered, whole.between) {
            (true, _) => !self.sure(),
            (false, Between::Unknown) => {
                is_loose() || !whole.has_untouched && !self.is_doubted() && !self.is_narrow()
            }
            (false, _) => false,
        };
        (long.lost * MUCH > long.sent && is_vague()).then_some(LOST)
    }

    /// What packets may pass at, bits per second.
    fn rate(&self) -> Option<f64> {
        let found = match self.found().finding(Quantity::NarrowLinkCapacity) {
            Finding::Value { value, .. } => value,
            Finding::Bound { bound, side: Side::Lower, .. } => bound,
            _ => return None,
        };
        // Where sizes do not agree, the fastest may have passed a bucket that holds several of theirs.
        let (sizes, without) = self.basis();
        let (alone, _) = self.agreement(&sizes, without);
        let fastest = alone.iter().map(|slope| 1e9 / slope).filter(|_| self.is_doubted());
        Some(fastest.fold(found, f64::max))
    }

    /// Whether packets of different sizes say different things.
    fn is_doubted(&self) -> bool {
        let (sizes, without) = self.basis();
        self.ruler.is_none() && self.agreement(&sizes, without).1 < AGREEING
    }

    /// The bucket's figures, and the verdict.
    pub(super) fn judged(&self, report: Report) -> Report {
        let Some(long @ Long { bucket, packets, sent: all, lost, whole, .. }) =
            self.long.as_ref().filter(|long| long.sent > 0)
        else {
            let is_value = report.finding(Quantity::NarrowLinkCapacity).estimate().is_some();
            // One that was to be sent may be more than an agent takes.
            let why = match self.long {
                None => {
                    "trains come at that rate; none was sent that a token bucket would not pass, for it would take too long"
                }
                Some(_) => "trains come at that rate; none came that a token bucket would not pass",
            };
            return if is_value { report.limited(Limit::Link, why) } else { report };
        };
        let (size, resolution) = (self.facts.max_size, self.facts.resolution.as_f64());
        let fallen = bucket.fallen();
        if let Some(fall) = fallen.filter(|fall| fall.drops) {
            return bucket.policed(report, size).limited(Limit::TokenBucket, fall.reason());
        }
        let bits = occupied(size);
        if let (Some(fall), Some(line)) = (fallen, bucket.line()) {
            // Where sizes agree it may be others' small packets, which are in each of its gaps, or a bucket of a few packets that others fill too.
            if bucket.is_link(&line) && !self.is_doubted() {
                let why = "a long train came slower from its beginning on: others' small packets hold it up, or a token bucket of a packet or two";
                return as_slow_as(report, bits * 1e9, line.each(resolution).high)
                    .limited(Limit::Unstable, why);
            }
            if bucket.is_link(&line) {
                let why = "a long train came from its beginning on at a rate that smaller packets passed, for of these several pass at once";
                let own = line.each(resolution);
                let slope = Estimate { value: own.value / bits, low: own.low / bits, high: own.high / bits };
                // A range that leaves it out is of what several small packets passed at.
                let is_other = match report.finding(Quantity::NarrowLinkCapacity) {
                    Finding::Value { low, .. } => bits * 1e9 / line.own.low < low,
                    _ => true,
                };
                let report = if is_other { narrow_link(report, slope) } else { report };
                return report.limited(Limit::Link, why);
            }
            // Small packets pass faster where gaps between them are not counted; full ones came at no more than the link's pace.
            let why = "full packets came at that rate before a bucket was empty";
            let least = Finding::at_least(bits * 1e9 / fall.before, Unit::Bps, why);
            let is_bound = matches!(report.finding(Quantity::NarrowLinkCapacity), Finding::Bound { .. });
            let report = if is_bound { report.with(Quantity::NarrowLinkCapacity, least) } else { report };
            return bucket.told(report, &line, size, resolution).limited(Limit::TokenBucket, fall.reason());
        }
        // What is no value has a reason of its own.
        if report.verdict.is_some() {
            return report;
        }
        let sent = format!("{} at that rate", Bytes(size.0 * *packets as u64));
        let losing = || format!("of {all} packets of long trains {lost} were lost, at no steady rate");
        let (limit, why) = if bucket.is_lossy() {
            // Where so many are lost, what the others come at says nothing of who else is there.
            (Limit::Unstable, losing())
        } else if fallen.is_some() && !bucket.is_load() {
            let why = "came slower from some packet on, twice alike, and what came then does not tell a token bucket from others' traffic";
            (Limit::Unstable, format!("{sent} {why}"))
        } else if bucket.fell() {
            let why = "came slower from some packet on, but not each time alike, or as that link lets it through: the traffic of others";
            (Limit::Link, format!("{sent} {why}"))
        } else if *lost > 0 {
            (Limit::Link, losing())
        } else {
            (Limit::Link, format!("{sent} passed at one rate; {}", unseen(Bytes(size.0 * *packets as u64))))
        };
        let is_value = report.finding(Quantity::NarrowLinkCapacity).estimate().is_some();
        // Small packets that agree get through where larger ones do not, unless what came through tells of a faster link than they do.
        let are_all_parted = || bucket.is_of_a_faster_link() || !self.are_small_spared();
        if let Some(whole) = whole.filter(|_| is_value && are_all_parted())
            && let Some(why) = self.shared(long, &whole)
        {
            return in_all(report, bits * 1e9 / whole.each, why);
        }
        let report = match whole.filter(|_| limit == Limit::Unstable) {
            Some(whole) => as_slow_as(report, bits * 1e9, whole.each),
            None => report,
        };
        report.limited(limit, why)
    }
}

/// Where what held a long train up is not known, a link may carry as little as a packet of so many bits every `each` nanoseconds.
fn as_slow_as(report: Report, bits: f64, each: f64) -> Report {
    match report.finding(Quantity::NarrowLinkCapacity) {
        Finding::Value { value, low, high, unit } => {
            let low = low.min(bits / each);
            report.with(Quantity::NarrowLinkCapacity, Finding::value(value, low, high, unit))
        }
        _ => report,
    }
}
