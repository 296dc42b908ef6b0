//! `pathrate`: of the rates that pairs crowd at, the one that long trains allow (Dovrolis, Ramanathan, Moore, IEEE/ACM ToN
//! 12(6), 2004; constants of their program, version 2.4.1, where the paper leaves them open).
//!
//! 1. How long a train may be without loss; then seven trains of each length from two to ten. Where all agree (coefficient of
//!    variation below 5 %), their mean is the capacity: quick termination.
//! 2. Phase I: 1,000 pairs of 40 sizes. Packets of others move pairs to other rates, but to a different one at each size;
//!    the capacity's mode stays.
//! 3. Phase II: 500 of the longest trains. Their rate, the asymptotic dispersion rate (ADR), lies below the capacity.
//! 4. Of the modes of phase I above the ADR, the one with the greatest merit is the capacity: the share of pairs in its
//!    fullest window times the kurtosis of its bell. Where there is none, the ADR's own mode.
//!
//! The authors' program waits half a second before each train, and runs for a quarter of an hour; the pause here is a
//! twenty-fifth of that, but no less than what keeps trains apart on slow links.

mod phases;

use super::modes::{Mode, modes};
use crate::capacity::by_a_clock;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Vantage};
use crate::stream::{rate_at, shape, spacings, vantage};
use crate::train::{Observation, PathFacts};
use crate::unit::{Bytes, Nanos};
use phases::{Phase, Spread};

/// So many rates at either end count for nothing: of the first trains, and of the long ones (as 2.4.1 has it).
const OUTER_FIRST: usize = 5;
const OUTER_LONG: usize = 10;

/// How `pathrate` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// The longest train that is tried (`MAX_TRAIN_LEN`).
    pub longest: usize,
    /// Trains of each length from two to ten (2.4.1: 7).
    pub first: usize,
    /// Pairs of phase I (`NO_TRAINS_P1`) ...
    pub pairs: usize,
    /// ... and how many sizes they have.
    pub sizes: usize,
    /// Smallest packets of phase I (`MIN_PACK_SZ_P1`, 572 bytes of UDP payload, and all headers).
    pub smallest: Bytes,
    /// Trains of phase II (`NO_TRAINS_P2`).
    pub trains: usize,
    /// Coefficient of variation below which trains agree (`COEF_VAR_THR`).
    pub agreeing: f64,
    /// A mode holds more values than this share of its phase (`BIN_NOISE`: 15 of 1,000).
    pub noise: f64,
    /// Pause before a train.
    pub pause: Nanos,
}

impl Default for Config {
    /// The authors', but for the pause.
    fn default() -> Self {
        Self {
            longest: 50,
            first: 7,
            pairs: 1_000,
            sizes: 40,
            smallest: Bytes(626),
            trains: 500,
            agreeing: 0.05,
            noise: 0.015,
            pause: Nanos::from_millis(20),
        }
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Pathrate {
    config: Config,
    facts: PathFacts,
    phase: Phase,
    /// The longest train that came through whole.
    length: usize,
    /// Nanoseconds that a full packet takes, by the first trains.
    pace: f64,
    /// Rates of the first trains, of pairs, and of long trains.
    first: Vec<f64>,
    pairs: Vec<f64>,
    long: Vec<f64>,
    /// Trains that came all at once, and all trains.
    together: usize,
    seen: usize,
    vantage: Vantage,
}

impl Pathrate {
    /// Its name.
    pub const NAME: &'static str = "pathrate";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            phase: Phase::Length,
            length: 2,
            pace: 0.0,
            first: Vec::new(),
            pairs: Vec::new(),
            long: Vec::new(),
            together: 0,
            seen: 0,
            vantage: Vantage::Capture,
        }
    }

    /// The first trains' mean and spread.
    fn spread(&self) -> Option<Spread> {
        Spread::of(&self.first, OUTER_FIRST)
    }

    /// Whether the first trains agree so well that their mean is the answer.
    fn quick(&self) -> bool {
        self.spread().is_some_and(|spread| spread.deviation < self.config.agreeing * spread.mean)
    }

    fn modes(&self, rates: &[f64]) -> Vec<Mode> {
        let width = self.spread().map_or(0.0, |spread| spread.bin);
        modes(rates, width, (self.config.noise * rates.len() as f64) as usize)
    }

    /// The asymptotic dispersion rate and its range: the mode of the long trains with the greatest merit.
    fn dispersion_rate(&self) -> Option<(f64, f64, f64)> {
        let found = self.modes(&self.long);
        if let [_, _, ..] = found[..] {
            let best = found.iter().max_by(|a, b| merit(a).total_cmp(&merit(b)))?;
            return Some((best.middle(), best.low, best.high));
        }
        let spread = Spread::of(&self.long, OUTER_LONG)?;
        Some((spread.mean, (spread.mean - spread.deviation).max(0.0), spread.mean + spread.deviation))
    }

    fn capacity(&self) -> Finding {
        if self.together * 2 > self.seen {
            return Finding::unmeasurable(format!(
                "{} of {} trains came all at once: the receiver's NIC or kernel hands on several packets at a time",
                self.together, self.seen
            ));
        }
        if let Some(Spread { mean, bin, .. }) = self.spread().filter(|_| self.quick()) {
            return by_a_clock(mean, mean - bin / 2.0, mean + bin / 2.0, &self.facts);
        }
        let Some((rate, _, _)) = self.dispersion_rate() else {
            return Finding::unmeasurable("too few trains came through whole");
        };
        let above = self.modes(&self.pairs).into_iter().filter(|mode| mode.high > rate);
        match above.max_by(|a, b| merit(a).total_cmp(&merit(b))) {
            Some(mode) => by_a_clock(mode.middle(), mode.low, mode.high, &self.facts),
            None => {
                let half = self.spread().map_or(0.0, |spread| spread.bin / 2.0);
                by_a_clock(rate, rate - half, rate + half, &self.facts)
            }
        }
    }
}

/// How good a mode is, but for the share that one value is.
fn merit(mode: &Mode) -> f64 {
    mode.count as f64 * mode.kurtosis
}

impl Method for Pathrate {
    fn next(&mut self) -> Step {
        self.ask()
    }

    fn see(&mut self, observation: &Observation) {
        let Some((size, Nanos::ZERO)) = shape(observation) else { return };
        self.seen += 1;
        let whole = observation.fates.iter().all(|fate| fate.arrival.is_some());
        let Some((_, came)) = spacings(observation) else {
            self.together += usize::from(whole);
            return;
        };
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        let rate = rate_at(size, came);
        let packets = observation.fates.len();
        let full = size == self.facts.max_size;
        match self.phase {
            Phase::Length | Phase::First => {
                self.length = self.length.max(packets);
                self.pace = self.pace.max(came);
                self.first.push(rate);
            }
            // Of a record, whatever it holds.
            Phase::Pairs | Phase::Over if packets == 2 => self.pairs.push(rate),
            Phase::Trains | Phase::Over if packets > 2 && full => self.long.push(rate),
            _ => (),
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        let rate = match self.dispersion_rate() {
            Some((rate, low, high)) => by_a_clock(rate, low, high, &self.facts),
            None if self.quick() => Finding::unmeasurable("short trains agreed: no long ones were sent"),
            None => Finding::unmeasurable("too few long trains came through whole"),
        };
        let long = self.modes(&self.long).len();
        if long > 1 {
            report.warnings.push(format!(
                "long trains come at {long} rates: the dispersion rate may be wrong; the authors say to run it again later"
            ));
        }
        report.with(Quantity::NarrowLinkCapacity, self.capacity()).with(Quantity::DispersionRate, rate)
    }
}
