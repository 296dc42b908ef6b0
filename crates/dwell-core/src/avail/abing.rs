//! `abing`: pairs, and the cross traffic that came between their packets (Navratil and Cottrell, ABwE, PAM 2003).
//!
//! Pairs of 1,450 bytes, 20 of them 50 ms apart. The dispersion T_d of a pair that nothing parted is that of the capacity
//! (the authors' DBC); with the packet's own share T_n of a longer one, q = (T_d - T_n) / T_n and u = q / (q + 1), what is
//! free is (1 - u) DBC.

use super::averaged::averaged;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Vantage};
use crate::stats::quantile::quantile;
use crate::stream::{occupied, shape, spacings, vantage};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{Bytes, ETHERNET_OVERHEAD, Nanos};

/// How `abing` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Pairs.
    pub pairs: usize,
    /// Between two of them.
    pub pause: Nanos,
    /// Size of each packet's IP part.
    pub size: Bytes,
    /// The dispersions below this quantile are taken for those that nothing parted.
    pub unparted: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { pairs: 20, pause: Nanos::from_millis(50), size: Bytes(1_450), unparted: 0.1 }
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Abing {
    config: Config,
    facts: PathFacts,
    sent: bool,
    /// Nanoseconds.
    dispersions: Vec<f64>,
    vantage: Vantage,
}

impl Abing {
    /// Its name.
    pub const NAME: &'static str = "abing";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self { config, facts: *facts, sent: false, dispersions: Vec::new(), vantage: Vantage::Capture }
    }

    fn size(&self) -> Bytes {
        (self.config.size + ETHERNET_OVERHEAD).max(self.facts.min_size).min(self.facts.max_size)
    }
}

impl Method for Abing {
    fn next(&mut self) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let train = Train::burst(self.size(), 2);
        Step::Send(vec![Departure { pause: self.config.pause, train }; self.config.pairs])
    }

    fn see(&mut self, observation: &Observation) {
        let (Some((_, came)), Some((size, Nanos::ZERO))) = (spacings(observation), shape(observation)) else {
            return;
        };
        if observation.fates.len() != 2 || size != self.size() {
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        self.dispersions.push(came);
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, self.vantage);
        let bits = occupied(self.size()) * 1e9;
        let Some(own) = quantile(&self.dispersions, self.config.unparted).filter(|own| *own > 0.0) else {
            return report.with(
                Quantity::AvailableBandwidth,
                Finding::unmeasurable("no pair came through whole, with time between its packets"),
            );
        };
        let capacity = bits / own;
        let free = |came: &f64| {
            let q = ((came - own) / own).max(0.0);
            (1.0 - q / (q + 1.0)) * capacity
        };
        let rates: Vec<f64> = self.dispersions.iter().map(free).collect();
        let few = || {
            Finding::unmeasurable("fewer than two pairs came through whole, with time between their packets")
        };
        report
            .with(Quantity::AvailableBandwidth, averaged(&rates).unwrap_or_else(few))
            .with(Quantity::AveragingTime, Finding::nanos(own, own, own))
    }
}
