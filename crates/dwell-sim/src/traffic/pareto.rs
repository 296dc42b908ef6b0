//! Traffic in bursts whose lengths have a heavy tail.
//!
//! Many such sources together are self-similar (Willinger, Taqqu, Sherman and Wilson 1997): bursts show at every scale
//! of time up to the longest period.

use crate::random::Stream;
use crate::scenario::quantity_text;
use dwell_core::{BitRate, Nanos};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// On and off times with a Pareto distribution, and packets evenly spaced at a peak rate while on.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ParetoSpec {
    /// The exponent of the tail, between 1 and 2 and neither of the two: the mean is finite, and the variance would
    /// not be if a period could last for ever.
    #[schemars(extend("exclusiveMinimum" = 1, "exclusiveMaximum" = 2))]
    pub shape: f64,
    /// Mean length of a burst.
    #[serde(with = "quantity_text::duration")]
    pub on: Nanos,
    /// Mean time between bursts; without it, so long that the flow offers what it is asked for.
    #[serde(with = "quantity_text::some_duration", default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Nanos>,
    /// Bits per second while on, framing counted.
    #[serde(with = "quantity_text::rate")]
    pub peak: BitRate,
}

impl ParetoSpec {
    /// Mean bits per second where `off` is given, and 0 where it is not.
    pub(crate) fn mean_rate(&self) -> f64 {
        let on = self.on.as_f64();
        self.off.map_or(0.0, |off| self.peak.0 as f64 * on / (on + off.as_f64()))
    }
}

/// No period is longer than this many of its means: a path that lives for seconds cannot be told from one whose
/// periods may last for years, and the mean of a run comes near the mean that was asked for.
const LONGEST: f64 = 1_000.0;

/// Lengths of periods: Pareto's distribution between a least and a greatest length, in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Periods {
    shape: f64,
    least: f64,
    /// The logarithm of the greatest length over the least.
    range: f64,
}

impl Periods {
    pub(crate) fn new(shape: f64, mean: f64) -> Self {
        let most = LONGEST * mean;
        // The mean rises with the least length, from 0 to the greatest: halve the interval around the right one.
        let (mut low, mut high) = (1e-12f64.ln(), 1.0f64.ln());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let tried = Self { shape, least: mean * middle.exp(), range: LONGEST.ln() - middle };
            if tried.mean() < mean { low = middle } else { high = middle }
        }
        let least = mean * (0.5 * (low + high)).exp();
        Self { shape, least, range: (most / least).ln() }
    }

    /// `1 - (least / most)^exponent`: the mass of an unbounded tail of that exponent below the bound.
    fn below(&self, exponent: f64) -> f64 {
        -(-exponent * self.range).exp_m1()
    }

    fn mean(&self) -> f64 {
        let (shape, beyond) = (self.shape, self.shape - 1.0);
        self.least * shape / beyond * self.below(beyond) / self.below(shape)
    }

    /// A length with a tail of `exponent`.
    fn with_tail(&self, exponent: f64, rng: &mut Stream) -> f64 {
        let at = rng.random::<f64>() * self.below(exponent);
        self.least * (1.0 - at).powf(-1.0 / exponent)
    }

    /// The length of one period.
    pub(crate) fn draw(&self, rng: &mut Stream) -> f64 {
        self.with_tail(self.shape, rng)
    }

    /// What is left of the period that a moment falls into. It falls into long ones more often, in proportion to
    /// their length, which takes one from the exponent; and evenly anywhere within.
    pub(crate) fn rest(&self, rng: &mut Stream) -> f64 {
        rng.random::<f64>() * self.with_tail(self.shape - 1.0, rng)
    }
}
