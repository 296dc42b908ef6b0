//! How a run is told, whatever carried its load: a table, a document, a picture.

use crate::figure::{cells, cost};
use crate::output::Output;
use crate::picture::{Panel, Picture};
use crate::screen::{print_json, print_text, report_text};
use anyhow::{Result, bail};
use dwell_core::{Circumstances, Direction, Effort, Finding, Quantity, Report};
use dwell_store::Ask;
use serde_json::{Map, Value, json};

/// A run that is over, and what of it is its method's own.
pub(super) struct Told<'a> {
    pub(super) ask: &'a Ask,
    pub(super) circumstances: &'a Circumstances,
    pub(super) report: Report,
    /// The figure that was asked for, and what it counts.
    pub(super) asked: Quantity,
    pub(super) of: &'static str,
    pub(super) direction: Direction,
    pub(super) effort: Effort,
    /// A line below the table.
    pub(super) line: String,
    /// Keys of the document.
    pub(super) keys: Map<String, Value>,
    pub(super) panels: Vec<Box<dyn Panel>>,
}

impl Told<'_> {
    /// Tells. Fails where what was asked for could not be measured.
    pub(super) fn tell(self, output: &Output) -> Result<()> {
        if output.json {
            print_json(&self.document()?)?;
        } else {
            let Self { report, line, effort, .. } = &self;
            print_text(&format!("{}{line}\n{}\n", report_text(report), cost(effort, None)))?;
        }
        let found = self.report.finding(self.asked);
        if let Some(file) = &output.plot {
            let verdict = self.report.verdict.as_ref();
            let [value, _] = cells(&found);
            let limit = verdict.map_or("", |verdict| verdict.limit.name());
            let mut notes = vec![format!(
                "dwell {}: throughput of {} by {}",
                env!("CARGO_PKG_VERSION"),
                self.ask.target,
                self.report.method
            )];
            notes.extend(verdict.map(|verdict| verdict.reason.clone()));
            notes.push(cost(&self.effort, None));
            let title = format!("{value} of {}: {limit}", self.of);
            Picture { title, notes, panels: self.panels }.write(file)?;
        }
        match found {
            Finding::Unmeasurable { reason } => bail!("could not measure: {reason}"),
            _ => Ok(()),
        }
    }

    fn document(&self) -> Result<Value> {
        let Self { ask, report, effort, .. } = self;
        let mut document = Map::new();
        let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
        put("verb", json!(ask.verb));
        put("dwell", json!(env!("CARGO_PKG_VERSION")));
        put("target", json!(ask.target));
        put("seed", json!(ask.seed));
        put("method", json!(report.method));
        put("direction", json!(self.direction));
        for (quantity, finding) in &report.findings {
            put(quantity.name(), serde_json::to_value(finding)?);
        }
        put("verdict", json!(report.verdict));
        put("warnings", json!(report.warnings));
        put("packets", json!(effort.packets));
        put("lost", json!(effort.lost));
        put("bytes", json!(effort.bytes));
        put("seconds", json!(effort.span.as_secs_f64()));
        put("circumstances", serde_json::to_value(self.circumstances)?);
        document.extend(self.keys.clone());
        Ok(Value::Object(document))
    }
}

/// Which way the load went.
pub(super) const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "to",
        Direction::Reverse => "from",
    }
}

/// Keys and values of `json!({..})`.
pub(super) fn keys(of: Value) -> Map<String, Value> {
    match of {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}
