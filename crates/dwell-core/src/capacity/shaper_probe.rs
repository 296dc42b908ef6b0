//! `shaper-probe`: whether a shaper on the path lets a burst pass faster than what follows (Kanuparthy and Dovrolis,
//! "ShaperProbe", IMC 2011).
//!
//! A token bucket holds sigma bytes and gets rho more a second. Of packets that come faster than rho, the first pass at the
//! rate of the link, until the bucket is empty, and the others at rho. The original sends at the capacity for ten
//! seconds, takes the rate of each 300 ms of what arrives, and looks for the one time at which the rates fall for good
//! (sections 3.1 and 3.2). Here a burst takes the place of the seconds: it is sent back to back, four times as long
//! each time until one shows a fall, or is as long as may be; and that length is sent twice more: a bucket empties at
//! the same place each time, and the traffic of others does not. What passed before the fall tells the depth, `sigma = k L (1 - rho
//! / R)`, for while k packets passed at R, more tokens came. A bucket that drops what is too much, a policer, is told by its
//! losses, which are regular.
//!
//! A fall counts only where the sender went on faster than what arrived: otherwise it is the sender's.

use crate::bucket::fall::{FASTER, Fall, GAMMA, alike, fall, unseen};
use crate::limit::Limit;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::quantile::{median, sorted};
use crate::stream::{loss, passed, rate_at, vantage};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How `shaper-probe` probes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets of the first burst.
    pub first: usize,
    /// Packets of the longest.
    pub longest: usize,
    /// Pause before each, in which a bucket fills.
    pub pause: Nanos,
}

impl Default for Config {
    /// Up to 3 MB.
    fn default() -> Self {
        Self { first: 32, longest: 2_048, pause: Nanos::from_millis(500) }
    }
}

/// Each burst is so many times as long as the last.
const LONGER: usize = 4;

/// The length that showed a fall is sent so often.
const AGAIN: usize = 3;

/// All of those show a fall, at places no further apart than by this factor, to rates no further apart than by gamma.
const PLACE: f64 = 1.3;

/// The method.
#[derive(Clone, Debug)]
pub struct ShaperProbe {
    config: Config,
    facts: PathFacts,
    packets: usize,
    /// Of bursts of this length.
    falls: Vec<Fall>,
    sent: usize,
    /// Nanoseconds a packet of the last burst.
    pace: Option<f64>,
    /// Share of it that was lost.
    lost: f64,
    /// What of it arrived.
    arrived: Bytes,
    /// It arrived as it was sent.
    as_sent: bool,
    vantage: Vantage,
}

impl ShaperProbe {
    /// Its name.
    pub const NAME: &'static str = "shaper-probe";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            packets: 0,
            falls: Vec::new(),
            sent: 0,
            pace: None,
            lost: 0.0,
            arrived: Bytes(0),
            as_sent: false,
            vantage: Vantage::Capture,
        }
    }

    fn rate(&self, per_packet: f64) -> f64 {
        rate_at(self.facts.max_size, per_packet)
    }

    /// Whether all bursts of this length fell alike.
    fn alike(&self) -> bool {
        self.falls.len() == AGAIN && alike(&self.falls, PLACE, GAMMA)
    }

    /// A figure of the falls that were seen: the median, with the least and the greatest around it.
    fn of_falls(&self, unit: Unit, figure: impl Fn(&Fall) -> f64) -> Option<Finding> {
        let figures = sorted(&self.falls.iter().map(figure).collect::<Vec<_>>());
        Some(Finding::value(median(&figures)?, *figures.first()?, *figures.last()?, unit))
    }

    /// The depth of the bucket: as far apart as single falls leave it, and as they differ.
    fn depth(&self) -> Option<Finding> {
        let depths: Vec<(f64, f64)> =
            self.falls.iter().map(|fall| fall.depths(self.facts.max_size)).collect();
        let low = depths.iter().map(|(least, _)| *least).reduce(f64::min)?;
        let high = depths.iter().map(|(_, most)| *most).reduce(f64::max)?;
        let middle =
            median(&depths.iter().map(|(least, most)| f64::midpoint(*least, *most)).collect::<Vec<_>>())?;
        Some(Finding::value(middle, low, high, Unit::Bytes))
    }
}

impl Method for ShaperProbe {
    fn next(&mut self) -> Step {
        if self.packets == 0 {
            self.packets = self.config.first;
        } else if self.falls.len() < self.sent || self.sent == AGAIN {
            if self.alike() || self.packets >= self.config.longest {
                return Step::Done;
            }
            self.packets = (self.packets * LONGER).min(self.config.longest);
            self.falls.clear();
            self.sent = 0;
        }
        self.sent += 1;
        let train = Train::burst(self.facts.max_size, self.packets);
        Step::Send(vec![Departure { pause: self.config.pause, train }])
    }

    fn see(&mut self, observation: &Observation) {
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        let passed = passed(observation);
        let Some(last) = passed.last().filter(|_| passed.len() > 1) else { return };
        let gaps = (passed.len() - 1) as f64;
        self.pace = Some(last.came / gaps).filter(|pace| *pace > 0.0);
        self.lost = loss(observation);
        self.arrived = Bytes(self.facts.max_size.0.saturating_mul(passed.len() as u64));
        self.as_sent = self.lost == 0.0 && last.came < last.sent * FASTER;
        self.falls.extend(fall(&passed));
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, self.vantage);
        let size = self.facts.max_size;
        let Some(pace) = self.pace else {
            let none = || Finding::unmeasurable("no burst arrived");
            return report.with(Quantity::TokenRate, none()).with(Quantity::BucketDepth, none());
        };
        let peak = self.of_falls(Unit::Bps, |fall| self.rate(fall.before));
        let token = self.of_falls(Unit::Bps, |fall| fall.rate(size));
        let deep = self.depth();
        if let (Some(peak), Some(token), Some(deep), true) = (peak, token, deep, self.alike()) {
            return report
                .with(Quantity::DispersionRate, peak)
                .with(Quantity::TokenRate, token)
                .with(Quantity::BucketDepth, deep)
                .limited(Limit::TokenBucket, self.falls[0].reason());
        }
        let sent = Bytes(size.0.saturating_mul(self.packets as u64));
        let rate = self.rate(pace);
        let lost = format!("{:.0} % of {sent} at once was lost", self.lost * 100.0);
        let dispersion = if self.lost > 0.0 {
            // What was lost took time of the link, or did not.
            Finding::at_least(rate, Unit::Bps, lost.clone())
        } else {
            Finding::value(rate, rate, rate, Unit::Bps)
        };
        let report = report.with(Quantity::DispersionRate, dispersion);
        let (why, limit) = if self.lost > 0.0 {
            (format!("{lost}, and what arrived shows no bucket; {}", unseen(self.arrived)), Limit::Link)
        } else if self.as_sent {
            (
                format!("the sender makes no faster bursts: {sent} arrived as they were sent"),
                Limit::SenderLimited,
            )
        } else {
            (format!("{sent} at once passed at one rate: a link, or a deeper bucket"), Limit::Link)
        };
        report
            .with(Quantity::TokenRate, Finding::unmeasurable(why.clone()))
            .with(Quantity::BucketDepth, Finding::unmeasurable(why.clone()))
            .limited(limit, why)
    }
}
