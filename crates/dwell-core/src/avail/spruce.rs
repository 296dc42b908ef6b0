//! `spruce`: pairs that arrive at the tight link as it serves them (Strauss, Katabi, Kaashoek, IMC 2003).
//!
//! The second packet of a pair is sent when the tight link of capacity C is just done with the first; what came between
//! the two makes their gap longer. A = C (1 - (d_out - d_in) / d_in), averaged over pairs at Poisson times. C must be
//! known, and be the tight link's: the narrow link's, which capacity tools measure, is another where the two differ.

use super::averaged::averaged;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::bootstrap::Indices;
use crate::stats::chance::exponential;
use crate::stream::{rate_at, shape, spacing, spacings, stream, vantage};
use crate::train::{Departure, Observation, PathFacts};
use crate::unit::{BitRate, Nanos};

/// How `spruce` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Pairs of which the mean is taken.
    pub pairs: usize,
    /// Most of the path's capacity that pairs may take.
    pub share: f64,
    /// Nor do they take more than this.
    pub most: BitRate,
    /// Seed of the Poisson times.
    pub seed: u64,
}

impl Default for Config {
    /// 100 pairs; at most 5 % of the capacity and 240 kb/s (section 3.2).
    fn default() -> Self {
        Self { pairs: 100, share: 0.05, most: BitRate(240_000), seed: 7 }
    }
}

/// Of a full link the mean lies below nothing by chance; an interval that ends further below than this share of the capacity contradicts it.
const CONTRADICTED: f64 = 0.1;

/// The method.
#[derive(Clone, Debug)]
pub struct Spruce {
    config: Config,
    facts: PathFacts,
    sent: bool,
    estimates: Vec<f64>,
    unusable: usize,
    lasting: f64,
    vantage: Vantage,
}

impl Spruce {
    /// Its name.
    pub const NAME: &'static str = "spruce";

    /// Ready to probe a path of which so much is known: the narrow link's capacity, or else the end link's, stands for
    /// the tight link's.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            sent: false,
            estimates: Vec::new(),
            unusable: 0,
            lasting: 0.0,
            vantage: Vantage::Capture,
        }
    }

    fn capacity(&self) -> Option<f64> {
        let BitRate(bps) = self.facts.narrow_link.or(self.facts.end_link)?;
        (bps > 0).then_some(bps as f64)
    }
}

impl Method for Spruce {
    fn next(&mut self) -> Step {
        let Some(capacity) = self.capacity().filter(|_| !self.sent) else { return Step::Done };
        self.sent = true;
        let size = self.facts.max_size;
        let load = (self.config.share * capacity).min(self.config.most.0 as f64);
        let mean = Nanos::from_f64(2.0 * rate_at(size, load));
        let mut indices = Indices::new(self.config.seed);
        let train = stream(size, spacing(size, capacity), 2);
        let departure = |_| Departure { pause: exponential(&mut indices, mean), train: train.clone() };
        Step::Send((0..self.config.pairs).map(departure).collect())
    }

    fn see(&mut self, observation: &Observation) {
        let (Some(capacity), [_, _]) = (self.capacity(), observation.fates.as_slice()) else { return };
        let (Some((sent, came)), Some(_)) = (spacings(observation), shape(observation)) else {
            self.unusable += 1;
            return;
        };
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        // Equation (2); d_in as it was sent, not as it was asked for.
        self.estimates.push(capacity * (1.0 - (came - sent) / sent));
        self.lasting = sent;
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        let Some(capacity) = self.capacity() else {
            let why = "spruce needs the tight link's capacity, and no link's could be measured before it";
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        };
        let mut available = averaged(&self.estimates).unwrap_or_else(|| {
            Finding::unmeasurable("fewer than two pairs arrived with time between their packets")
        });
        // The authors' tool tells what is below zero as nothing. Nothing is then as far from known as the mean was.
        available = match available {
            Finding::Value { high, .. } if high < -CONTRADICTED * capacity => Finding::unmeasurable(
                "pairs came further apart than a link of that capacity sends them of which nothing is free: the tight link's is \
                     another, or hosts held packets up",
            ),
            Finding::Value { value, high, .. } if high <= 0.0 => {
                let why =
                    "pairs came as far apart as a link of that capacity sends them of which nothing is free";
                Finding::at_most(high - value, Unit::Bps, why)
            }
            Finding::Value { value, low, high, unit } => {
                Finding::value(value.max(0.0), low.max(0.0), high, unit)
            }
            other => other,
        };
        let measured = if self.facts.narrow_link.is_some() { "narrow" } else { "end" };
        report.warnings.push(format!(
            "spruce takes {} for the tight link's capacity; it was measured as the {measured} link's",
            BitRate(capacity as u64)
        ));
        if self.unusable > 0 {
            report.warnings.push(format!(
                "{} pairs did not arrive whole, or without time between their packets",
                self.unusable
            ));
        }
        report = report.with(Quantity::AvailableBandwidth, available);
        if self.lasting > 0.0 {
            report = report
                .with(Quantity::AveragingTime, Finding::nanos(self.lasting, self.lasting, self.lasting));
        }
        report
    }
}
