//! `nettimer`: packet pair with a kernel density filter (Lai and Baker, INFOCOM 1999 and USITS 2001).
//!
//! This is the part of nettimer that both ends of a path can do (receiver based packet pair). Its other part, packet
//! tailgating (SIGCOMM 2000), tells each link's capacity with packets that routers drop on the way: see `pathchar` and
//! `segment`.
//!
//! Each pair gives a received and a sent rate. Three figures weigh a received rate x: how many others lie near (a
//! triangular kernel as wide as a share of x), how much slower it came than it was sent (a pair that came as fast as it was
//! sent shows the sender), and how recent it is. The x of the greatest sum is the capacity.

use super::pair::{Pair, merged, pair, pairs_at_random, stamps};
use crate::capacity::by_a_clock;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report};
use crate::stats::Estimate;
use crate::stats::bootstrap::interval;
use crate::stream::rate_at;
use crate::train::{Observation, PathFacts};
use crate::unit::Nanos;

/// How `nettimer` probes and filters.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Pairs.
    pub pairs: usize,
    /// Mean pause before each.
    pub pause: Nanos,
    /// The kernel's half width, as a share of the rate.
    pub kernel: f64,
    /// Weights of density, of the ratio of received to sent rate, and of recency.
    pub weights: [f64; 3],
    /// Seed of the pauses.
    pub seed: u64,
}

impl Default for Config {
    /// The authors' kernel of a tenth and weights of 0.4, 0.3 and 0.3. They watch traffic that is there; we send pairs.
    fn default() -> Self {
        Self { pairs: 200, pause: Nanos::from_millis(10), kernel: 0.1, weights: [0.4, 0.3, 0.3], seed: 13 }
    }
}

/// One pair's rates and its age, as a share of all.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Sample {
    received: f64,
    sent: f64,
    recency: f64,
}

/// Resamples of the interval.
const RESAMPLES: usize = 100;

/// The method.
#[derive(Clone, Debug)]
pub struct Nettimer {
    config: Config,
    facts: PathFacts,
    sent: bool,
    pairs: Vec<Pair>,
}

impl Nettimer {
    /// Its name.
    pub const NAME: &'static str = "nettimer";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self { config, facts: *facts, sent: false, pairs: Vec::new() }
    }

    fn samples(&self) -> Vec<Sample> {
        let last = self.pairs.len().saturating_sub(1).max(1) as f64;
        let sample = |(place, pair): (usize, &Pair)| {
            // Back to back: the sender's stamps need not tell them apart.
            let sent = rate_at(pair.size, pair.sent.max(1.0));
            Some(Sample { received: pair.rate()?, sent, recency: place as f64 / last })
        };
        self.pairs.iter().enumerate().filter_map(sample).collect()
    }

    /// The received rate of the greatest weight.
    fn weightiest(&self, samples: &[Sample]) -> Option<f64> {
        // A rate above the one that it was sent at was compressed behind the narrow link.
        let usable: Vec<Sample> =
            samples.iter().copied().filter(|one| one.received <= one.sent && one.received > 1.0).collect();
        let density = |x: f64| -> f64 {
            let near = |one: &Sample| (1.0 - ((x - one.received) / (self.config.kernel * x)).abs()).max(0.0);
            usable.iter().map(near).sum()
        };
        let densest = usable.iter().map(|one| density(one.received)).fold(0.0, f64::max);
        let [by_density, by_ratio, by_recency] = self.config.weights;
        let weight = |one: &Sample| {
            let ratio = 1.0 - one.received.ln() / one.sent.ln();
            by_density * density(one.received) / densest + by_ratio * ratio + by_recency * one.recency
        };
        let weighed = usable.iter().map(|one| (weight(one), one.received));
        weighed.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate)
    }
}

impl Method for Nettimer {
    fn next(&mut self) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let Config { pairs, pause, seed, .. } = self.config;
        Step::Send(pairs_at_random(pairs, self.facts.max_size, pause, seed))
    }

    fn see(&mut self, observation: &Observation) {
        self.pairs.extend(pair(observation));
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, stamps(&self.pairs));
        let samples = self.samples();
        let found = interval(&samples, RESAMPLES, self.config.seed, |samples| self.weightiest(samples));
        let finding = match (merged(&self.pairs), found) {
            (Some(why), _) => Finding::unmeasurable(why),
            (None, Some(Estimate { value, low, high })) => by_a_clock(value, low, high, &self.facts),
            (None, None) => Finding::unmeasurable("no pair came slower than it was sent"),
        };
        report.with(Quantity::NarrowLinkCapacity, finding)
    }
}
