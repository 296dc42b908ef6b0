//! `packet-pair`: two packets back to back leave the narrow link as far apart as it needs for the second (Jacobson,
//! SIGCOMM 1988; Keshav, SIGCOMM 1991; Bolot, SIGCOMM 1993), and of many pairs the most frequent rate is taken for its
//! capacity (Paxson 1997).
//!
//! What is most frequent need not be the capacity (Dovrolis, Ramanathan, Moore, ToN 2004, section III): packets of
//! others between the two make sub-capacity modes, and a queue behind the narrow link, in which the second catches up
//! with the first, makes post-narrow capacity modes. So all modes are told.

use super::modes::{Mode, modes};
use super::pair::{Pair, merged, pair, pairs_at_random, stamps};
use crate::capacity::by_a_clock;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report};
use crate::stats::quantile::{median, quartiles};
use crate::stream::occupied;
use crate::train::{Observation, PathFacts};
use crate::unit::{BitRate, Nanos};

/// How `packet-pair` probes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Pairs.
    pub pairs: usize,
    /// Mean pause before each.
    pub pause: Nanos,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Default for Config {
    /// Two hundred pairs in two seconds.
    fn default() -> Self {
        Self { pairs: 200, pause: Nanos::from_millis(10), seed: 11 }
    }
}

/// Windows are so wide, as a share of the range between the quartiles, and no narrower than what a tick of the clock
/// moves a rate by, nor than this share of the rate.
const BIN: f64 = 0.1;
const FINEST: f64 = 0.005;

/// A mode holds more than this share of all pairs (15 of 1,000: `BIN_NOISE` of pathrate 2.4.1).
const NOISE: f64 = 0.015;

/// The method.
#[derive(Clone, Debug)]
pub struct PacketPair {
    config: Config,
    facts: PathFacts,
    sent: bool,
    pairs: Vec<Pair>,
}

impl PacketPair {
    /// Its name.
    pub const NAME: &'static str = "packet-pair";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self { config, facts: *facts, sent: false, pairs: Vec::new() }
    }

    /// The modes of the rates, the fullest first.
    #[must_use]
    pub fn modes(&self) -> Vec<Mode> {
        let rates: Vec<f64> = self.pairs.iter().filter_map(Pair::rate).collect();
        let (Some(range), Some(size)) = (quartiles(&rates), self.pairs.first().map(|pair| pair.size)) else {
            return Vec::new();
        };
        let tick = range.p50 * range.p50 * self.facts.resolution.as_f64() / (occupied(size) * 1e9);
        let width = (BIN * (range.p75 - range.p25)).max(FINEST * range.p50).max(tick);
        modes(&rates, width, (NOISE * rates.len() as f64) as usize)
    }
}

impl Method for PacketPair {
    fn next(&mut self) -> Step {
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let Config { pairs, pause, seed, .. } = self.config;
        Step::Send(pairs_at_random(pairs, self.facts.max_size, pause, seed))
    }

    fn see(&mut self, observation: &Observation) {
        // Rates of several sizes would smear what is made of packets of others.
        let same = |one: &Pair| self.pairs.first().is_none_or(|first| first.size == one.size);
        self.pairs.extend(pair(observation).filter(same));
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, stamps(&self.pairs));
        let found = self.modes();
        let why = merged(&self.pairs)
            .or_else(|| found.is_empty().then(|| "no rate came up more often than by chance".to_owned()));
        let (Some(mode), None) = (found.first(), &why) else {
            let why = why.unwrap_or_default();
            return report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable(why));
        };
        let mut report = report
            .with(Quantity::NarrowLinkCapacity, by_a_clock(mode.middle(), mode.low, mode.high, &self.facts));
        if found.len() > 1 {
            let told: Vec<String> = found
                .iter()
                .take(5)
                .map(|mode| format!("{} ({})", BitRate(mode.middle() as u64), mode.count))
                .collect();
            report.warnings.push(format!(
                "pairs come at {} rates (of {}: {}); the most frequent need not be the capacity",
                found.len(),
                self.pairs.len(),
                told.join(", ")
            ));
        }
        // A NIC that gathers packets lets pairs come at almost no distance.
        let gaps: Vec<f64> = self.pairs.iter().map(|pair| pair.gap / pair.sent.max(1.0)).collect();
        if median(&gaps).is_some_and(|ratio| ratio < 1.0) {
            report.warnings.push(
                "most pairs come closer together than they were sent: the receiver gathers packets, and the rate is its own"
                    .to_owned(),
            );
        }
        report
    }
}
