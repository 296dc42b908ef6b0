//! `topp`: trains of pairs at rates that grow in equal steps (Melander, Bjoerkman, Gunningberg, Globecom 2000).
//!
//! A pair offered at rate o arrives at m. Up to what is free o / m is 1; above it o / m = (1 - A / C) + o / C, a line
//! whose slope is one over the tight link's capacity, and which leaves 1 at o = A.

use super::pace::Pace;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::change_point::{Slope, two_regimes};
use crate::stats::slope::least_squares;
use crate::stream::{rate_at, shape, spacing, spacings, stream, vantage};
use crate::train::{Departure, Observation, PathFacts};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// How `topp` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Rates, in equal steps.
    pub rates: usize,
    /// Pairs at each rate.
    pub pairs: usize,
    /// Lowest and highest rate, as shares of the rate at which a burst arrives.
    pub range: (f64, f64),
    /// Pause before each pair.
    pub pause: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        Self { rates: 20, pairs: 20, range: (0.1, 1.5), pause: Nanos::from_millis(10) }
    }
}

/// Packets of the burst around whose rate the range lies.
const BURST: usize = 25;

/// The method.
#[derive(Clone, Debug)]
pub struct Topp {
    config: Config,
    facts: PathFacts,
    pace: Pace,
    sent: bool,
    /// Spacings as they were asked for, and of each the rates offered and measured.
    pairs: BTreeMap<Nanos, Vec<(f64, f64)>>,
    vantage: Vantage,
}

impl Topp {
    /// Its name.
    pub const NAME: &'static str = "topp";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            pace: Pace::new(BURST, facts),
            sent: false,
            pairs: BTreeMap::new(),
            vantage: Vantage::Capture,
        }
    }

    /// Offered rate, and offered over measured, of each rate: measured rates are averaged by their gaps.
    fn points(&self) -> Vec<(f64, f64)> {
        let point = |pairs: &Vec<(f64, f64)>| {
            let count = pairs.len() as f64;
            let sent: f64 = pairs.iter().map(|(sent, _)| sent).sum::<f64>() / count;
            let came: f64 = pairs.iter().map(|(_, came)| came).sum::<f64>() / count;
            (rate_at(self.facts.max_size, sent), came / sent)
        };
        self.pairs.values().map(point).collect()
    }
}

impl Method for Topp {
    fn next(&mut self) -> Step {
        let Some(around) = self.pace.rate() else { return self.pace.ask() };
        if std::mem::replace(&mut self.sent, true) {
            return Step::Done;
        }
        let (low, high) = self.config.range;
        let steps = self.config.rates.saturating_sub(1).max(1) as f64;
        let rate = |step: usize| around * (low + (high - low) * step as f64 / steps);
        let size = self.facts.max_size;
        let pair = |step: usize| Departure {
            pause: self.config.pause,
            train: stream(size, spacing(size, rate(step)), 2),
        };
        let pairs = (0..self.config.rates).flat_map(|step| vec![pair(step); self.config.pairs]);
        Step::Send(pairs.collect())
    }

    fn see(&mut self, observation: &Observation) {
        if self.pace.rate().is_none() {
            return self.pace.see(observation);
        }
        let (Some((sent, came)), Some((size, hold)), [_, _]) =
            (spacings(observation), shape(observation), observation.fates.as_slice())
        else {
            return;
        };
        if size != self.facts.max_size || sent <= 0.0 {
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        self.pairs.entry(hold).or_default().push((sent, came));
    }

    fn report(&self) -> Report {
        let report = Report::new(Self::NAME, self.vantage);
        let points = self.points();
        let none = |why: &str| {
            let finding = || Finding::unmeasurable(why);
            Report::new(Self::NAME, self.vantage)
                .with(Quantity::AvailableBandwidth, finding())
                .with(Quantity::TightLinkCapacity, finding())
        };
        // The break between the level and the line; the level is 1, but for what is measured.
        let Some(regimes) = two_regimes(&points, Slope::Free) else {
            return none("too few rates came through to find where the line begins");
        };
        let above: Vec<(f64, f64)> =
            points.iter().copied().filter(|(rate, _)| *rate >= regimes.change.value).collect();
        let Some(fit) = least_squares(&above).filter(|fit| fit.slope.low > 0.0) else {
            return none("offered over measured rate does not grow at any rate that was offered");
        };
        let level = regimes.level;
        let leaves = |slope: f64| {
            // Lines through the middle of the points: the slope's doubt turns them around it.
            let count = above.len() as f64;
            let middle = above.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / count, sum.1 + y / count));
            middle.0 - (middle.1 - level) / slope
        };
        let value = |slope: f64| leaves(slope).max(0.0);
        let mut report = report;
        if value(fit.slope.value) * fit.slope.value > 1.0 {
            report.warnings.push(String::from(
                "the line leaves the level at more than the capacity that it shows: no link with a steady load makes such a one",
            ));
        }
        report
            .with(
                Quantity::AvailableBandwidth,
                Finding::value(
                    value(fit.slope.value),
                    value(fit.slope.low),
                    value(fit.slope.high),
                    Unit::Bps,
                ),
            )
            .with(
                Quantity::TightLinkCapacity,
                Finding::value(1.0 / fit.slope.value, 1.0 / fit.slope.high, 1.0 / fit.slope.low, Unit::Bps),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::occupied;
    use crate::unit::Bytes;

    /// What is told of pairs at 10 to 150 Mb/s that came as far apart as they were sent up to `free`, and from there on further by what
    /// a link of `capacity` makes them, both in Mb/s.
    fn told(free: f64, capacity: f64) -> Report {
        let facts = PathFacts {
            max_size: Bytes(1_526),
            min_size: Bytes(96),
            resolution: Nanos(1),
            end_link: None,
            coalescence: None,
            narrow_link: None,
        };
        let mut topp = Topp::new(Config::default(), &facts);
        for rate in (10..=150).step_by(5).map(f64::from) {
            let sent = occupied(facts.max_size) * 1e3 / rate;
            let pair = (sent, sent * (1.0 + (rate - free).max(0.0) / capacity));
            topp.pairs.insert(Nanos::from_f64(sent), vec![pair]);
        }
        topp.report()
    }

    #[test]
    fn what_is_free_of_more_than_there_is_carries_a_warning() {
        for (free, capacity) in [(80.0, 40.0), (50.0, 100.0)] {
            let report = told(free, capacity);
            let of = |quantity| report.finding(quantity).estimate().unwrap() / 1e6;
            assert!((of(Quantity::AvailableBandwidth) - free).abs() < 1.0, "{report:?}");
            assert!((of(Quantity::TightLinkCapacity) - capacity).abs() < 1.0, "{report:?}");
            let is_warned = report.warnings.iter().any(|why| why.contains("more than the capacity"));
            assert_eq!(is_warned, free > capacity, "{report:?}");
        }
    }
}
