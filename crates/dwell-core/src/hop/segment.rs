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
//! so nothing spread or squeezed them.

use super::schedule::Schedule;
use super::{ByHop, HopMethod, HopStep, Route, Shot, Spent};
use crate::report::{Finding, Unit};
use crate::stats::quantile::{median, sorted};
use crate::unit::{INTER_FRAME_GAP, Nanos};
use std::collections::BTreeMap;

/// Volleys to each hop: first with one packet behind the marker, then as long as the rate asks for.
const FIRST: u32 = 8;
const VOLLEYS: u32 = 40;
/// Messages are stamped and made with an error of some microseconds: so long a train shall be at least (PBProbe, Chen et
/// al. 2005, lengthens its trains for the same reason) ...
const LONG_ENOUGH: f64 = 200_000.0;
/// ... and no longer than this many packets.
const LONGEST: usize = 16;
/// The share of volleys with the least delay that counts, and the least number of them.
const BEST: f64 = 0.125;
const FEWEST: usize = 3;
/// Time that a run takes at most.
const PATIENCE: Nanos = Nanos::from_secs(20);

/// A volley whose markers were both answered.
#[derive(Copy, Clone, Debug)]
struct Seen {
    /// Packets behind the first marker.
    length: usize,
    /// Between the two answers.
    apart: f64,
    /// The round trips of both markers together.
    delay: f64,
    /// How far apart they left.
    left: f64,
}

/// Measures the path up to each hop.
#[derive(Clone, Debug)]
pub struct Segment {
    route: Route,
    schedule: Schedule,
    asked: BTreeMap<u8, u32>,
    seen: BTreeMap<u8, Vec<Seen>>,
    began: bool,
}

impl Segment {
    /// Its published name.
    pub const NAME: &'static str = "segment";

    /// On the hops of `route`.
    #[must_use]
    pub fn new(route: &Route) -> Self {
        Self {
            route: route.clone(),
            schedule: Schedule::new(route, LONGEST as f64 / 2.0),
            asked: BTreeMap::new(),
            seen: BTreeMap::new(),
            began: false,
        }
    }

    /// Bits that a packet takes of an Ethernet link.
    fn bits(&self) -> f64 {
        (self.route.most + INTER_FRAME_GAP).bits() as f64
    }

    /// Packets behind the first marker that make a train to `hop` long enough.
    fn length(&self, hop: u8) -> usize {
        let best = self.best(hop, 1);
        let one = median(&best.iter().map(|seen| seen.apart).collect::<Vec<_>>());
        one.filter(|ns| *ns > 0.0)
            .map_or(LONGEST, |ns| ((LONG_ENOUGH / ns).ceil() as usize).clamp(1, LONGEST))
    }

    /// The volleys of this length to `hop` that met the least delay.
    fn best(&self, hop: u8, length: usize) -> Vec<Seen> {
        let of = self.seen.get(&hop).into_iter().flatten().filter(|seen| seen.length == length);
        let mut of: Vec<Seen> = of.copied().collect();
        of.sort_by(|a, b| a.delay.total_cmp(&b.delay));
        let count = ((of.len() as f64 * BEST).ceil() as usize).max(FEWEST).min(of.len());
        of.truncate(count);
        of
    }

    /// The capacity of the narrowest link up to each hop, in bits that a packet takes of an Ethernet link.
    #[must_use]
    pub fn capacities(&self) -> ByHop {
        self.route.stops.iter().map(|stop| (stop.hop, self.capacity(stop.hop))).collect()
    }

    fn capacity(&self, hop: u8) -> Finding {
        let Some(all) = self.seen.get(&hop) else {
            return Finding::unmeasurable("no volley was answered whole at this hop");
        };
        // The length that most went with.
        let longest = all.iter().map(|seen| seen.length).max().unwrap_or(1);
        let (length, best) = [longest, 1]
            .into_iter()
            .map(|length| (length, self.best(hop, length)))
            .find(|(_, best)| best.len() >= FEWEST)
            .unwrap_or_default();
        let apart = sorted(&best.iter().map(|seen| seen.apart).collect::<Vec<_>>());
        let (Some(middle), Some(shortest), Some(longest)) = (median(&apart), apart.first(), apart.last())
        else {
            let [asked, _] = self.schedule.tally(hop);
            return Finding::unmeasurable(match self.schedule.limit(hop) {
                Some(gap) => format!(
                    "hop {hop} limits its messages to about one in {gap}, and a volley takes two at once ({} of {} volleys \
                     answered whole)",
                    all.len(),
                    asked / 2
                ),
                None => format!(
                    "{} of {} volleys were answered whole at hop {hop}, too few",
                    all.len(),
                    asked / 2
                ),
            });
        };
        if *shortest <= 0.0 {
            return Finding::unmeasurable(
                "messages came at one time: their stamps do not tell the packets apart",
            );
        }
        let rate = |ns: f64| self.bits() * length as f64 / ns * 1e9;
        let left = median(&best.iter().map(|seen| seen.left).collect::<Vec<_>>()).unwrap_or(0.0);
        if middle <= left * SENT_APART {
            let reason = "the packets left this host as far apart as they came: the host was the slowest";
            return Finding::at_least(rate(middle), Unit::Bps, reason);
        }
        Finding::value(rate(middle), rate(*longest), rate(*shortest), Unit::Bps)
    }
}

/// Packets that arrive no further apart than this many times what they left apart were spread by no link.
const SENT_APART: f64 = 1.02;

impl HopMethod for Segment {
    fn next(&mut self) -> HopStep {
        if self.began {
            self.schedule.adapt();
        }
        self.began = true;
        if self.schedule.now() > PATIENCE {
            return HopStep::Done;
        }
        let size = self.route.most;
        let lengths: BTreeMap<u8, usize> =
            self.route.answering().map(|stop| (stop.hop, self.length(stop.hop))).collect();
        let asked = &mut self.asked;
        let round = self.schedule.round(|hop| {
            let asked = asked.entry(hop).or_default();
            (*asked < VOLLEYS).then(|| {
                let length = if *asked < FIRST { 1 } else { lengths.get(&hop).copied().unwrap_or(1) };
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
        self.seen.entry(hop).or_default().push(Seen {
            length: between.len() + 1,
            apart: between_ns(a.at, b.at),
            delay: one + other,
            left: between_ns(first.left, last.left),
        });
    }
}
