//! Conditions drawn at random.

use anyhow::{Result, anyhow, bail};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// Where a key's value is drawn from.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Draw {
    /// One of these, all alike.
    Of {
        /// The choices.
        of: Vec<Value>,
    },
    /// Between two figures with the same unit.
    Between {
        /// Least.
        low: Value,
        /// Most.
        high: Value,
        /// How evenly.
        #[serde(default)]
        scale: Scale,
    },
}

/// What is drawn evenly.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    /// The figure.
    #[default]
    Linear,
    /// Its logarithm.
    Log,
}

impl Draw {
    /// `count` draws of all keys; the same seed gives the same.
    pub(super) fn all(
        keys: &BTreeMap<String, Self>,
        count: u32,
        seed: u64,
    ) -> Result<Vec<BTreeMap<String, Value>>> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut one = || {
            let drawn = keys.iter().map(|(key, draw)| match draw.one(&mut random) {
                Ok(value) => Ok((key.clone(), value)),
                Err(error) => Err(anyhow!("draw {key}: {error:#}")),
            });
            drawn.collect()
        };
        (0..count).map(|_| one()).collect()
    }

    fn one(&self, random: &mut impl Rng) -> Result<Value> {
        match self {
            Self::Of { of } if of.is_empty() => bail!("nothing to choose from"),
            Self::Of { of } => Ok(of[random.random_range(0..of.len())].clone()),
            Self::Between { low, high, scale } => {
                let ((low, unit), (high, same)) = (measure(low)?, measure(high)?);
                if unit != same {
                    bail!("both ends need the same unit, not `{unit}` and `{same}`");
                }
                if !(low <= high && (*scale == Scale::Linear || low > 0.0)) {
                    bail!("the ends must be in order, and above 0 on a log scale");
                }
                let share: f64 = random.random();
                let figure = match scale {
                    Scale::Linear => low + share * (high - low),
                    Scale::Log => low * (high / low).powf(share),
                };
                // Four digits are enough to read, and to type again.
                let digits = 3 - figure.abs().max(1e-9).log10().floor() as i32;
                let figure = format!("{figure:.*}", digits.clamp(0, 9) as usize);
                Ok(if unit.is_empty() {
                    Value::Float(figure.parse()?)
                } else {
                    Value::String(format!("{figure} {unit}"))
                })
            }
        }
    }
}

/// A figure and its unit.
fn measure(value: &Value) -> Result<(f64, &str)> {
    match value {
        Value::Integer(whole) => Ok((*whole as f64, "")),
        Value::Float(figure) => Ok((*figure, "")),
        Value::String(text) => {
            let at = text.find(|c: char| !(c.is_ascii_digit() || ".-".contains(c))).unwrap_or(text.len());
            let figure = text[..at].parse().map_err(|_| anyhow!("`{text}` does not begin with a number"))?;
            Ok((figure, text[at..].trim()))
        }
        other => bail!("{other} is no figure"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(text: &str, seed: u64) -> Result<Vec<BTreeMap<String, Value>>> {
        Draw::all(&toml::from_str(text)?, 200, seed)
    }

    #[test]
    fn draws_stay_in_their_range_and_repeat() {
        let text = "a = { low = \"2 us\", high = \"200 us\", scale = \"log\" }\n\
                    b = { of = [\"1 Gb/s\", \"unshaped\"] }\nc = { low = -50, high = 50 }\n";
        let drawn = draws(text, 7).unwrap();
        assert_eq!(drawn, draws(text, 7).unwrap());
        assert_ne!(drawn, draws(text, 8).unwrap());
        let mut below = 0;
        for one in &drawn {
            let (a, unit) = measure(&one["a"]).unwrap();
            assert!((2.0..=200.0).contains(&a) && unit == "us");
            below += usize::from(a < 20.0);
            assert!((-50.0..=50.0).contains(&one["c"].as_float().unwrap()));
        }
        assert!((60..140).contains(&below), "on a log scale half lie below 20 us, not {below} of 200");
        assert!(drawn.iter().any(|one| one["b"].as_str() == Some("unshaped")));
    }

    #[test]
    fn senseless_ranges_are_refused() {
        for text in [
            "a = { low = \"2 us\", high = \"1 ms\" }",
            "a = { low = 3, high = 1 }",
            "a = { low = 0, high = 1, scale = \"log\" }",
            "a = { low = \"us\", high = \"us\" }",
            "a = { of = [] }",
        ] {
            assert!(draws(text, 1).is_err(), "{text}");
        }
    }
}
