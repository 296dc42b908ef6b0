//! `bart`: available bandwidth followed in real time by a Kalman filter (Ekelin, Nilsson, Hartikainen, Johnsson, Mangs,
//! Melander, Bjoerkman, NOMS 2006).
//!
//! A train sent at rate u arrives with strain eps = u / r - 1. Up to what is free there is none; above it eps = alpha u +
//! beta, with alpha one over the tight link's capacity. Trains go out at random rates; those above what is held to be
//! free correct the line, and it meets zero at A = -beta / alpha.

use super::pace::Pace;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::NORMAL;
use crate::stats::bootstrap::Indices;
use crate::stats::chance::share;
use crate::stats::quantile::{mean, standard_deviation};
use crate::stream::{rate_at, shape, spacing, spacings, stream, vantage};
use crate::train::{Departure, Observation, PathFacts};
use crate::unit::Nanos;

/// How `bart` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Packets of a train (N + 1).
    pub packets: usize,
    /// Trains.
    pub trains: usize,
    /// Pause before each.
    pub pause: Nanos,
    /// lambda: what the line may change from train to train, as a variance of strain.
    pub agility: f64,
    /// Seed of the rates.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { packets: 17, trains: 100, pause: Nanos::from_millis(50), agility: 1e-4, seed: 8 }
    }
}

/// Lowest and highest rate as shares of that at which a burst arrives.
const RANGE: (f64, f64) = (0.1, 1.5);

/// Packets of that burst.
const BURST: usize = 25;

/// The line of strain over rate, and how sure it is. Rates are shares of the burst's, so that all figures are near 1.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Line {
    alpha: f64,
    beta: f64,
    /// Covariance of both: of alpha, of both, of beta.
    doubt: [f64; 3],
}

impl Line {
    /// A line that begins at half the burst's rate, and may be anywhere.
    const START: Self = Self { alpha: 1.0, beta: -0.5, doubt: [1.0, 0.0, 1.0] };

    fn free(&self) -> f64 {
        -self.beta / self.alpha
    }

    /// One step of the filter: strain of variance `noise` was seen at `rate`.
    fn correct(&mut self, rate: f64, strain: f64, noise: f64, agility: f64) {
        let [aa, ab, bb] = self.doubt;
        let (aa, bb) = (aa + agility, bb + agility);
        // P H' with H = (rate, 1).
        let (pa, pb) = (aa * rate + ab, ab * rate + bb);
        let gain = 1.0 / (rate * pa + pb + noise);
        let (ka, kb) = (pa * gain, pb * gain);
        let wrong = strain - (self.alpha * rate + self.beta);
        self.alpha += ka * wrong;
        self.beta += kb * wrong;
        self.doubt = [aa - ka * pa, ab - ka * pb, bb - kb * pb];
    }

    /// Standard deviation of where the line meets zero, to first order.
    fn spread(&self) -> f64 {
        let [aa, ab, bb] = self.doubt;
        let (by_alpha, by_beta) = (self.beta / self.alpha.powi(2), -1.0 / self.alpha);
        let variance = by_alpha.powi(2) * aa + 2.0 * by_alpha * by_beta * ab + by_beta.powi(2) * bb;
        variance.max(0.0).sqrt()
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Bart {
    config: Config,
    facts: PathFacts,
    pace: Pace,
    sent: bool,
    line: Line,
    corrections: usize,
    lasting: f64,
    vantage: Vantage,
}

impl Bart {
    /// Its name.
    pub const NAME: &'static str = "bart";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            pace: Pace::new(BURST, facts),
            sent: false,
            line: Line::START,
            corrections: 0,
            lasting: 0.0,
            vantage: Vantage::Capture,
        }
    }

    fn learn(&mut self, observation: &Observation, around: f64) {
        let passed = crate::stream::passed(observation);
        let strains: Vec<f64> = passed
            .windows(2)
            .map(|two| (two[1].came - two[0].came) / (two[1].sent - two[0].sent).max(1.0) - 1.0)
            .collect();
        let (Some((sent, _)), Some(strain), Some(spread)) =
            (spacings(observation), mean(&strains), standard_deviation(&strains))
        else {
            return;
        };
        let rate = rate_at(self.facts.max_size, sent) / around;
        self.lasting = sent * strains.len() as f64;
        // Below what is held to be free a train says nothing of the line.
        if rate > self.line.free() {
            let noise = (spread.powi(2) / strains.len() as f64).max(1e-6);
            self.line.correct(rate, strain, noise, self.config.agility);
            self.corrections += 1;
        }
    }
}

impl Method for Bart {
    fn next(&mut self) -> Step {
        let Some(around) = self.pace.rate() else { return self.pace.ask() };
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let mut indices = Indices::new(self.config.seed);
        let size = self.facts.max_size;
        let train = |_| {
            let rate = around * (RANGE.0 + (RANGE.1 - RANGE.0) * share(&mut indices));
            let train = stream(size, spacing(size, rate), self.config.packets);
            Departure { pause: self.config.pause, train }
        };
        Step::Send((0..self.config.trains).map(train).collect())
    }

    fn see(&mut self, observation: &Observation) {
        let Some((size, hold)) = shape(observation) else { return };
        let Some(around) = self.pace.rate() else { return self.pace.see(observation) };
        if size != self.facts.max_size
            || observation.fates.len() != self.config.packets
            || hold == Nanos::ZERO
        {
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        self.learn(observation, around);
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, self.vantage);
        let Some(around) = self.pace.rate().filter(|_| self.corrections >= 3) else {
            let why = "fewer than three trains came through that were faster than what is free";
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        };
        if self.line.alpha <= 0.0 {
            let why = "strain does not grow with the rate: the filter has found no line";
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        }
        let (free, spread) = (self.line.free(), NORMAL * self.line.spread());
        let at = |share: f64| (share * around).max(0.0);
        report
            .with(
                Quantity::AvailableBandwidth,
                Finding::value(at(free), at(free - spread), at(free + spread), Unit::Bps),
            )
            .with(Quantity::AveragingTime, Finding::nanos(self.lasting, self.lasting, self.lasting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_finds_a_line() {
        // A = 0.4, C = 1: strain (u - 0.4) above it.
        let mut line = Line::START;
        for step in 0..200 {
            let rate = 0.5 + f64::from(step * 37 % 100) / 100.0;
            line.correct(rate, rate - 0.4, 1e-4, 1e-6);
        }
        assert!((line.free() - 0.4).abs() < 1e-3 && (line.alpha - 1.0).abs() < 1e-2, "{line:?}");
        assert!(line.spread() < 0.05);
    }
}
