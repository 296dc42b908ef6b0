//! `cprobe`: the rate at which short trains arrive (Carter and Crovella, Performance Evaluation 27-28, 1996).
//!
//! Its authors took it for what is free. It is not: it is the asymptotic dispersion rate, which lies between what is free
//! and the capacity (Dovrolis, Ramanathan, Moore, IEEE/ACM ToN 12(6), 2004), and it is reported as that. Two bounds
//! follow from it.

use super::averaged::averaged;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Side, Unit, Vantage};
use crate::stream::{rate_at, shape, spacings, vantage};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::Nanos;

/// How `cprobe` probes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets of a train, back to back.
    pub packets: usize,
    /// Trains of which the mean is taken.
    pub trains: usize,
    /// Pause before each.
    pub pause: Nanos,
}

impl Default for Config {
    /// Four trains of ten packets.
    fn default() -> Self {
        Self { packets: 10, trains: 4, pause: Nanos::from_millis(50) }
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Cprobe {
    config: Config,
    facts: PathFacts,
    sent: bool,
    rates: Vec<f64>,
    vantage: Vantage,
}

impl Cprobe {
    /// Its name.
    pub const NAME: &'static str = "cprobe";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self { config, facts: *facts, sent: false, rates: Vec::new(), vantage: Vantage::Capture }
    }
}

impl Method for Cprobe {
    fn next(&mut self) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let train = Train::burst(self.facts.max_size, self.config.packets);
        Step::Send(vec![Departure { pause: self.config.pause, train }; self.config.trains])
    }

    fn see(&mut self, observation: &Observation) {
        let (Some((_, came)), Some((size, Nanos::ZERO))) = (spacings(observation), shape(observation)) else {
            return;
        };
        if observation.fates.len() < 3 {
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        self.rates.push(rate_at(size, came));
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, self.vantage);
        let Some(rate) = averaged(&self.rates) else {
            let none = || {
                Finding::unmeasurable(
                    "fewer than two trains came through whole, with time between their packets",
                )
            };
            return report
                .with(Quantity::DispersionRate, none())
                .with(Quantity::AvailableBandwidth, none())
                .with(Quantity::NarrowLinkCapacity, none());
        };
        let bound = |side, bound, what: &str| Finding::Bound {
            bound,
            side,
            unit: Unit::Bps,
            reason: format!("trains back to back arrive faster than what is free, and no faster than {what}"),
        };
        let (low, high) = match rate {
            Finding::Value { low, high, .. } => (low, high),
            _ => return report.with(Quantity::DispersionRate, rate),
        };
        report
            .with(Quantity::DispersionRate, rate)
            .with(Quantity::AvailableBandwidth, bound(Side::Upper, high, "the narrow link carries"))
            .with(Quantity::NarrowLinkCapacity, bound(Side::Lower, low, "the narrow link carries"))
    }
}
