//! `bprobe`: rates of pairs of several sizes, filtered by what the sizes agree on (Carter and Crovella, Performance
//! Evaluation 27-28, 1996).
//!
//! Phases of ten packets, each phase of larger packets than the one before; packets next to each other are pairs. Packets
//! of others add a time that is not in proportion to the size, so wrong estimates differ from phase to phase, and right
//! ones do not: each estimate is given an error interval, and intervals grow until one rate lies in those of nearly all
//! phases (their intersection filter).
//!
//! The authors bounce echo requests, so that their figure is the narrow link's of both ways; with both ends of the path at
//! hand it is that of one way here.

use super::pair::{Pair, merged, stamps};
use crate::capacity::by_a_clock;
use crate::gap;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report};
use crate::stream::{shape, vantage};
use crate::train::{Departure, Fate, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How `bprobe` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Phases, each of one size.
    pub phases: usize,
    /// Packets of a phase.
    pub packets: usize,
    /// By how much a phase's packets are larger than those before, at most.
    pub growth: f64,
    /// Error intervals grow in steps of this share of the estimate ...
    pub step: f64,
    /// ... up to this.
    pub widest: f64,
    /// Phases that may disagree.
    pub strangers: usize,
    /// Pause before a phase.
    pub pause: Nanos,
}

impl Default for Config {
    /// Seven phases of ten packets, each 2.5 times as large (the authors' 124 bytes up to 8,000), or less where the path
    /// carries no packets that large.
    fn default() -> Self {
        Self {
            phases: 7,
            packets: 10,
            growth: 2.5,
            step: 0.005,
            widest: 0.25,
            strangers: 1,
            pause: Nanos::from_millis(50),
        }
    }
}

/// The smallest packets of the authors' first phase.
const FIRST: Bytes = Bytes(124);

/// The method.
#[derive(Clone, Debug)]
pub struct Bprobe {
    config: Config,
    facts: PathFacts,
    sent: bool,
    phases: Vec<Vec<Pair>>,
}

impl Bprobe {
    /// Its name.
    pub const NAME: &'static str = "bprobe";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self { config, facts: *facts, sent: false, phases: Vec::new() }
    }

    fn sizes(&self) -> Vec<Bytes> {
        let PathFacts { min_size, max_size, .. } = self.facts;
        let first = FIRST.max(min_size).min(max_size);
        let steps = self.config.phases.saturating_sub(1).max(1) as f64;
        let growth =
            (max_size.0 as f64 / first.0.max(1) as f64).powf(1.0 / steps).clamp(1.0, self.config.growth);
        let size = |phase: usize| Bytes((first.0 as f64 * growth.powi(phase as i32)).round() as u64);
        (0..self.config.phases).map(|phase| size(phase).min(max_size.max(first))).collect()
    }

    /// The narrowest intersection of error intervals of all phases but a few: its ends, and the error.
    fn intersection(&self) -> Option<(f64, f64)> {
        let rates: Vec<Vec<f64>> =
            self.phases.iter().map(|pairs| pairs.iter().filter_map(Pair::rate).collect()).collect();
        let with = rates.iter().filter(|rates| !rates.is_empty()).count();
        if with < 2 {
            return None;
        }
        let needed = with.saturating_sub(self.config.strangers).max(2);
        let steps = (self.config.widest / self.config.step) as usize;
        (1..=steps).find_map(|step| {
            let error = step as f64 * self.config.step;
            // The rate that most phases hold; of several the one with most estimates.
            let votes = |rate: f64| {
                let near = |one: &&f64| (**one - rate).abs() <= error * **one;
                let of_phase = rates.iter().map(|rates| rates.iter().filter(near).count());
                (of_phase.clone().filter(|count| *count > 0).count(), of_phase.sum::<usize>())
            };
            let best = rates.iter().flatten().max_by_key(|rate| votes(**rate))?;
            if votes(*best).0 < needed {
                return None;
            }
            let inside: Vec<f64> =
                rates.iter().flatten().copied().filter(|one| (one - best).abs() <= error * one).collect();
            let low = inside.iter().map(|one| one * (1.0 - error)).fold(0.0, f64::max);
            let high = inside.iter().map(|one| one * (1.0 + error)).fold(f64::INFINITY, f64::min);
            Some((low, high))
        })
    }
}

impl Method for Bprobe {
    fn next(&mut self) -> Step {
        if std::mem::replace(&mut self.sent, true) || self.facts.max_size.0 == 0 {
            return Step::Done;
        }
        let phase =
            |size| Departure { pause: self.config.pause, train: Train::burst(size, self.config.packets) };
        Step::Send(self.sizes().into_iter().map(phase).collect())
    }

    fn see(&mut self, observation: &Observation) {
        let Some((size, Nanos::ZERO)) = shape(observation) else { return };
        let read = vantage(observation);
        let pair = |two: &[Fate]| {
            let gap = gap::between(&two[0], &two[1], read).filter(|gap| *gap >= 0.0)?;
            Some(Pair { size, at: 0.0, sent: 0.0, gap, delay: 0.0, vantage: read })
        };
        self.phases.push(observation.fates.windows(2).filter_map(pair).collect());
    }

    fn report(&self) -> Report {
        let pairs: Vec<Pair> = self.phases.iter().flatten().copied().collect();
        let report = Report::new(Self::NAME, stamps(&pairs));
        let finding = match (merged(&pairs), self.intersection()) {
            (None, Some((low, high))) => by_a_clock(f64::midpoint(low, high), low, high, &self.facts),
            (Some(why), _) => Finding::unmeasurable(why),
            (None, None) => Finding::unmeasurable("packets of different sizes agree on no rate"),
        };
        report.with(Quantity::NarrowLinkCapacity, finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_to_the_largest() {
        let facts = PathFacts {
            max_size: Bytes(1526),
            min_size: Bytes(72),
            resolution: Nanos(1),
            end_link: None,
            coalescence: None,
            narrow_link: None,
        };
        let sizes = Bprobe::new(Config::default(), &facts).sizes();
        assert_eq!((sizes[0], sizes.len()), (FIRST, 7));
        assert!(sizes.windows(2).all(|two| two[0] < two[1]) && sizes[6] == Bytes(1526), "{sizes:?}");
    }
}
