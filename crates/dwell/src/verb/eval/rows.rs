//! What came of each run, method and quantity.

use super::bandwidth::Met;
use super::grid::EvalWorld;
use super::key;
use super::place::Place;
use dwell_core::truth::{Judgement, Verdict};
use dwell_core::{Effort, Finding, Quantity, Side, Unit, Vantage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Value;

/// One run, method and quantity. The names are fixed by the architecture (section 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) world: EvalWorld,
    /// What `--only` repeats.
    pub(super) place: Place,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) run: u32,
    pub(super) method: String,
    pub(super) stamps: Vantage,
    pub(super) quantity: Quantity,
    pub(super) truth: Option<f64>,
    pub(super) estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) unit: Option<Unit>,
    /// Why there is no value.
    reason: Option<String>,
    /// Whether the quantity can be identified here.
    pub(super) inside: bool,
    /// Why not.
    pub(super) outside: Option<String>,
    pub(super) probes: u64,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    /// Why nothing can be judged by it: what the lab, asked right before, did not carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) uncarried: Option<String>,
    /// What a bandwidth tool met on the path, by the links' counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) met: Option<Met>,
}

/// To a thousandth, shares to a millionth: finer is noise, and harder to read. What is judged is what is written, so
/// that rows read back from a file say the same.
fn rounded(figure: f64, unit: Option<Unit>) -> f64 {
    let scale = if unit == Some(Unit::Ratio) { 1e6 } else { 1e3 };
    (figure * scale).round() / scale
}

/// Where and when a row was made, and at what cost.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) world: EvalWorld,
    pub(super) place: Place,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) method: String,
    pub(super) stamps: Vantage,
    pub(super) effort: Effort,
    pub(super) seconds: f64,
}

impl Row {
    /// A finding beside the truth; `outside` says why it cannot be had there.
    pub(super) fn new(
        origin: &Origin,
        quantity: Quantity,
        finding: &Finding,
        truth: Option<f64>,
        outside: Option<String>,
    ) -> Self {
        let (low, high, unit, reason) = match finding {
            Finding::Value { low, high, unit, .. } => (Some(*low), Some(*high), Some(*unit), None),
            Finding::Bound { bound, side: Side::Upper, unit, reason } => {
                (None, Some(*bound), Some(*unit), Some(reason.clone()))
            }
            Finding::Bound { bound, side: Side::Lower, unit, reason } => {
                (Some(*bound), None, Some(*unit), Some(reason.clone()))
            }
            Finding::Unmeasurable { reason } => (None, None, None, Some(reason.clone())),
        };
        let Origin { world, place, condition, method, stamps, effort, seconds } = origin.clone();
        let figure = |figure: Option<f64>| figure.map(|figure| rounded(figure, unit));
        Self {
            world,
            run: place.run,
            place,
            condition,
            method,
            stamps,
            quantity,
            truth: figure(truth),
            estimate: figure(finding.estimate()),
            low: figure(low),
            high: figure(high),
            verdict: Verdict::from(finding),
            unit,
            reason,
            inside: outside.is_none(),
            outside,
            probes: effort.probes,
            bytes: effort.bytes.0,
            seconds,
            uncarried: None,
            met: None,
        }
    }

    /// What was found.
    pub(super) fn finding(&self) -> Finding {
        let reason = || self.reason.clone().unwrap_or_default();
        match (self.verdict, self.estimate, self.low, self.high, self.unit) {
            (Verdict::Value, Some(value), Some(low), Some(high), Some(unit)) => {
                Finding::value(value, low, high, unit)
            }
            (Verdict::Bound, _, Some(low), _, Some(unit)) => Finding::at_least(low, unit, reason()),
            (Verdict::Bound, _, _, Some(high), Some(unit)) => Finding::at_most(high, unit, reason()),
            _ => Finding::unmeasurable(reason()),
        }
    }

    /// Whether a method is judged by it.
    pub(super) fn counts(&self) -> bool {
        self.uncarried.is_none()
    }

    /// Whether it tells a range: a program of others, whose packets are not counted, may print a figure alone.
    pub(super) fn has_range(&self) -> bool {
        let is_foreign = self.met.as_ref().is_some_and(|met| met.packets.is_none());
        !is_foreign || self.low != self.high
    }

    /// Why there is no value.
    pub(super) fn why(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What was found beside what was so.
    pub(super) fn judgement(&self) -> Judgement {
        Judgement { truth: self.truth, finding: self.finding() }
    }

    /// The condition in a few words.
    pub(super) fn condition_text(&self) -> String {
        condition_text(&self.condition)
    }

    /// The method with its stamps.
    pub(super) fn method_text(&self) -> String {
        method_text(&self.method, self.stamps)
    }
}

/// A method's name; the stamps are told where they are not the program's.
pub(super) fn method_text(method: &str, stamps: Vantage) -> String {
    match stamps {
        Vantage::Application => method.to_owned(),
        Vantage::Capture => format!("{method} (capture)"),
    }
}

/// The settings of a condition, the block first.
pub(super) fn condition_text(condition: &BTreeMap<String, Value>) -> String {
    let block = condition.get("block").map(key::plain).into_iter();
    let rest = condition.iter().filter(|(key, _)| *key != "block");
    block.chain(rest.map(|(key, value)| key::told(key, value))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(finding: &Finding, truth: Option<f64>) -> Row {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: Place { block: "b".to_owned(), condition: 2, run: 1 },
            condition: [("block".to_owned(), Value::String("b".to_owned()))].into(),
            method: "knee".to_owned(),
            stamps: Vantage::Application,
            effort: Effort::default(),
            seconds: 1.25,
        };
        Row::new(&origin, Quantity::ApplicationStage, finding, truth, None)
    }

    #[test]
    fn rows_read_back_as_they_were_and_are_judged_alike() {
        for finding in [
            Finding::nanos(31_234.567_89, 30_000.1, 33_000.0),
            Finding::at_most(6_720.0, Unit::Ns, "smallest dispersion"),
            Finding::at_least(1e8, Unit::Bps, "hosts"),
            Finding::value(0.000_123_4, 0.0, 0.001, Unit::Ratio),
            Finding::flag(true),
            Finding::unmeasurable("all lost"),
        ] {
            let row = row(&finding, Some(31_000.123_456));
            let text = serde_json::to_string(&row).unwrap();
            let again: Row = serde_json::from_str(&text).unwrap();
            assert_eq!(again, row, "{text}");
            assert_eq!(Verdict::from(&again.finding()), Verdict::from(&finding));
            assert_eq!(again.judgement(), row.judgement());
        }
        let ratio = row(&Finding::value(0.000_123_4, 0.0, 0.001, Unit::Ratio), None);
        assert_eq!(ratio.estimate, Some(0.000_123));
    }
}
