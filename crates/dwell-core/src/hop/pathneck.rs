//! `pathneck`: where the queue stands, by trains whose head and tail expire hop by hop (Hu, Li, Mao, Steenkiste and Wang,
//! 'Locating Internet bottlenecks: algorithms, measurements, and implications', SIGCOMM 2004).
//!
//! A recursive packet train: one small packet for each hop, the first of which expires first; load packets that go all the
//! way; the same small packets once more, in the other order. Each router takes the outermost two off and says so, and
//! the time between its two messages is the length of the train there. Where a link has less free than the train's rate,
//! the train comes out longer: a choke point. Of several, says the paper, the last is where the least is free, for what comes
//! out of one fits through whatever has as much. It does not: a train comes out of a loaded link faster than what that has
//! free, and a narrower link behind it that carries nobody else lengthens it once more. But by how much a link lengthens a train
//! tells what else it carried meanwhile, where its capacity is known.
//!
//! What is free at the tight link is less than the rate at which the train came to it, and as the paper says, no more can
//! be told of it: the train's rate behind the link is no available bandwidth.

use super::schedule::Schedule;
use super::{HopMethod, HopStep, Route, Shot, Spent};
use crate::report::{Finding, Unit};
use crate::stats::quantile::median;
use crate::unit::{Bytes, ETHERNET_OVERHEAD, INTER_FRAME_GAP, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Load packets in a train, their bytes and the others' (IP): the paper's (section 3.1).
const LOAD: usize = 60;
const LOAD_SIZE: Bytes = Bytes(500 + ETHERNET_OVERHEAD.0);
const MEASURING_SIZE: Bytes = Bytes(60 + ETHERNET_OVERHEAD.0);
/// Trains of a run: the paper's probing set.
const TRAINS: usize = 10;
/// A choke point lengthens a train by this share at least (the paper's `conf`). Its other limit, 100 us, was one of links up
/// to 100 Mb/s, and is left out: at 1 Gb/s the whole train takes 300.
const CONFIDENCE: f64 = 0.1;
/// And does so in this share of the trains at least (the paper's `d_rate`).
const DETECTION: f64 = 0.5;
/// Trains are this far apart at least.
const APART: Nanos = Nanos::from_millis(100);
/// Trains that are answered at a hop, fewer of which tell nothing.
const FEWEST: usize = 4;

/// Where the least is free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tight {
    /// The link that ends at this hop.
    pub hop: u8,
    /// The share of trains that it lengthened.
    pub trains: f64,
    /// Less than this is free on it: the rate at which trains came to it, or what the links up to there carry.
    pub free: Finding,
}

/// Looks for the link that has the least free.
#[derive(Clone, Debug)]
pub struct Pathneck {
    route: Route,
    pause: Nanos,
    trains: usize,
    sent: usize,
    /// Length of each train at each hop; 0: as it left.
    lengths: Vec<BTreeMap<u8, f64>>,
}

impl Pathneck {
    /// Its published name.
    pub const NAME: &'static str = "pathneck";

    /// On the hops of `route`, of which one limits its messages to one in `slowest`, if any does; for `patience`.
    #[must_use]
    pub fn new(route: &Route, slowest: Option<Nanos>, patience: Nanos) -> Self {
        // Two messages of each hop for each train; and the train is over before the next one comes.
        let limited = slowest.unwrap_or_default() * 2;
        let spacing = Schedule::new(route).spacing() * (LOAD / 3) as i64;
        let pause = APART.max(limited).max(spacing);
        let trains = usize::try_from(patience.0 / pause.0).unwrap_or(0).min(TRAINS);
        let trains = if trains < FEWEST { 0 } else { trains };
        Self { route: route.clone(), pause, trains, sent: 0, lengths: Vec::new() }
    }

    fn train(&self) -> Vec<Shot> {
        let hops = || self.route.stops.iter().map(|stop| Shot::at(stop.hop, MEASURING_SIZE));
        let load = std::iter::repeat_n(Shot::load(LOAD_SIZE), LOAD);
        hops().chain(load).chain(hops().rev()).collect()
    }

    /// The choke points: each hop that lengthens trains, with the share of trains in which it did.
    #[must_use]
    pub fn choke_points(&self) -> Vec<(u8, f64)> {
        let share = |hop: u8| {
            let pairs: Vec<(f64, f64)> =
                self.lengths.iter().filter_map(|train| before_and_at(train, hop)).collect();
            let grown = pairs.iter().filter(|(before, at)| at - before > CONFIDENCE * at).count();
            (pairs.len() >= FEWEST).then(|| (hop, grown as f64 / pairs.len() as f64))
        };
        self.route
            .answering()
            .filter_map(|stop| share(stop.hop))
            .filter(|(_, share)| *share >= DETECTION)
            .collect()
    }

    /// What the link to this hop, which carries `capacity` in bits per second, had free at the median, by how much it lengthened
    /// trains: one that comes in T_in and goes out in T_out had x T_in bits of others with it, and the link sent (B + x T_in) in
    /// T_out.
    fn free(&self, hop: u8, capacity: f64) -> Option<f64> {
        let behind = self.route.stops.iter().filter(|stop| stop.hop > hop).count() as f64;
        let bits = |size: Bytes| (size + INTER_FRAME_GAP).bits() as f64;
        let own = LOAD as f64 * bits(LOAD_SIZE) + (2.0 * behind + 1.0) * bits(MEASURING_SIZE);
        let others = |(before, at): (f64, f64)| ((at * capacity / 1e9 - own) / before * 1e9).max(0.0);
        let pairs = self.lengths.iter().filter_map(|train| before_and_at(train, hop));
        let free: Vec<f64> =
            pairs.filter(|(before, _)| *before > 0.0).map(|pair| capacity - others(pair)).collect();
        median(&free)
    }

    /// The choke point whose link has the least free, where it is known of each what it `carries` (bits per second), and else the last one;
    /// `None` where no link lengthens trains.
    #[must_use]
    pub fn tight(&self, carries: impl Fn(u8) -> Option<f64>) -> Option<Tight> {
        let points = self.choke_points();
        let free: Option<Vec<f64>> = points.iter().map(|(hop, _)| self.free(*hop, carries(*hop)?)).collect();
        let least = free.and_then(|free| {
            points
                .iter()
                .zip(free)
                .min_by(|(_, one), (_, other)| one.total_cmp(other))
                .map(|(point, _)| *point)
        });
        let (hop, trains) = least.or_else(|| points.last().copied())?;
        let came: Vec<f64> =
            self.lengths.iter().filter_map(|train| Some(before_and_at(train, hop)?.0)).collect();
        let free = match median(&came) {
            Some(length) if length > 0.0 => {
                let bits = (LOAD_SIZE + INTER_FRAME_GAP).bits() as f64 * LOAD as f64;
                Finding::at_most(
                    bits / length * 1e9,
                    Unit::Bps,
                    "trains came to the link at this rate, and it delayed them",
                )
            }
            _ => Finding::unmeasurable("the trains' rate in front of the link is not known"),
        };
        Some(Tight { hop, trains, free })
    }

    /// Why nothing can be said; `None` where something can.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if self.trains == 0 {
            return Some(format!(
                "trains must be {} apart here, and {FEWEST} take longer than there is time",
                self.pause
            ));
        }
        let answered = |hop: u8| self.lengths.iter().filter(|train| train.contains_key(&hop)).count();
        let heard = self.route.answering().filter(|stop| answered(stop.hop) >= FEWEST).count();
        (heard < 2).then(|| {
            format!(
                "of {} trains too few were answered whole: hops that told both their ends often enough: {heard}, and it takes two",
                self.sent
            )
        })
    }
}

/// The length of a train at the hop that answered next before `hop`, and at `hop`. What a later hop shows shorter an
/// earlier one showed too long: its messages were slow to be made, and a train does not shrink.
fn before_and_at(train: &BTreeMap<u8, f64>, hop: u8) -> Option<(f64, f64)> {
    let shortest_from = |hop: u8| train.range(hop..).map(|(_, length)| *length).fold(f64::INFINITY, f64::min);
    let at = shortest_from(hop);
    train.get(&hop)?;
    let (before, _) = train.range(..hop).next_back()?;
    Some((shortest_from(*before).min(at), at))
}

impl HopMethod for Pathneck {
    fn next(&mut self) -> HopStep {
        if self.sent == self.trains || self.route.answering().next().is_none() {
            return HopStep::Done;
        }
        self.sent += 1;
        HopStep::Fire(vec![super::Volley { pause: self.pause, shots: self.train() }])
    }

    fn see(&mut self, sighting: &[Spent]) {
        let shots = sighting.iter().map(|spent| &spent.shot);
        if !shots.eq(self.train().iter()) {
            return;
        }
        let between = |from: Nanos, to: Nanos| to.0.saturating_sub(from.0) as f64;
        let mut lengths = BTreeMap::new();
        for (first, last) in sighting.iter().zip(sighting.iter().rev()).take(self.route.stops.len()) {
            let (Some(hop), Some(a), Some(b)) = (first.shot.hop, first.answer, last.answer) else { continue };
            if self.route.is_of(first) && self.route.is_of(last) && b.at > a.at {
                lengths.insert(hop, between(a.at, b.at));
            }
        }
        if let (Some(first), Some(last)) = (sighting.first(), sighting.last()) {
            lengths.insert(0, between(first.left, last.left));
        }
        self.lengths.push(lengths);
    }
}
