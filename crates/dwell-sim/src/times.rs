//! Distributions of times.

use crate::random::{Stream, stream};
use crate::scenario::quantity_text::{self, QuantityText, time_text};
use dwell_core::Nanos;
use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};
use schemars::{JsonSchema, Schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A time that varies; never negative. In a scenario file a plain time is fixed, and a table names its distribution.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(transform = or_a_plain_time)]
#[serde(remote = "Self", rename_all = "lowercase", deny_unknown_fields)]
pub enum Times {
    /// Always the same.
    Fixed(#[serde(with = "quantity_text::duration")] Nanos),
    /// Evenly between two ends.
    Uniform {
        /// Shortest.
        #[serde(with = "quantity_text::duration")]
        low: Nanos,
        /// Longest.
        #[serde(with = "quantity_text::duration")]
        high: Nanos,
    },
    /// Normal, truncated at zero.
    Normal {
        /// Of the distribution before the truncation.
        #[serde(with = "quantity_text::duration")]
        mean: Nanos,
        /// Standard deviation, likewise.
        #[serde(with = "quantity_text::duration")]
        deviation: Nanos,
    },
    /// Exponential, above a least time.
    Exponential {
        /// Mean of what is above `least`.
        #[serde(with = "quantity_text::duration")]
        mean: Nanos,
        /// Added to each.
        #[serde(with = "quantity_text::duration", default)]
        least: Nanos,
    },
    /// Lognormal, above a least time.
    Lognormal {
        /// Median of what is above `least`.
        #[serde(with = "quantity_text::duration")]
        median: Nanos,
        /// Standard deviation of the logarithm.
        #[schemars(range(min = 0, max = 5))]
        spread: f64,
        /// Added to each.
        #[serde(with = "quantity_text::duration", default)]
        least: Nanos,
    },
    /// One of several distributions, by weight: two modes, for one.
    Mixture(#[schemars(length(min = 1))] Vec<Mode>),
}

/// One part of a mixture.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// How often, against the other weights.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    /// What is drawn then.
    pub of: Times,
}

impl Default for Times {
    fn default() -> Self {
        Self::Fixed(Nanos::ZERO)
    }
}

impl Times {
    /// One draw.
    pub(crate) fn sample(&self, rng: &mut Stream) -> Nanos {
        match self {
            Self::Fixed(time) => *time,
            Self::Uniform { low, high } => Nanos(rng.random_range(low.0..=high.0)),
            Self::Normal { mean, deviation } => {
                // Truncated, not clamped: no heap at zero. The mean is not negative, so a draw succeeds with a
                // chance of one half at least, and 64 failures in a row do not happen.
                let draw = |rng: &mut Stream| {
                    let z: f64 = StandardNormal.sample(rng);
                    mean.as_f64() + deviation.as_f64() * z
                };
                let kept = (0..64).map(|_| draw(rng)).find(|ns| *ns >= 0.0);
                Nanos::from_f64(kept.unwrap_or(0.0))
            }
            Self::Exponential { mean, least } => {
                let unit: f64 = Exp1.sample(rng);
                *least + Nanos::from_f64(mean.as_f64() * unit)
            }
            Self::Lognormal { median, spread, least } => {
                let z: f64 = StandardNormal.sample(rng);
                *least + Nanos::from_f64(median.as_f64() * (spread * z).exp())
            }
            Self::Mixture(modes) => {
                let total: f64 = modes.iter().map(|mode| mode.weight).sum();
                let mut at = rng.random::<f64>() * total;
                let chosen = modes.iter().find(|mode| {
                    at -= mode.weight;
                    at < 0.0
                });
                chosen.or(modes.last()).map_or(Nanos::ZERO, |mode| mode.of.sample(rng))
            }
        }
    }

    /// The time itself, where it never varies.
    #[must_use]
    pub fn fixed(&self) -> Option<Nanos> {
        match self {
            Self::Fixed(time) => Some(*time),
            _ => None,
        }
    }

    /// The median: exact where it never varies, otherwise of some thousand draws that are the same at each call.
    #[must_use]
    pub fn median(&self) -> Nanos {
        self.fixed().unwrap_or_else(|| {
            let mut rng = stream(0, &[]);
            let mut draws: Vec<_> = (0..4_001).map(|_| self.sample(&mut rng)).collect();
            *draws.select_nth_unstable(2_000).1
        })
    }

    /// What is wrong with the figures, if anything is.
    fn problem(&self) -> Option<String> {
        match self {
            Self::Uniform { low, high } if low > high => {
                Some(format!("low ({}) is above high ({})", time_text(*low), time_text(*high)))
            }
            Self::Lognormal { spread, .. } if !(0.0..=5.0).contains(spread) => {
                Some(format!("spread is {spread}; it must be between 0 and 5"))
            }
            Self::Mixture(modes) if modes.is_empty() => Some("a mixture needs at least one mode".to_owned()),
            Self::Mixture(modes) => modes
                .iter()
                .find(|mode| !(mode.weight > 0.0 && mode.weight.is_finite()))
                .map(|mode| format!("weight is {}; it must be above 0", mode.weight)),
            _ => None,
        }
    }
}

/// A time alone is fixed.
fn or_a_plain_time(distributions: &mut Schema) {
    let table = std::mem::take(distributions);
    distributions.insert("description".to_owned(), table.get("description").cloned().into());
    distributions.insert("anyOf".to_owned(), vec![Nanos::schema().to_value(), table.to_value()].into());
}

struct TimesVisitor;

impl<'de> Visitor<'de> for TimesVisitor {
    type Value = Times;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time such as \"5 us\", or a distribution such as { normal = { mean = \"30 us\", deviation = \"4 us\" } }",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Times, E> {
        Nanos::read(text).map(Times::Fixed).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Times, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Times, E> {
        Nanos::read_number(number).map(Times::Fixed).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Times, A::Error> {
        let times = Times::deserialize(MapAccessDeserializer::new(map))?;
        times.problem().map_or(Ok(times), |problem| Err(de::Error::custom(problem)))
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TimesVisitor)
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(time) => to.serialize_str(&time_text(*time)),
            _ => Self::serialize(self, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = Nanos(1_000);

    /// Mean and median of 100,000 draws, in nanoseconds.
    fn drawn(times: &Times) -> (f64, f64) {
        let mut rng = stream(5, &[]);
        let mut draws: Vec<_> = (0..100_000).map(|_| times.sample(&mut rng).as_f64()).collect();
        draws.sort_by(f64::total_cmp);
        assert!(draws[0] >= 0.0);
        (draws.iter().sum::<f64>() / 1e5, draws[50_000])
    }

    #[track_caller]
    fn agrees(times: &Times, mean: f64, median: f64) {
        let got = drawn(times);
        assert!((got.0 / mean - 1.0).abs() < 0.02, "{times:?}: mean {} for {mean}", got.0);
        assert!((got.1 / median - 1.0).abs() < 0.02, "{times:?}: median {} for {median}", got.1);
        assert!((times.median().as_f64() / median - 1.0).abs() < 0.1, "{times:?}: {}", times.median());
    }

    #[test]
    fn distributions_have_their_moments() {
        agrees(&Times::Fixed(US * 5), 5_000.0, 5_000.0);
        agrees(&Times::Uniform { low: US * 2, high: US * 10 }, 6_000.0, 6_000.0);
        agrees(&Times::Normal { mean: US * 30, deviation: US * 3 }, 30_000.0, 30_000.0);
        let tail = 10_000.0 * std::f64::consts::LN_2;
        agrees(&Times::Exponential { mean: US * 10, least: US * 5 }, 15_000.0, 5_000.0 + tail);
        let log = Times::Lognormal { median: US * 20, spread: 0.5, least: US };
        agrees(&log, 1_000.0 + 20_000.0 * (0.125f64).exp(), 21_000.0);
    }

    #[test]
    fn a_normal_is_truncated_and_not_clamped() {
        // Half of a normal with mean zero: its mean is sqrt(2 / pi), its median 0.6745 deviations.
        let half = Times::Normal { mean: Nanos::ZERO, deviation: US * 100 };
        agrees(&half, 100_000.0 * (2.0 / std::f64::consts::PI).sqrt(), 67_450.0);
    }

    #[test]
    fn a_mixture_draws_each_mode_by_its_weight() {
        let mode = |weight, us| Mode { weight, of: Times::Fixed(US * us) };
        let two = Times::Mixture(vec![mode(3.0, 10), mode(1.0, 50)]);
        let (mean, median) = drawn(&two);
        assert!((mean / 20_000.0 - 1.0).abs() < 0.02, "{mean}");
        assert_eq!(median, 10_000.0);
    }
}
