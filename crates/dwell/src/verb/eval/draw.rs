//! Conditions of which some keys are drawn at random.

use anyhow::{Result, anyhow};
use dwell_core::Nanos;
use dwell_sim::QuantityText as _;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use toml::Value;

/// So many conditions, of which each sets each of these keys to a time of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draw {
    conditions: u32,
    /// Keys of the scenario, each with the shortest and the longest time, between which any is as probable as any other.
    between: BTreeMap<String, [String; 2]>,
}

impl Draw {
    /// What each condition sets; the same for the same seed and name of its block.
    pub(super) fn settings(&self, block: &str, seed: u64) -> Result<Vec<BTreeMap<String, Value>>> {
        let ends = self.between.iter().map(|(key, ends)| {
            let read =
                |text: &String| Nanos::read(text).map_err(|problem| anyhow!("between {key}: {problem}"));
            let (shortest, longest) = (read(&ends[0])?, read(&ends[1])?);
            if shortest > longest {
                return Err(anyhow!("between {key}: {} is longer than {}", ends[0], ends[1]));
            }
            Ok((key, shortest, longest))
        });
        let ends: Vec<_> = ends.collect::<Result<_>>()?;
        let draw = |number: u32, key: &str, shortest: Nanos, longest: Nanos| {
            let digest = Sha256::digest(format!("{seed} {block}:{number} {key}"));
            let bits = digest.iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            let place = bits as f64 / u64::MAX as f64;
            let time = shortest.as_f64() + place * (longest - shortest).as_f64();
            // To a microsecond: what is told is what is set.
            Value::String(format!("{:.3} ms", time / 1e6))
        };
        let one = |number| {
            ends.iter().map(|(key, low, high)| ((*key).clone(), draw(number, key, *low, *high))).collect()
        };
        Ok((0..self.conditions).map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(text: &str) -> Draw {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn draws_fill_their_range_and_repeat() {
        let asked = draw("conditions = 400\nbetween = { a = ['5 ms', '250 ms'], b = ['50 us', '50 us'] }\n");
        let settings = asked.settings("paper", 1).unwrap();
        assert_eq!(settings, asked.settings("paper", 1).unwrap());
        assert_ne!(settings, asked.settings("paper", 2).unwrap());
        assert_ne!(settings, asked.settings("other", 1).unwrap());
        let times: Vec<f64> = settings
            .iter()
            .map(|one| Nanos::read(one["a"].as_str().unwrap()).unwrap().as_f64() / 1e6)
            .collect();
        assert!(times.iter().all(|ms| (5.0..=250.0).contains(ms)));
        let mean = times.iter().sum::<f64>() / 400.0;
        // The deviation of the mean of 400 is 3.5 ms.
        assert!((mean - 127.5).abs() < 14.0, "{mean}");
        assert!(settings.iter().all(|one| one["b"].as_str() == Some("0.050 ms")));
    }

    #[test]
    fn mistakes_are_told_with_their_key() {
        let told = |text: &str| draw(text).settings("b", 1).unwrap_err().to_string();
        assert!(
            told("conditions = 1\nbetween = { a = ['5 ms', '2 ms'] }\n")
                .contains("between a: 5 ms is longer")
        );
        assert!(told("conditions = 1\nbetween = { a = ['5', '2 ms'] }\n").contains("has no unit"));
    }
}
