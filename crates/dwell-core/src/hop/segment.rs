//! `segment`: the capacity of the path up to each hop, and so of its segments, by the dispersion of packets that expire
//! there (Harfoush, Bestavros and Byers, 'Measuring bottleneck bandwidth of targeted path segments', INFOCOM 2003).
//!
//! Markers around packets that go further: the time between the two markers' messages is the time between the markers
//! themselves where they expired, and that is what the narrowest link up to there needs for the packets between them.
//! Theirs are cartouches whose magnifiers expire and whose markers go on to a receiver; here nobody receives, so the
//! markers expire and the packets between them go on. Markers are as large as the rest: a small one gains on the packets
//! before it at each link, and the train would look longer with every hop.
//!
//! Up to hop j the narrowest link carries b(1, j). Of a segment from i to j that is its capacity where b(1, j) is less than
//! b(1, i - 1), and its least where it is not: what a narrow link has spread, no wider one behind it brings together.
//!
//! Of many volleys those count that had the least delay in all (Kapoor et al., CapProbe, SIGCOMM 2004): they met no queue,
//! so nothing spread or squeezed them. Where every volley met one, the least of them did too, and nothing in the volleys
//! shows it. But then the least round trip lies above pathchar's line of least round trips; or the packets are further
//! apart than all links up to there together need for one, which the narrowest of them alone never does.

use super::schedule::Schedule;
use super::{ByHop, HopMethod, HopStep, Route, Shot, Spent};
use crate::report::{Finding, Unit};
use crate::stats::quantile::median;
use crate::unit::{INTER_FRAME_GAP, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Volleys to each hop: first with one packet behind the marker, then as long as the rate asks for.
const FIRST: u32 = 8;
const VOLLEYS: u32 = 32;
/// And more, up to so many, while the best of them differ by more than this share.
const MOST: u32 = 600;
const ENOUGH: f64 = 0.03;
/// Messages are stamped and made with an error of some microseconds: so long a train shall be at least (PBProbe, Chen et
/// al. 2005, lengthens its trains for the same reason) ...
const LONG_ENOUGH: f64 = 200_000.0;
/// ... and no longer than this many packets.
const LONGEST: usize = 16;
/// After so many volleys of one length of which none met no queue, some are so many times as long.
const TRIED: usize = 16;
const LONGER: usize = 4;
/// A volley met a queue whose markers took longer than the fastest by more than this share of the train.
const QUEUED: f64 = 0.05;
/// And so did the fastest, where the first marker took longer than pathchar's line says by more than this share: that line
/// has its own errors.
const ABOVE_LINE: f64 = 0.1;
/// Long trains that need so much more time for a packet than short ones had others' packets in them.
const STRETCHED: f64 = 0.05;
/// The share of volleys with the least delay that counts, and the least number of them.
const BEST: f64 = 0.02;
const FEWEST: usize = 3;

/// What a full packet takes to a hop that meets no queue, in nanoseconds.
#[derive(Copy, Clone, Debug)]
pub struct Alone {
    /// Its least round trip.
    pub round_trip: f64,
    /// The most that all links up to there together may need for it.
    pub links: f64,
}

/// A volley whose markers were both answered.
#[derive(Copy, Clone, Debug)]
struct Seen {
    /// Packets behind the first marker.
    length: usize,
    /// Between the two answers.
    apart: f64,
    /// The first marker's round trip, and what passed from when it left to the other's answer. (The other's own round trip is no measure: it is
    /// the shorter the later the sender was with it, and the less its queue.)
    first: f64,
    last: f64,
    /// How far apart they left.
    left: f64,
}

impl Seen {
    /// What the packets are apart.
    fn each(&self) -> f64 {
        self.apart / self.length as f64
    }
}

/// Measures the path up to each hop.
#[derive(Clone, Debug)]
pub struct Segment {
    route: Route,
    schedule: Schedule,
    asked: BTreeMap<u8, u32>,
    seen: BTreeMap<u8, Vec<Seen>>,
    began: bool,
    alone: BTreeMap<u8, Alone>,
    patience: Nanos,
}

impl Segment {
    /// Its published name.
    pub const NAME: &'static str = "segment";

    /// On the hops of `route`, for no longer than `patience`. `alone` is what the largest probe takes by itself, for the
    /// hops of which that is known.
    #[must_use]
    pub fn new(route: &Route, alone: BTreeMap<u8, Alone>, patience: Nanos) -> Self {
        Self {
            alone,
            route: route.clone(),
            schedule: Schedule::new(route),
            asked: BTreeMap::new(),
            seen: BTreeMap::new(),
            began: false,
            patience,
        }
    }

    /// Bits that a packet takes of an Ethernet link.
    fn bits(&self) -> f64 {
        (self.route.most + INTER_FRAME_GAP).bits() as f64
    }

    fn seen(&self, hop: u8) -> impl Iterator<Item = &Seen> {
        self.seen.get(&hop).into_iter().flatten()
    }

    /// How many packets shall be behind the first marker to `hop`, by turns: one, for pairs slip through between others'
    /// packets; as many as make a train long enough, for that tells better; and more.
    fn lengths(&self, hop: u8) -> Vec<usize> {
        let pairs = self.seen(hop).filter(|seen| seen.length == 1);
        let one = median(&pairs.map(|seen| seen.apart).collect::<Vec<_>>());
        let mut length = one
            .filter(|ns| *ns > 0.0)
            .map_or(LONGEST, |ns| ((LONG_ENOUGH / ns).ceil() as usize).clamp(1, LONGEST));
        let mut lengths = vec![1, length];
        // Hosts and routers that are late by more than a share of such a train let none pass for one without a queue.
        let tried = |length| self.seen(hop).filter(|seen| seen.length == length).count();
        while length < LONGEST && tried(length) >= TRIED && self.best(hop, length).len() < FEWEST {
            length = (length * LONGER).min(LONGEST);
            lengths.push(length);
        }
        lengths
    }

    /// Whether the best volleys to `hop` agree.
    fn is_sure(&self, hop: u8) -> bool {
        match self.capacity(hop) {
            Finding::Value { value, low, high, .. } => high - low < ENOUGH * value,
            Finding::Bound { .. } => true,
            Finding::Unmeasurable { .. } => false,
        }
    }

    /// The least that both markers of volleys of this length to `hop` took. What follows a first marker is nothing to it.
    fn fastest(&self, hop: u8, length: usize) -> [f64; 2] {
        let of_length = self.seen(hop).filter(|seen| seen.length == length);
        let first = self.seen(hop).map(|seen| seen.first).fold(f64::INFINITY, f64::min);
        [first, of_length.map(|seen| seen.last).fold(f64::INFINITY, f64::min)]
    }

    /// The volleys of this length to `hop` that met the least delay, and no queue, as far as can be told: the delay of each
    /// marker is the least that any such marker had (CapProbe's condition).
    fn best(&self, hop: u8, length: usize) -> Vec<Seen> {
        let mut of: Vec<Seen> = self.seen(hop).filter(|seen| seen.length == length).copied().collect();
        let [first, last] = self.fastest(hop, length);
        let beyond = |seen: &Seen| seen.first - first + seen.last - last;
        of.sort_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        of.truncate(((of.len() as f64 * BEST).ceil() as usize).max(FEWEST));
        let none = Alone { round_trip: f64::INFINITY, links: f64::INFINITY };
        let Alone { round_trip, links } = self.alone.get(&hop).copied().unwrap_or(none);
        of.retain(|seen| {
            beyond(seen) <= QUEUED * seen.apart
                && seen.first - round_trip <= ABOVE_LINE * seen.apart
                && seen.each() <= links * (1.0 + QUEUED)
        });
        of
    }

    /// The volleys that count: long ones, for they tell best, unless none got through alone. A long train in which others'
    /// packets stand each time looks as if it had met no queue; shorter ones tell on it.
    fn counting(&self, hop: u8) -> Vec<Seen> {
        let lengths: BTreeSet<usize> = self.seen(hop).map(|seen| seen.length).collect();
        let each = |best: &[Seen]| median(&best.iter().map(Seen::each).collect::<Vec<_>>());
        let told =
            lengths.into_iter().map(|length| self.best(hop, length)).filter(|best| best.len() >= FEWEST);
        let longer = told.reduce(|shorter, longer| match (each(&shorter), each(&longer)) {
            (Some(of_shorter), Some(of_longer)) if of_shorter < of_longer * (1.0 - STRETCHED) => shorter,
            _ => longer,
        });
        longer.unwrap_or_default()
    }

    /// The capacity of the narrowest link up to each hop, in bits that a packet takes of an Ethernet link.
    #[must_use]
    pub fn capacities(&self) -> ByHop {
        self.route.stops.iter().map(|stop| (stop.hop, self.capacity(stop.hop))).collect()
    }

    /// Whether the volleys to some hop, and to all that tell, left this host as far apart as their messages came.
    pub(super) fn is_sender_limited(&self) -> bool {
        let hops = self.route.stops.iter().map(|stop| self.counting(stop.hop));
        let told: Vec<Vec<Seen>> = hops.filter(|best| best.len() >= FEWEST).collect();
        !told.is_empty() && told.iter().all(|best| came_as_sent(best))
    }

    fn capacity(&self, hop: u8) -> Finding {
        let Some(all) = self.seen.get(&hop) else {
            return Finding::unmeasurable("no volley was answered whole at this hop");
        };
        let best = self.counting(hop);
        let rate = |each: f64| self.bits() / each * 1e9;
        let host = "the packets left this host as far apart as they came: the host was the slowest";
        if best.len() < FEWEST {
            // Of what this host was slow to send no two volleys are alike.
            let longest = all.iter().map(|seen| seen.length).max().unwrap_or(1);
            let longest: Vec<Seen> = all.iter().filter(|seen| seen.length == longest).copied().collect();
            if longest.len() >= FEWEST && came_as_sent(&longest) {
                let each =
                    median(&longest.iter().map(Seen::each).collect::<Vec<_>>()).unwrap_or(f64::INFINITY);
                return Finding::at_least(rate(each), Unit::Bps, host);
            }
            let [asked, _] = self.schedule.tally(hop);
            return Finding::unmeasurable(match self.schedule.limit(hop) {
                Some(gap) => format!(
                    "hop {hop} limits its messages to about one in {gap}, and a volley takes two at once ({} of {} volleys \
                     answered whole)",
                    all.len(),
                    asked / 2
                ),
                None => format!(
                    "of {} volleys {} were answered whole at hop {hop}, and too few of these met no queue",
                    asked / 2,
                    all.len()
                ),
            });
        };
        // Hosts and routers that are late with the first marker bring it nearer to the last, and those that are late with the last one take it farther
        // from it: of what both took the least is told, and of each volley how much it may be off.
        let length = best[0].length;
        let [first, last] = self.fastest(hop, length);
        let apart = last - first;
        let longest = best.iter().map(|seen| seen.apart + (seen.first - first)).fold(apart, f64::max);
        let shortest = best.iter().map(|seen| seen.apart - (seen.last - last)).fold(apart, f64::min);
        let each = |apart: f64| apart / length as f64;
        if shortest <= 0.0 {
            return Finding::unmeasurable(
                "messages came at one time: their stamps do not tell the packets apart",
            );
        }
        if came_as_sent(&best) {
            return Finding::at_least(rate(each(apart)), Unit::Bps, host);
        }
        if apart < MESSAGES_APART {
            let reason = "the messages came so close to each other that the router may have been the slowest to make them";
            return Finding::at_least(rate(each(apart)), Unit::Bps, reason);
        }
        Finding::value(rate(each(apart)), rate(each(longest)), rate(each(shortest)), Unit::Bps)
    }
}

/// Whether no link spread what these volleys consist of.
fn came_as_sent(best: &[Seen]) -> bool {
    let middle = |of: fn(&Seen) -> f64| median(&best.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0);
    middle(|seen| seen.apart) <= middle(|seen| seen.left) * SENT_APART
}

/// Packets that arrive no further apart than so many times what they left apart were spread by no link.
const SENT_APART: f64 = 1.02;
/// Routers make messages one after the other, and take tens of microseconds (Govindan and Paxson 2002): what is no further
/// apart than this may be their own pace.
const MESSAGES_APART: f64 = 50_000.0;
/// And those that arrive this much nearer to each other than they left were pushed together by a queue.
const PUSHED: f64 = 0.9;

impl HopMethod for Segment {
    fn next(&mut self) -> HopStep {
        if self.began {
            self.schedule.adapt();
        }
        self.began = true;
        if self.schedule.now() > self.patience {
            return HopStep::Done;
        }
        let size = self.route.most;
        let lengths: BTreeMap<u8, Vec<usize>> =
            self.route.answering().map(|stop| (stop.hop, self.lengths(stop.hop))).collect();
        let sure: Vec<u8> = lengths.keys().copied().filter(|hop| self.is_sure(*hop)).collect();
        let asked = &mut self.asked;
        let round = self.schedule.round(|hop| {
            let asked = asked.entry(hop).or_default();
            (*asked < VOLLEYS || (*asked < MOST && !sure.contains(&hop))).then(|| {
                let turn = if *asked < FIRST { 0 } else { *asked as usize };
                let length = lengths.get(&hop).map_or(1, |lengths| lengths[turn % lengths.len()]);
                *asked += 1;
                let load = std::iter::repeat_n(Shot::load(size), length - 1);
                [Shot::at(hop, size)].into_iter().chain(load).chain([Shot::at(hop, size)]).collect()
            })
        });
        round.map_or(HopStep::Done, HopStep::Fire)
    }

    fn see(&mut self, sighting: &[Spent]) {
        self.schedule.see(sighting);
        let [first, between @ .., last] = sighting else { return };
        let (Some(hop), true) = (first.shot.hop, first.shot == last.shot) else { return };
        let load = Shot::load(first.shot.size);
        if first.shot.size != self.route.most || between.iter().any(|spent| spent.shot != load) {
            return;
        }
        if !(self.route.is_of(first) && self.route.is_of(last)) {
            return;
        }
        let (Some(one), Some(other), Some(a), Some(b)) =
            (first.round_trip(), last.round_trip(), first.answer, last.answer)
        else {
            return;
        };
        let between_ns = |from: Nanos, to: Nanos| to.0.saturating_sub(from.0) as f64;
        let (apart, left) = (between_ns(a.at, b.at), between_ns(first.left, last.left));
        if apart > PUSHED * left {
            let seen = Seen { length: between.len() + 1, apart, first: one, last: other + left, left };
            self.seen.entry(hop).or_default().push(seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::{Answer, Says, Sighting, Stop};
    use crate::report::Side;
    use crate::unit::Bytes;

    const SIZE: Bytes = Bytes(1_526);
    /// Of the link of 100 Mb/s, and without it.
    const PACKET: i64 = 123_040;
    const BASE: i64 = 400_000;

    /// What segment tells of a hop whose sender takes so long for a packet, and whose first answers come so late in long volleys.
    fn told(each: i64, late: i64) -> Finding {
        let stop = Stop {
            hop: 1,
            address: None,
            says: Some(Says::Exceeded),
            addresses: 1,
            round_trip: Some(Nanos(BASE)),
        };
        let route = Route { stops: vec![stop], even: Bytes(800), most: SIZE, serialisation: Nanos(PACKET) };
        let alone = Alone { round_trip: (BASE + PACKET) as f64, links: PACKET as f64 };
        let mut segment = Segment::new(&route, [(1, alone)].into(), Nanos::from_secs(10));
        let mut at = 0;
        while let HopStep::Fire(round) = segment.next() {
            for (number, volley) in round.iter().enumerate() {
                at += 5_000_000;
                let mut free = at;
                let sighting: Sighting = (0_i64..)
                    .zip(&volley.shots)
                    .map(|(place, shot)| {
                        // Now and then the sender is late with all but the first.
                        let left = at + each * place + i64::from(number % 5 == 4 && place > 0) * 90_000;
                        free = free.max(left) + PACKET;
                        let more = if place == 0 && volley.shots.len() > 2 { late } else { 0 };
                        let answer = Answer {
                            says: Says::Exceeded,
                            by: None,
                            size: Bytes(90),
                            at: Nanos(free + BASE + more + (number as i64 % 3) * 300),
                        };
                        Spent { shot: *shot, left: Nanos(left), answer: shot.hop.map(|_| answer) }
                    })
                    .collect();
                segment.see(&sighting);
            }
        }
        segment.capacity(1)
    }

    #[test]
    fn answers_and_packets_that_are_late_are_no_faster_link_and_no_slower_one() {
        // A sender that takes longer than the link is the slowest.
        assert!(
            matches!(told(150_000, 0), Finding::Bound { bound, side: Side::Lower, .. } if bound < 83e6 && bound > 70e6)
        );
        for (each, late) in [(12_304, 0), (12_304, 7_000), (60_000, 0), (90_000, 7_000)] {
            let Finding::Value { value, low, high, .. } = told(each, late) else {
                panic!("{each} {late}: {:?}", told(each, late))
            };
            assert!(
                (value / 100e6 - 1.0).abs() < 0.005 && low <= 100e6 && high >= 100e6,
                "{each} {late}: {value} {low} {high}"
            );
        }
    }
}
