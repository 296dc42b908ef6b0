//! The period of a NIC that gathers packets, as a ruler for the few packets that come when it ends.
//!
//! Behind such a NIC no gap between two packets is seen, and a run from lump to lump is so long that others get into it.
//! But where the NIC cuts is seen. A packet goes ahead, after a rest; its lump ends a period T after it came. A few packets
//! follow back to back, x behind it, x a little less than T. Of those that nobody touched, the i-th (from 0) comes
//! x + i L / C after the first of all, so i L / C <= T - x for each that still is in the lump, and > for the others: so
//! few packets are needed as fit into T - x, and x is ours to choose.
//!
//! A hold shows more: the first packet that is too late begins the next lump, which comes T after it. From one lump to
//! the next it is as far as from the one packet to the other, whatever T is.
//!
//! The packet ahead must not have waited: its delay tells. (A throttle hands it on at once, a hold T later: so its stamp is
//! exact, as few are.)

use super::crest::{Crest, EARLY, Mark, crest, score};
use crate::coalescence::{Behaviour, Fit};
use crate::nic::Kind;
use crate::report::Vantage;
use crate::stats::bootstrap::Indices;
use crate::stats::chance::share;
use crate::stats::hull::line_under;
use crate::stats::quantile::median;
use crate::stream::{occupied, vantage};
use crate::train::{Direction, Fate, Observation, Packet, Train};
use crate::unit::{Bytes, Nanos};
use std::ops::RangeInclusive;

/// What is tried as the error of a hold's stamps, as shares of a packet's time. A throttle's cut is no stamp.
const ERRORS: [f64; 6] = [0.0, 0.003, 0.01, 0.03, 0.1, 0.3];

/// Packets behind the first: in turn few, which are soon untouched, and many, which say more.
const BEHIND: [usize; 8] = [3, 17, 2, 5, 3, 9, 2, 4];

/// Every other train of a throttle, whose ruler has no scale but its end, ends about so many packets' times before it, and
/// so much more.
const CLOSE: [f64; 4] = [1.0, 2.0, 1.0, 3.0];
const ABOUT: RangeInclusive<f64> = -0.08..=0.14;

/// The first trains, and later one in so many, seek where packets end, from this share of the period on.
const SEEKS: usize = 5;
const LEAST: f64 = 1.0 / 4_000.0;

/// How much slower than what was found the trains of the test are, and what they come as where they come as they were sent.
const SLOWER: f64 = 1.02;
const AS_SENT: RangeInclusive<f64> = 0.97..=1.03;

/// So many nats less for that than for anything else, and so much less, are no chance.
const STRAINED: f64 = 3.0;
const CLEARLY: f64 = 0.8;

/// Trains of the test at most.
const TESTS: usize = 800;

/// Lumps lie farther apart than this share of the period, and the next one comes within so much of it.
const APART: f64 = 0.25;
const NEXT: f64 = 0.2;

/// What a period's end brings comes within this share of it, but for so many lumps.
const UNTIMELY: f64 = 0.2;
const TIMELY: f64 = 0.05;

/// Between trains the NIC rests for so many periods at the least.
const RESTS: f64 = 4.0;

/// A NIC that adapts is roused before each train, by so many of the smallest packets back to back. When all of them have been
/// handed on, so many more periods pass, and the packet ahead comes after a rest again.
const ROUSING: usize = 128;
const QUIET: f64 = 2.25;
/// It did so where nothing was handed on for so many periods before it.
const RESTED: f64 = 1.02;

/// One train as it came.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Cut {
    size: Bytes,
    /// When the first packet left, on the sender's clock, and how long it took to its stamp on the receiver's.
    at: f64,
    delay: f64,
    /// How long after it the others left.
    after: f64,
    /// How many others there are, and how many of them came before the cut.
    others: usize,
    before: usize,
    /// From the first packet's lump to the next one.
    next: f64,
    /// Whether the others were sent apart, and not back to back. Then all that follows is nanoseconds, as they were sent, and
    /// else bits.
    apart: bool,
    /// What one of them takes.
    packet: f64,
    /// From the first of them to the last that came before the cut, and to the next one.
    in_time: f64,
    too_late: f64,
    vantage: Vantage,
}

/// The method's second half.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    kind: Kind,
    period: f64,
    /// What comes together comes when one of so many periods ends.
    polls: u32,
    rest: Nanos,
    rousing: Option<Rousing>,
    cuts: Vec<Cut>,
    tested: bool,
}

/// What goes ahead of each train to a NIC that adapts to the packet rate.
#[derive(Copy, Clone, Debug)]
struct Rousing {
    /// Of each of its packets.
    size: Bytes,
    /// From its last packet to the train.
    quiet: Nanos,
}

impl Ruler {
    /// Of a NIC that behaves so after a rest; `None` where it has no period.
    pub(super) fn of(fit: &Fit) -> Option<Self> {
        let period = fit.period?.value;
        let polls = if let Behaviour::Deferred { polls, .. } = fit.behaviour { polls } else { 1 };
        let rest = Nanos::from_f64(RESTS * period * f64::from(polls));
        Some(Self {
            kind: fit.behaviour.kind(),
            period,
            polls,
            rest,
            rousing: None,
            cuts: Vec::new(),
            tested: false,
        })
    }

    /// Of a NIC that adapts, has this period at a high rate, and then is a throttle; `size` is the smallest packet's, `slope`
    /// what the path seems to need for a bit.
    pub(super) fn of_adaptive(period: f64, size: Bytes, slope: f64) -> Self {
        let lasting = ROUSING as f64 * slope * occupied(size);
        let quiet = Nanos::from_f64(lasting + QUIET * period);
        Self {
            kind: Kind::Throttle,
            period,
            polls: 1,
            rest: Nanos::ZERO,
            rousing: Some(Rousing { size, quiet }),
            cuts: Vec::new(),
            tested: false,
        }
    }

    /// Nanoseconds.
    pub(super) fn period(&self) -> f64 {
        self.period
    }

    /// Whether the period depends on what came before.
    pub(super) const fn is_adaptive(&self) -> bool {
        self.rousing.is_some()
    }

    /// The least time between two trains.
    pub(super) fn rest(&self) -> Nanos {
        self.rest
    }

    /// What rousing a NIC adds to the time from train to train: what is sent then ends a period after it is quiet.
    pub(super) fn rousing(&self) -> Nanos {
        self.rousing.map_or(Nanos::ZERO, |rousing| rousing.quiet + Nanos::from_f64(self.period))
    }

    pub(super) fn vantage(&self) -> Vantage {
        let captured = self.cuts.iter().all(|cut| cut.vantage == Vantage::Capture);
        if captured { Vantage::Capture } else { Vantage::Application }
    }

    /// The next train of packets of `size`, to end where the period does; `slope` is what was found so far.
    pub(super) fn train(&self, place: usize, size: Bytes, slope: Option<f64>, chance: &mut Indices) -> Train {
        let (others, room) = match slope.filter(|_| !place.is_multiple_of(SEEKS)) {
            // Where packets end nobody knows yet: far or near, with equal chances.
            None => (BEHIND[place % BEHIND.len()].max(9), self.period * LEAST.powf(share(chance))),
            Some(slope) if self.kind != Kind::Hold && place % 2 == 1 => {
                close(place / 2, slope * occupied(size), chance)
            }
            Some(slope) => self.within(place, slope * occupied(size), chance),
        };
        self.laid(size, others, room, Nanos::ZERO)
    }

    /// How many packets that take so long follow, and what is left of the period: some of them come in time.
    fn within(&self, place: usize, packet: f64, chance: &mut Indices) -> (usize, f64) {
        let others = BEHIND[place % BEHIND.len()].min((self.period / packet) as usize + 1).max(2);
        (others, packet * (others as f64 - 1.0) * share(chance))
    }

    /// The others come where so much is left of the period, and so long one after the other.
    fn laid(&self, size: Bytes, others: usize, room: f64, hold: Nanos) -> Train {
        let ahead = Packet { size, hold: Nanos::from_f64(self.period - room).max(Nanos(1)) };
        let mut packets = vec![Packet { size, hold }; others + 1];
        packets[1] = ahead;
        if let Some(Rousing { size, quiet }) = self.rousing {
            packets[0].hold = quiet;
            packets.splice(..0, [Packet { size, hold: Nanos::ZERO }; ROUSING]);
        }
        Train { packets, ..Train::default() }
    }

    /// The trains of the test, once: not back to back, but a little slower than the narrow link seems to be.
    pub(super) fn test(&mut self, sizes: &[Bytes], slope: f64, chance: &mut Indices) -> Vec<Train> {
        if std::mem::replace(&mut self.tested, true) {
            return Vec::new();
        }
        let one = |number: usize| {
            let (place, size) = (number / sizes.len(), sizes[number % sizes.len()]);
            let packet = slope * SLOWER * occupied(size);
            let (others, room) = match self.kind {
                Kind::Hold => self.within(place, packet, chance),
                _ => close(place, packet, chance),
            };
            self.laid(size, others, room, Nanos::from_f64(packet))
        };
        (0..TESTS).map(one).collect()
    }

    /// Notes a train of this form; false: it has another.
    pub(super) fn see(&mut self, observation: &Observation) -> bool {
        let rousing = if self.rousing.is_some() { ROUSING } else { 0 };
        let Some((before, fates)) = observation.fates.split_at_checked(rousing) else { return false };
        let [first, ahead, others @ ..] = fates else { return false };
        let [next, ..] = others else { return false };
        let follows = |fate: &Fate| fate.packet == Packet { size: first.packet.size, ..next.packet };
        let ours = observation.direction == Direction::Forward
            && ahead.packet.hold > next.packet.hold
            && ahead.packet.size == first.packet.size
            && others.iter().all(follows);
        if ours {
            self.cuts.extend(self.cut(before, fates, vantage(observation)));
        }
        ours
    }

    /// What a train tells, `before` which the NIC was roused by others.
    fn cut(&self, before: &[Fate], fates: &[Fate], vantage: Vantage) -> Option<Cut> {
        let stamp = |fate: &Fate| {
            let arrival = fate.arrival.as_ref()?;
            Some((vantage.read(&arrival.stamps)?.as_f64(), arrival.order))
        };
        let stamps: Vec<(f64, u32)> = fates.iter().map(stamp).collect::<Option<_>>()?;
        let in_order = stamps.windows(2).all(|two| two[0].1 < two[1].1 && two[0].0 <= two[1].0);
        let rested = |(came, _): (f64, u32)| stamps[0].0 - came > RESTED * self.period;
        if !before.iter().filter_map(stamp).all(rested) {
            return None;
        }
        // The places at which lumps begin.
        let apart = |place: &usize| stamps[*place].0 - stamps[place - 1].0 > APART * self.period;
        let mut begins = (1..stamps.len()).filter(apart);
        let next = begins.next().filter(|_| in_order)?;
        let until = match self.kind {
            Kind::Hold => next,
            // The first packet alone, and then the lump that the period ends.
            _ if next == 1 => begins.next().unwrap_or(stamps.len()),
            _ => return None,
        };
        let [first, ahead, behind, ..] = fates else { return None };
        let sent = |fate: &Fate| fate.sent.nearest_wire().as_f64();
        let (others, before, bits) = (stamps.len() - 1, until - 1, occupied(first.packet.size));
        let apart = behind.packet.hold > Nanos::ZERO;
        // To the place's packet; beyond the last it is not known.
        let until = |place: usize| match fates.get(place) {
            _ if !apart => bits * place.saturating_sub(1) as f64,
            Some(fate) => sent(fate) - sent(ahead),
            None => f64::INFINITY,
        };
        Some(Cut {
            size: first.packet.size,
            at: sent(first),
            delay: stamps[0].0 - sent(first),
            after: sent(ahead) - sent(first),
            others,
            before,
            next: stamps[next].0 - stamps[0].0,
            apart,
            packet: if apart { until(others) / (others - 1) as f64 } else { bits },
            in_time: until(before),
            too_late: until(before + 1),
            vantage,
        })
    }

    /// The period, as the lumps of a throttle show it.
    fn level(&self) -> f64 {
        let near = |next: &f64| (next / self.period - 1.0).abs() < NEXT;
        median(&self.cuts.iter().map(|cut| cut.next).filter(near).collect::<Vec<_>>()).unwrap_or(self.period)
    }

    /// Whether lumps come when no period ends: then the NIC is not what it was taken for, and its period is no ruler. What comes while it rests it
    /// hands on at once, but alone, so lumps of several packets are asked. (A hold's may come at any time.)
    pub(super) fn is_untimely(&self, tick: f64) -> bool {
        let level = self.level();
        let is_timely = |cut: &&Cut| {
            let periods = (cut.next / level).round().clamp(1.0, f64::from(self.polls));
            (cut.next - periods * level).abs() < TIMELY * level + tick
        };
        let lumps = self.cuts.iter().filter(|cut| cut.before > 1 && self.kind != Kind::Hold);
        let (timely, untimely): (Vec<&Cut>, Vec<&Cut>) = lumps.partition(is_timely);
        untimely.len() as f64 > UNTIMELY * (timely.len() + untimely.len()) as f64
    }

    /// What trains of these sizes agree on, within `range`; `tick` is the clock's.
    pub(super) fn crest(
        &self,
        sizes: &[Bytes],
        tick: f64,
        range: &RangeInclusive<f64>,
        seed: u64,
    ) -> Option<Crest> {
        let (share, best) = self.marks(sizes, tick, false, range)?;
        Some(Crest { scatter: share, ..crest(&best, range, seed)? })
    }

    /// Whether the trains of the test agree that they came slower than they were sent: a queue of others' packets that fill
    /// the link lets none of them pass as it came.
    pub(super) fn strained(&self, sizes: &[Bytes], tick: f64) -> bool {
        let any = 0.0..=f64::INFINITY;
        let Some((_, marks)) = self.marks(sizes, tick, true, &any) else { return false };
        let (best, as_sent) = (score(&marks, &any), score(&marks, &AS_SENT));
        best - as_sent > STRAINED && as_sent < best * CLEARLY
    }

    /// What trains of these sizes tell, sent apart or not, and what is best taken for the error of their stamps.
    fn marks(
        &self,
        sizes: &[Bytes],
        tick: f64,
        apart: bool,
        range: &RangeInclusive<f64>,
    ) -> Option<(f64, Vec<Mark>)> {
        let level = self.level();
        // Larger packets take longer: sizes by themselves.
        let of_size = |size: Bytes| self.cuts.iter().filter(move |cut| cut.size == size);
        let line =
            |size: Bytes| line_under(&of_size(size).map(|cut| (cut.at, cut.delay)).collect::<Vec<_>>());
        let cuts: Vec<(&Cut, f64)> = sizes
            .iter()
            .filter_map(|size| Some((size, line(*size)?)))
            .flat_map(|(size, line)| {
                of_size(*size).map(move |cut| (cut, (cut.delay - line.at(cut.at)).max(0.0)))
            })
            .filter(|(cut, _)| cut.apart == apart)
            .collect();
        let marks = |share: &f64| {
            let mark = |(cut, late): &(&Cut, f64)| match self.kind {
                Kind::Hold => cut.held(*late, *share, tick),
                _ => cut.throttled(level, *late, tick),
            };
            cuts.iter().filter_map(mark).collect::<Vec<_>>()
        };
        let errors = if self.kind == Kind::Hold { &ERRORS[..] } else { &ERRORS[..1] };
        let tried = errors.iter().map(|share| (*share, marks(share)));
        tried.max_by(|one, other| score(&one.1, range).total_cmp(&score(&other.1, range)))
    }
}

/// How many packets that take so long follow, and what is left of the period: the last but one comes about when that ends.
fn close(place: usize, packet: f64, chance: &mut Indices) -> (usize, f64) {
    let count = CLOSE[place % CLOSE.len()];
    let about = ABOUT.start() + (ABOUT.end() - ABOUT.start()) * share(chance);
    (count as usize + 2, packet * (count + about))
}

impl Cut {
    /// By what a hold tells: when the first packet that was too late came.
    fn held(&self, late: f64, share: f64, tick: f64) -> Option<Mark> {
        let lasting = self.next - self.after;
        (self.before > 0 && lasting > 0.0).then(|| {
            let packet = lasting / self.before as f64;
            let error = tick + share * packet;
            Mark {
                low: (lasting - error).max(0.0) / self.too_late,
                high: (lasting + error) / self.too_late,
                late: (late - error).max(0.0) / packet,
                packets: self.before,
                room: None,
                against: 0.0,
            }
        })
    }

    /// By what a throttle of this period tells: how many came in time.
    fn throttled(&self, period: f64, late: f64, tick: f64) -> Option<Mark> {
        let room = period - self.after;
        // Whether most of the slower trains were touched is what they are asked: a few that were not must not decide it.
        let (spared, against) = if self.apart { (0.0, 0.0) } else { (late, EARLY) };
        ((self.next / period - 1.0).abs() < NEXT && self.before > 0 && room > 0.0).then(|| {
            let last = (self.before - 1) as f64;
            let packet = room / (last + 0.5);
            let all = self.before == self.others;
            Mark {
                low: if all { 0.0 } else { (room - tick).max(0.0) / self.too_late },
                high: (room + spared + tick) / self.in_time,
                late: (late - tick).max(0.0) / packet,
                packets: self.before,
                room: Some(room / self.packet),
                against,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 1e5;

    /// Of trains that came so many at a time, so long after the first packet.
    fn is_untimely(kind: Kind, polls: u32, lumps: &[(usize, f64)]) -> bool {
        let cut = |(before, next): &(usize, f64)| Cut {
            size: Bytes(1_526),
            at: 0.0,
            delay: 0.0,
            after: PERIOD,
            others: 9,
            before: *before,
            next: *next,
            apart: false,
            packet: 1e4,
            in_time: 1e4,
            too_late: 2e4,
            vantage: Vantage::Capture,
        };
        let cuts = lumps.iter().map(cut).collect();
        let ruler =
            Ruler { kind, period: PERIOD, polls, rest: Nanos::ZERO, rousing: None, cuts, tested: false };
        ruler.is_untimely(1.0)
    }

    #[test]
    fn lumps_come_when_a_period_ends_or_the_nic_is_another() {
        // One in ten comes after it, as a NIC that rests hands on a packet: alone.
        let alone = [[(3, PERIOD); 9].as_slice(), &[(1, 1.4 * PERIOD)]].concat();
        assert!(!is_untimely(Kind::Throttle, 1, &alone));
        let together: Vec<(usize, f64)> = alone.iter().map(|(_, next)| (3, *next)).collect();
        assert!(!is_untimely(Kind::Throttle, 1, &together));
        let later = [(3, PERIOD), (2, 1.4 * PERIOD), (3, PERIOD), (3, 0.8 * PERIOD)];
        assert!(is_untimely(Kind::Throttle, 1, &later));
        // After an empty poll another one; a throttle has none.
        let twice = [(3, PERIOD), (3, 2.0 * PERIOD), (3, PERIOD), (3, PERIOD)];
        assert!(!is_untimely(Kind::Deferred, 2, &twice) && is_untimely(Kind::Throttle, 1, &twice));
        assert!(!is_untimely(Kind::Hold, 1, &later) && !is_untimely(Kind::Throttle, 1, &[]));
    }
}
