//! What is told of a router: table, document, picture.

use super::heard::Heard;
use crate::figure::{cells, figure};
use crate::output::Output;
use crate::picture::{Instants, Panel, Picture};
use crate::screen::{print_json, print_text, report_text};
use anyhow::{Result, bail};
use dwell_core::fsd::beyond_fastest;
use dwell_core::{Finding, Quantity, Report, Unit};
use dwell_store::Ask;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn tell(ask: &Ask, heard: &Heard, report: &Report, output: &Output) -> Result<()> {
    let found = report.finding(Quantity::IcmpGeneration);
    if output.json {
        print_json(&document(ask, heard, report))?;
    } else {
        let mut text = report_text(report);
        let router = heard.router.map(|router| format!(" ({router})")).unwrap_or_default();
        let _ = writeln!(text, "{} pairs, of the router at hop {}{router}", heard.pairs.len(), heard.hop);
        if let Some(truth) = heard.truth {
            let _ = writeln!(text, "by taps on either side of the router: {}", figure(truth, Unit::Ns));
        }
        print_text(&text)?;
    }
    if let Some(file) = &output.plot {
        let [shown, _] = cells(&found);
        let title = format!("To make a time-exceeded message takes the router {shown} more than to forward");
        let here = &heard.circumstances;
        let mut notes =
            vec![format!("dwell {}: fsd past {} ({})", env!("CARGO_PKG_VERSION"), ask.target, here.world)];
        notes.extend(here.notes.iter().map(|(name, text)| format!("{name}: {text}")));
        Picture { title, notes, panels: panels(heard) }.write(file)?;
    }
    match found {
        Finding::Unmeasurable { reason } => bail!("could not measure: {reason}"),
        _ => Ok(()),
    }
}

fn document(ask: &Ask, heard: &Heard, report: &Report) -> Value {
    json!({
        "verb": "echo",
        "dwell": env!("CARGO_PKG_VERSION"),
        "target": ask.target,
        "method": report.method,
        "hop": heard.hop,
        "router": heard.router,
        Quantity::IcmpGeneration.name(): report.finding(Quantity::IcmpGeneration),
        Quantity::ClockSkew.name(): report.finding(Quantity::ClockSkew),
        "truth_ns": heard.truth.map(|truth| truth.round() as i64),
        "pairs": heard.pairs.len(),
        "tally": heard.tally,
        "warnings": report.warnings,
        "circumstances": heard.circumstances,
    })
}

/// How the two kinds of probe are spread: the way between the two curves is the finding.
fn panels(heard: &Heard) -> Vec<Box<dyn Panel>> {
    let Some([direct, limited]) = beyond_fastest(&heard.pairs) else { return Vec::new() };
    let us = |times: Vec<f64>| times.into_iter().map(|time| time / 1e3).collect();
    let series =
        [("direct, beyond the fastest", direct), ("time-exceeded, beyond the fastest direct", limited)];
    let series = series.into_iter().map(|(name, times)| (name.to_owned(), us(times))).collect();
    vec![Box::new(Instants { of: "Probes", series })]
}
