//! What came of each run, method and quantity, and the score of each cell.

use dwell_core::truth::{Judgement, Score, Verdict};
use dwell_core::{Effort, Finding, Quantity, Side, Unit, Vantage};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// One run, method and quantity. The names are fixed by the architecture (section 3).
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) world: &'static str,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) run: u32,
    pub(super) method: String,
    pub(super) stamps: Vantage,
    pub(super) quantity: Quantity,
    #[serde(serialize_with = "rounded")]
    pub(super) truth: Option<f64>,
    #[serde(serialize_with = "rounded")]
    estimate: Option<f64>,
    #[serde(serialize_with = "rounded")]
    low: Option<f64>,
    #[serde(serialize_with = "rounded")]
    high: Option<f64>,
    verdict: Verdict,
    pub(super) unit: Option<Unit>,
    /// Why there is no value.
    reason: Option<String>,
    pub(super) probes: u64,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    #[serde(skip)]
    pub(super) judgement: Judgement,
}

/// To a thousandth: finer is noise, and harder to read.
fn rounded<S: serde::Serializer>(figure: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    figure.map(|figure| (figure * 1e3).round() / 1e3).serialize(serializer)
}

/// Where and when a row was made.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) world: &'static str,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) run: u32,
    pub(super) method: String,
}

impl Row {
    /// A finding beside the truth.
    pub(super) fn new(
        origin: &Origin,
        stamps: Vantage,
        quantity: Quantity,
        judgement: Judgement,
        effort: Effort,
        seconds: f64,
    ) -> Self {
        let finding = &judgement.finding;
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
        let Origin { world, condition, run, method } = origin.clone();
        Self {
            world,
            condition,
            run,
            method,
            stamps,
            quantity,
            truth: judgement.truth,
            estimate: finding.estimate(),
            low,
            high,
            verdict: Verdict::from(finding),
            unit,
            reason,
            probes: effort.probes,
            bytes: effort.bytes.0,
            seconds,
            judgement,
        }
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
fn method_text(method: &str, stamps: Vantage) -> String {
    match stamps {
        Vantage::Application => method.to_owned(),
        Vantage::Capture => format!("{method} (capture)"),
    }
}

/// The settings of a condition, each by the last part of its key that says something.
fn condition_text(condition: &BTreeMap<String, Value>) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let block = condition.get("block").map(plain).into_iter();
    let rest = condition.iter().filter(|(key, _)| *key != "block");
    let told = rest.map(|(key, value)| format!("{} {}", key.rsplit('.').next().unwrap_or(key), plain(value)));
    block.chain(told).collect::<Vec<_>>().join(", ")
}

/// All runs of one condition, method and quantity.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) method: String,
    pub(super) stamps: Vantage,
    pub(super) quantity: Quantity,
    pub(super) unit: Option<Unit>,
    #[serde(flatten)]
    pub(super) score: Score,
}

impl Cell {
    /// The condition in a few words.
    pub(super) fn condition_text(&self) -> String {
        condition_text(&self.condition)
    }

    /// The method with its stamps.
    pub(super) fn method_text(&self) -> String {
        method_text(&self.method, self.stamps)
    }
}

/// Cells in the order in which their first rows came, and one for each block, method and quantity with all
/// conditions of the block pooled.
pub(super) fn cells(rows: &[Row]) -> Vec<Cell> {
    let own = grouped(rows, |row| row.condition.clone());
    let pooled = grouped(rows, |row| {
        let block = row.condition.get("block").cloned().into_iter();
        block
            .map(|block| {
                ("block".to_owned(), Value::String(format!("all of {}", block.as_str().unwrap_or("?"))))
            })
            .collect()
    });
    // Random conditions have one run each: their own cells would say nothing.
    let several = rows.iter().any(|row| row.run > 0);
    own.into_iter().filter(|_| several).chain(pooled).collect()
}

fn grouped(rows: &[Row], condition: impl Fn(&Row) -> BTreeMap<String, Value>) -> Vec<Cell> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let key = format!("{:?} {} {:?}", condition(row), row.method_text(), row.quantity);
        let at = *place.entry(key.clone()).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(row);
    }
    let cell = |rows: &[&Row]| {
        let first = rows[0];
        Cell {
            condition: condition(first),
            method: first.method.clone(),
            stamps: first.stamps,
            quantity: first.quantity,
            unit: rows.iter().find_map(|row| row.unit),
            score: Score::of(rows.iter().map(|row| &row.judgement)),
        }
    };
    groups.iter().map(|(_, rows)| cell(rows)).collect()
}
