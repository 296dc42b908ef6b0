//! Where the receiver gathers packets: finding out how, and measuring by it.

use super::SparedRuns;
use super::crest::Crest;
use super::ruler::Ruler;
use super::runs::{LUMPY, lump, pace};
use super::verdict::{in_all, narrow_link, no_less, rates_told};
use crate::clock::CLOCK_RATE_DOUBT;
use crate::coalescence::Coalescence;
use crate::limit::Limit;
use crate::method::{Method, Step};
use crate::nic::Kind;
use crate::report::{Finding, Quantity, Report};
use crate::stats::chance::exponential;
use crate::stream::occupied;
use crate::train::{Departure, Fleet, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// Sizes of the ruler's packets, and the smallest as a share of the largest.
const SIZES: usize = 9;
const SMALLEST: f64 = 0.4;

/// Trains of the ruler's first round; each later one has as many as all before it together.
const FIRST: usize = 60;

/// Its trains are short, so they follow each other so many times as fast as others.
const OFTEN: i64 = 60;

/// The test takes no longer.
const TESTING: Nanos = Nanos::from_millis(850);

/// Bursts that last so many periods take no more than so many times what the narrow link needs.
const LASTING: f64 = 3.0;
const LONGER: f64 = 5.0;

/// Half width of an interval, and share of what could speak for it, that are enough to stop.
const SURE: f64 = 0.004;
const CLEAR: f64 = 0.3;

/// What is told without a doubt has so many trains and so large a share behind it, so many nats more than anything else, and
/// sizes that agree.
const TRAINS: usize = 8;
const SHARE: f64 = 0.12;
const LEAD: f64 = 4.0;
const AGREE: f64 = 0.05;
const NARROW: f64 = 0.05;
/// Of the shortest runs so many must be untouched: a queue of constant traffic leaves none, and all trains alike.
const UNTOUCHED: f64 = 0.25;
/// Untouched trains agree to within this share of a packet's time.
const SCATTER: f64 = 0.05;

impl SparedRuns {
    /// Sizes for the ruler. A train's start is tied to that of its packet ahead, and to its size by the number of packets that
    /// end with the period: of one or two sizes none might ever meet a gap of traffic that keeps time with itself.
    fn ruled_sizes(&self) -> Vec<Bytes> {
        let PathFacts { min_size, max_size, .. } = self.facts;
        let size = |place: usize| {
            let share = 1.0 - (1.0 - SMALLEST) * place as f64 / (SIZES - 1) as f64;
            Bytes((share * max_size.0 as f64) as u64).max(min_size)
        };
        let mut sizes: Vec<Bytes> = (0..SIZES).map(size).collect();
        sizes.dedup();
        sizes
    }

    /// Trains that show how the receiver gathers packets; `None`: it does not, or that is known as far as it can be.
    pub(super) fn listen(&mut self) -> Option<Fleet> {
        if self.trains.is_empty() || self.rounds > 0 || self.ruler.is_some() {
            return None;
        }
        let pace = pace(self.full());
        if pace.is_some_and(|pace| lump(self.full(), pace) <= LUMPY) {
            return None;
        }
        let facts = &self.facts;
        let ears = self.ears.get_or_insert_with(|| Coalescence::new(Default::default(), facts));
        if let Step::Send(fleet) = ears.next()
            && self.planned < self.config.lasting
        {
            self.planned += fleet.iter().map(|departure| departure.pause).sum();
            return Some(fleet);
        }
        let heard = ears.coalesced().zip(ears.fit());
        let slope = self.burst_slope().unwrap_or(0.0);
        self.ruler = heard.and_then(|(coalesced, fit)| match coalesced.kind {
            Kind::None => None,
            Kind::Adaptive => Some(Ruler::of_adaptive(coalesced.period.as_f64(), self.facts.min_size, slope)),
            Kind::Hold | Kind::Throttle | Kind::Deferred => Ruler::of(&fit),
        });
        None
    }

    /// Whether a train was for the ears or the ruler.
    pub(super) fn hears(&mut self, observation: &Observation) -> bool {
        let smallest = observation.fates.iter().all(|fate| fate.packet.size == self.facts.min_size);
        match (&mut self.ears, &mut self.ruler) {
            (Some(ears), _) if smallest => ears.see(observation),
            (_, Some(ruler)) => return ruler.see(observation),
            _ => return false,
        }
        true
    }

    /// The next trains of the ruler, where there is one; empty: it is done.
    pub(super) fn measure(&mut self) -> Option<Fleet> {
        let sizes = self.ruled_sizes();
        let found = self.ruled_by(&sizes);
        let ruler = self.ruler.as_mut()?;
        let sure = |found: &Crest| found.slope.half_width() < SURE * found.slope.value && found.share > CLEAR;
        let done =
            self.planned >= self.config.lasting || (self.rounds > 1 && found.as_ref().is_some_and(sure));
        let slope = found.map(|found| found.slope.value).filter(|slope| *slope > 0.0);
        let count = FIRST << self.rounds.saturating_sub(1).min(5);
        self.rounds += 1;
        let chance = &mut self.chance;
        let trains: Vec<Train> = match slope {
            Some(slope) if done => ruler.test(&sizes, slope, chance),
            None if done => Vec::new(),
            _ => (0..count)
                .map(|place| ruler.train(place / sizes.len(), sizes[place % sizes.len()], slope, chance))
                .collect(),
        };
        // What packets take of the link, as far as it is known.
        let (rest, rousing) = (ruler.rest(), ruler.rousing());
        let known = slope.or_else(|| self.burst_slope()).unwrap_or(0.0);
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let until = if done { self.planned + TESTING } else { self.config.lasting };
        let mut fleet = Fleet::new();
        for train in trains {
            let lasts: f64 = train.packets.iter().map(|packet| known * occupied(packet.size)).sum();
            let mean = (self.config.pause / OFTEN).max(Nanos::from_f64(lasts / share));
            let pause = rest + exponential(&mut self.chance, mean);
            self.planned += pause + rousing;
            if self.planned > until && !fleet.is_empty() {
                break;
            }
            fleet.push(Departure { pause, train });
        }
        Some(fleet)
    }

    /// Nanoseconds a bit of the bursts that came first.
    fn burst_slope(&self) -> Option<f64> {
        Some(pace(self.full())? / occupied(self.facts.max_size))
    }

    /// Nanoseconds.
    fn tick(&self) -> f64 {
        self.facts.resolution.as_f64().max(1.0)
    }

    fn ruled_by(&self, sizes: &[Bytes]) -> Option<Crest> {
        let ruler = self.ruler.as_ref()?;
        let lasting = |slope: &f64| {
            self.longest() as f64 * slope * occupied(self.facts.max_size) > LASTING * ruler.period()
        };
        let least = self.burst_slope().filter(lasting).map_or(0.0, |slope| slope / LONGER);
        let range = least..=f64::INFINITY;
        ruler.crest(sizes, self.tick(), &range, self.config.seed)
    }

    /// What the ruler says, where there is one.
    pub(super) fn ruled(&self) -> Option<Report> {
        let ruler = self.ruler.as_ref()?;
        let report = Report::new(Self::NAME, ruler.vantage());
        if ruler.is_untimely(self.tick()) {
            let why = "the receiver gathers packets, and lumps of them come when no period of it ends: what it waits for was not found";
            return Some(untold(report, why));
        }
        let sizes = self.ruled_sizes();
        let Some(found) = self.ruled_by(&sizes) else {
            let why = "the receiver gathers packets, and none of the trains that end with its period showed where it cuts";
            return Some(report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable(why)));
        };
        let mut report = report;
        let halves = sizes.split_at(sizes.len().div_ceil(2));
        let alone: Vec<f64> = [halves.0, halves.1]
            .into_iter()
            .filter_map(|sizes| Some(self.ruled_by(sizes)?.slope.value))
            .collect();
        // A tick of the clock is in the gap of every packet where it is a multiple of it.
        let (tick, mut slope) = (self.tick() / occupied(self.facts.max_size), found.slope);
        slope.low = (alone.iter().copied().fold(slope.low, f64::min) - tick).max(slope.value / 2.0);
        slope.high = alone.iter().copied().fold(slope.high, f64::max) + tick;
        let is_vague = found.share < SHARE || found.slope.half_width() > NARROW * slope.value;
        if is_vague || found.trains < TRAINS || found.lead < LEAD || found.scatter > SCATTER {
            report.warnings.push(format!(
                "the receiver gathers packets, and cross traffic spared few of the trains that its period can measure ({} trains, \
                 {:.0} % of what could speak for it): measure again",
                found.trains,
                found.share * 100.0
            ));
        }
        let is_apart = alone.len() < 2 || alone.iter().any(|one| (one / slope.value - 1.0).abs() > AGREE);
        let why = if found.woven {
            Some(
                "two packets agree on this less often than longer runs: others' packets are in all of these, in step",
            )
        } else if ruler.strained(&sizes, self.tick()) {
            Some("trains a little slower than this came slower still: others' packets are in all of these")
        } else {
            None
        };
        // No packet comes before its time, but it seems to where a period was longer than it is taken for: of one that depends on what came
        // before, trains that do not agree tell not even a bound.
        if is_vague && ruler.is_adaptive() && (why.is_some() || is_apart) {
            let why = "the receiver gathers packets, and too few trains agree on how many came while it does";
            return Some(untold(report, why));
        }
        if let Some(why) = why {
            let why = format!("the receiver gathers packets, and {why}");
            return Some(in_all(report, 1e9 / slope.high * (1.0 - CLOCK_RATE_DOUBT), &why));
        }
        if found.untouched < UNTOUCHED {
            report.warnings.push(format!(
                "the receiver gathers packets, and only {:.0} % of the shortest runs agree with the longer ones: others' packets \
                 may be in all of these, and the narrow link faster",
                found.untouched * 100.0
            ));
        }
        if is_apart {
            report.warnings.push(rates_told(&alone));
            return Some(no_less(report, &slope));
        }
        Some(narrow_link(report, slope))
    }
}

/// Of a NIC whose lumps are no measure.
fn untold(report: Report, why: &str) -> Report {
    report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable(why)).limited(Limit::Unstable, why)
}
