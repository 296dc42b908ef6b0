//! `pathchar`: the capacity of each link, by the least round trips of packets of many sizes that expire hop by hop
//! (Jacobson, 'pathchar: a tool to infer characteristics of Internet paths', MSRI 1997; Downey, 'Using pathchar to
//! estimate Internet link characteristics', SIGCOMM 1999, whose adaptive sampling is used here).
//!
//! A byte more takes a link 8 / C longer, and a router that stores before it forwards adds its links up: the least round
//! trip to hop n rises with the size by the sum of 8 / C of links 1 to n. So the rise to hop n less that to hop n - 1 is
//! 8 / C of link n, *if nothing else on the link stores and forwards*: a switch between two routers is seen by nobody, and
//! what is found is 1 / (1 / C1 + 1 / C2). [`join`](super::join) looks for those.

use super::estimate::{Least, Rise, difference};
use super::schedule::{SLOWEST, Schedule};
use super::{Alone, ByHop, HopMethod, HopStep, Route, Shot, Spent};
use crate::report::{Finding, Unit};
use crate::stats::Estimate;
use crate::unit::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Sizes, evenly spread. Jacobson took 45 (from 64 to 1,500 bytes in steps of 32), each 32 times at each hop; Downey found
/// that most links need far fewer probes.
const SIZES: u64 = 12;
/// Bytes that the sizes must be apart in all.
const LEAST_SPAN: u64 = 100;
/// Probes of each size at each hop: at least, and at most. Jacobson's number is 32; on a link that is busy for a share b of
/// the time, and n - 1 more of its kind, one probe in (1 - b)^-n meets no queue, and 32 are too few soon.
const LEAST: usize = 4;
const MOST: usize = 1_000;
/// A link is known well enough where its interval is no wider, to either side.
const ENOUGH: f64 = 0.03;
/// Measures each link.
#[derive(Clone, Debug)]
pub struct Pathchar {
    route: Route,
    sizes: Vec<Bytes>,
    schedule: Schedule,
    least: BTreeMap<u8, Least>,
    /// Size that each hop is asked with next.
    turn: BTreeMap<u8, usize>,
    began: bool,
    patience: Nanos,
}

impl Pathchar {
    /// Its published name.
    pub const NAME: &'static str = "pathchar";

    /// On the hops of `route`, for no longer than `patience`.
    #[must_use]
    pub fn new(route: &Route, patience: Nanos) -> Self {
        let (first, span) = (route.even.0, route.most.0.saturating_sub(route.even.0));
        // Sizes that hardly differ make no line.
        let count = if span < LEAST_SPAN { 0 } else { SIZES };
        let sizes = (0..count).map(|index| Bytes(first + span * index / (SIZES - 1))).collect();
        Self {
            sizes,
            schedule: Schedule::new(route),
            route: route.clone(),
            least: BTreeMap::new(),
            turn: BTreeMap::new(),
            began: false,
            patience,
        }
    }

    /// Nanoseconds for a byte on the links between `hop` and the one before it that tells as much.
    fn byte(&self, hop: u8) -> Option<Estimate> {
        let of = self.rise(hop)?.slope;
        match self.rise(self.before(hop)) {
            None => Some(of),
            Some(before) => Some(difference(of, before.slope)),
        }
    }

    /// The hop before `hop` that told enough for a line; 0: the source.
    #[must_use]
    pub fn before(&self, hop: u8) -> u8 {
        let told = self.route.answering().map(|stop| stop.hop).filter(|other| *other < hop);
        told.filter(|other| self.rise(*other).is_some()).last().unwrap_or(0)
    }

    fn rise(&self, hop: u8) -> Option<Rise> {
        self.least.get(&hop)?.rise()
    }

    /// What the links to the last hop take for the largest probe, as far as it is known.
    #[must_use]
    pub fn serialisation(&self) -> Nanos {
        // The most of all hops, for probes that come too fast are the queue that they measure.
        let byte = self.least.values().filter_map(Least::byte).reduce(f64::max);
        let whole = |byte: f64| Nanos::from_f64((byte * self.route.most.0 as f64).max(0.0));
        byte.map_or(self.route.serialisation, whole)
    }

    /// Whether `hop` and the one after it, which needs it, are known well enough.
    fn is_known(&self, hop: u8) -> bool {
        let after = self.route.answering().map(|stop| stop.hop).find(|other| *other > hop);
        let sure = |hop: u8| {
            self.byte(hop).is_some_and(|byte| byte.value > 0.0 && byte.half_width() < ENOUGH * byte.value)
        };
        sure(hop) && after.is_none_or(sure)
    }

    fn needs(&self, hop: u8) -> bool {
        let fewest = self.least.get(&hop).map_or(0, |least| least.fewest(&self.sizes));
        fewest < LEAST || (fewest < MOST && !self.is_known(hop))
    }

    /// The capacity of the link that ends at each hop, in bits per second.
    #[must_use]
    pub fn capacities(&self) -> ByHop {
        self.route.stops.iter().map(|stop| (stop.hop, self.capacity(stop.hop))).collect()
    }

    fn capacity(&self, hop: u8) -> Finding {
        if !self.route.answering().any(|stop| stop.hop == hop) {
            return Finding::unmeasurable("nobody answers at this hop");
        }
        let before = self.before(hop);
        let Some(Estimate { value, low, high }) = self.byte(hop) else {
            return Finding::unmeasurable(self.too_few(hop));
        };
        let rate = |ns_a_byte: f64| 8e9 / ns_a_byte;
        if low > 0.0 && before + 1 < hop {
            let reason =
                format!("the hops behind hop {before} told too little: the links up to here are seen as one");
            return Finding::at_least(rate(high), Unit::Bps, reason);
        }
        match (low > 0.0, high > 0.0) {
            (true, _) => Finding::value(rate(value), rate(high), rate(low), Unit::Bps),
            (false, true) => Finding::at_least(
                rate(high),
                Unit::Bps,
                format!(
                    "a byte more takes {value:.3} ns more ({low:.3} to {high:.3}) than to hop {before}, which cannot be told \
                     from nothing"
                ),
            ),
            (false, false) => Finding::unmeasurable(format!(
                "large packets come back from here sooner than from hop {before}, by small ones' measure: that hop is slow \
                 to make messages of large packets, or the way back is another"
            )),
        }
    }

    fn too_few(&self, hop: u8) -> String {
        let [asked, answered] = self.schedule.tally(hop);
        match self.schedule.limit(hop) {
            Some(gap) if gap > SLOWEST => {
                format!(
                    "hop {hop} answered {answered} of {asked} probes, and fewer than one in {SLOWEST} when asked more slowly"
                )
            }
            Some(gap) => format!(
                "hop {hop} limits its messages: it answers one probe in about {gap}, which gave {answered} answers in {}, too \
                 few for a line",
                self.schedule.now()
            ),
            None => format!("hop {hop} answered {answered} of {asked} probes, too few for a line"),
        }
    }

    /// What the largest probe takes by itself to each hop that told enough for a line.
    #[must_use]
    pub fn alone(&self) -> BTreeMap<u8, Alone> {
        let most = self.route.most.0 as f64;
        let alone = |Rise { line, slope, .. }| Alone {
            round_trip: line.at(most),
            // As far again as its interval reaches: this must not rule out what is right.
            links: (slope.value + 2.0 * (slope.high - slope.value)) * most,
        };
        let hops = self.route.answering().map(|stop| stop.hop);
        hops.filter_map(|hop| Some((hop, alone(self.rise(hop)?)))).collect()
    }

    /// The least round trip to a hop.
    #[must_use]
    pub fn round_trip(&self, hop: u8) -> Option<f64> {
        self.rise(hop).map(|rise| rise.least)
    }

    /// How often a hop was asked, and answered.
    #[must_use]
    pub fn tally(&self, hop: u8) -> [u64; 2] {
        self.schedule.tally(hop)
    }

    /// How far apart a hop's messages are, where it limits them.
    #[must_use]
    pub fn limit(&self, hop: u8) -> Option<Nanos> {
        self.schedule.limit(hop)
    }
}

impl HopMethod for Pathchar {
    fn next(&mut self) -> HopStep {
        if self.began {
            self.schedule.adapt();
            self.schedule.retune(self.serialisation());
        }
        self.began = true;
        if self.schedule.now() > self.patience || self.sizes.is_empty() {
            return HopStep::Done;
        }
        let needy: Vec<u8> =
            self.route.answering().map(|stop| stop.hop).filter(|hop| self.needs(*hop)).collect();
        let (sizes, turn) = (&self.sizes, &mut self.turn);
        let round = self.schedule.round(|hop| {
            needy.contains(&hop).then(|| {
                let turn = turn.entry(hop).or_default();
                // Neighbouring sizes far apart in time: what comes and goes meets all of them. 5 and SIZES have no
                // divisor in common.
                let size = sizes[*turn * 5 % sizes.len()];
                *turn += 1;
                vec![Shot::at(hop, size)]
            })
        });
        round.map_or(HopStep::Done, HopStep::Fire)
    }

    fn see(&mut self, sighting: &[Spent]) {
        let [spent] = sighting else { return };
        let Some(hop) = spent.shot.hop else { return };
        self.schedule.see(sighting);
        if self.route.is_of(spent)
            && let Some(round_trip) = spent.round_trip()
        {
            self.least.entry(hop).or_default().push(spent.shot.size, round_trip);
        }
    }
}
