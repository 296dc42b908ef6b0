//! `capprobe`: the dispersion of the one pair that nothing held up (Kapoor, Chen, Lao, Gerla, Sanadidi, SIGCOMM 2004).
//!
//! Both a dispersion that is too long and one that is too short come of waiting in queues. So the pair with the least
//! sum of delays has the narrow link's own dispersion, if neither packet waited; that is so where the least sum is the sum
//! of the first packets' least delay and the second packets' least delay. Two runs of different sizes must agree.
//!
//! The authors send echo requests and take round trips. With both ends of the path at hand, delays are one-way here: the
//! offset of the clocks is in all of them alike, and their skew is taken out.

use super::pair::{Pair, merged, pair, stamps, unskewed};
use crate::capacity::by_a_clock;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report};
use crate::stats::bootstrap::Indices;
use crate::stats::chance::exponential;
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How `capprobe` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Sizes of the two runs, as shares of the largest packet: 700 and 900 bytes of 1,500.
    pub sizes: [f64; 2],
    /// Pairs of a run.
    pub pairs: usize,
    /// Runs before it gives up.
    pub runs: usize,
    /// Estimates of both runs differ by no more than this.
    pub agree: f64,
    /// The least sum may be above the sum of the least delays by this share of the dispersion.
    pub slack: f64,
    /// A run whose dispersions differ by more than this factor was spread: the next has smaller packets, else larger.
    pub spread: f64,
    /// By how much sizes change.
    pub change: f64,
    /// Mean pause before a pair.
    pub pause: Nanos,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Default for Config {
    /// The authors' sizes, 100 pairs, 5 %, a factor of 50 and a change of 20 %. Their condition is equality; ours leaves
    /// 1 % of the dispersion to the stamps.
    fn default() -> Self {
        Self {
            sizes: [700.0 / 1500.0, 900.0 / 1500.0],
            pairs: 100,
            runs: 12,
            agree: 0.05,
            slack: 0.01,
            spread: 50.0,
            change: 0.2,
            pause: Nanos::from_millis(10),
            seed: 12,
        }
    }
}

/// What one run of pairs of a size showed.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Best {
    pair: Pair,
    rate: f64,
    /// Whether neither of its packets waited.
    unqueued: bool,
}

/// The method.
#[derive(Clone, Debug)]
pub struct Capprobe {
    config: Config,
    facts: PathFacts,
    chance: Indices,
    /// Shares of the largest packet.
    sizes: [f64; 2],
    runs: usize,
    /// Of the run under way.
    pairs: Vec<Pair>,
    /// Of the last run of each size.
    best: [Option<Best>; 2],
    reason: Option<String>,
    seen: Vec<Pair>,
}

impl Capprobe {
    /// Its name.
    pub const NAME: &'static str = "capprobe";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            chance: Indices::new(config.seed),
            sizes: config.sizes,
            runs: 0,
            pairs: Vec::new(),
            best: [None; 2],
            reason: None,
            seen: Vec::new(),
        }
    }

    fn size(&self, run: usize) -> Bytes {
        let PathFacts { min_size, max_size, .. } = self.facts;
        let asked = Bytes((self.sizes[run % 2] * max_size.0 as f64) as u64);
        asked.max(min_size).min(max_size.max(min_size))
    }

    /// The pair with the least sum of delays.
    fn least(&self, pairs: &[Pair]) -> Option<Best> {
        let pairs = unskewed(pairs);
        let usable = pairs.iter().filter_map(|pair| Some((*pair, pair.rate()?)));
        let (pair, rate) = usable.min_by(|(a, _), (b, _)| a.sum().total_cmp(&b.sum()))?;
        let least = |delay: fn(&Pair) -> f64| pairs.iter().map(delay).fold(f64::INFINITY, f64::min);
        let apart = pair.sum() - least(|pair| pair.delay) - least(Pair::second);
        let slack = self.config.slack * pair.gap + self.facts.resolution.as_f64();
        Some(Best { pair, rate, unqueued: apart <= slack })
    }

    fn agreed(&self) -> Option<f64> {
        let [Some(one), Some(other)] = self.best else { return None };
        let close = (one.rate - other.rate).abs() <= self.config.agree * one.rate.max(other.rate);
        (close && one.unqueued && other.unqueued).then(|| f64::midpoint(one.rate, other.rate))
    }

    /// Ends a run: what it showed, and what it says of the sizes.
    fn conclude(&mut self) {
        let pairs = std::mem::take(&mut self.pairs);
        let best = self.least(&pairs);
        self.reason = merged(&pairs);
        let place = (self.runs + 1) % 2;
        if !best.is_some_and(|best| best.unqueued) {
            let gaps = || pairs.iter().map(|pair| pair.gap).filter(|gap| *gap > 0.0);
            let spread = gaps().fold(0.0, f64::max) / gaps().fold(f64::INFINITY, f64::min);
            let change = self.config.change;
            let factor = if spread > self.config.spread { 1.0 - change } else { 1.0 + change };
            for size in &mut self.sizes {
                *size = (*size * factor).min(1.0);
            }
        }
        self.best[place] = best.or(self.best[place]);
    }
}

impl Method for Capprobe {
    fn next(&mut self) -> Step {
        if self.runs > 0 {
            self.conclude();
        }
        if self.runs == self.config.runs || self.agreed().is_some() {
            return Step::Done;
        }
        let train = Train::burst(self.size(self.runs), 2);
        self.runs += 1;
        let departure =
            |_| Departure { pause: exponential(&mut self.chance, self.config.pause), train: train.clone() };
        Step::Send((0..self.config.pairs).map(departure).collect())
    }

    fn see(&mut self, observation: &Observation) {
        let pair = pair(observation);
        self.pairs.extend(pair);
        self.seen.extend(pair);
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, stamps(&self.seen));
        if let Some(rate) = self.agreed() {
            let ends = self.best.map(|best| best.map_or(rate, |best| best.rate));
            let finding = by_a_clock(rate, ends[0], ends[1], &self.facts);
            return report.with(Quantity::NarrowLinkCapacity, finding);
        }
        // Of a record of other trains, or where it gave up: the least sum of all, if there is any.
        let found = self.best.into_iter().flatten().chain(self.least(&self.pairs));
        let found: Vec<Best> = found.collect();
        let least = found.iter().min_by(|a, b| {
            (!a.unqueued, a.pair.sum())
                .partial_cmp(&(!b.unqueued, b.pair.sum()))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let (Some(least), None) = (least, &self.reason) else {
            let why = self.reason.clone().unwrap_or_else(|| "no pair came through whole".to_owned());
            return report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable(why));
        };
        let rates = || found.iter().map(|best| best.rate);
        let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        report.warnings.push(format!(
            "capprobe did not converge: after {} pairs no two runs agreed on pairs that nothing held up",
            self.seen.len()
        ));
        report.with(Quantity::NarrowLinkCapacity, by_a_clock(least.rate, low, high, &self.facts))
    }
}
