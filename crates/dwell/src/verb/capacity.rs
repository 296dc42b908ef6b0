//! `dwell capacity`: how much the end link carries.

use super::{Measuring, insert_findings, measure, warnings};
use crate::cli::Output;
use crate::figure::cells;
use crate::picture::{Panel, Sizes};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use anyhow::Result;
use clap::{Args, ValueEnum};
use dwell_core::capacity::EndLink;
use dwell_core::{BitRate, Bytes, Passage, Quantity, Report, Vantage, gap};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Measure the capacity of the link that the remote host hangs on
#[derive(Args)]
#[command(after_help = "Examples:
  dwell capacity 192.0.2.7
  dwell capacity 192.0.2.7 --method end-link --json
  dwell capacity scenarios/lan-100m.toml --on sim")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Method
    #[arg(long, value_enum, default_value_t = CapacityMethod::EndLink)]
    method: CapacityMethod,
}

/// The methods for capacity.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum CapacityMethod {
    /// Of the last link, by compound probes of several sizes
    EndLink,
}

impl CapacityArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        let CapacityMethod::EndLink = self.method;
        measure(&Capacity, &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Capacity;

/// Name of the measurement in records and of the method.
pub(crate) const STAGE: &str = "end-link";

/// Measures the end link, for what follows too: methods use its capacity, and the probing load is a share of it.
pub(crate) fn measure_end_link(run: &mut Run) -> Result<(Report, Duration)> {
    let mut method = EndLink::new(Default::default(), run.facts());
    let (report, took) = run.measure(STAGE, &mut method)?;
    run.learn_end_link(&report);
    Ok((report, took))
}

impl Measuring for Capacity {
    fn verb(&self) -> &'static str {
        "capacity"
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        measure_end_link(run)?;
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(STAGE)
    }

    fn asked(&self) -> &'static [Quantity] {
        &[Quantity::EndLinkCapacity]
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = finished.report(STAGE) else { return Ok(()) };
        document.insert("method".into(), json!(report.method));
        insert_findings(document, report, &[Quantity::EndLinkCapacity, Quantity::NarrowLinkCapacity])?;
        document.insert("warnings".into(), json!(warnings(finished)));
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        finished.report(STAGE).map(report_text).unwrap_or_default()
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let Some(report) = finished.report(STAGE) else { return ("nothing was measured".into(), Vec::new()) };
        let finding = report.finding(Quantity::EndLinkCapacity);
        let [found, _] = cells(&finding);
        let known = finding.estimate().map(|bps| BitRate(bps.round() as u64));
        let line = known.map(|rate| (rate.nanos_for(Bytes(1)) / 1e3, rate.to_string()));
        let panel: Box<dyn Panel> = Box::new(Sizes { points: points(finished, report.stamps), line });
        (format!("The end link carries {found}"), vec![panel])
    }
}

/// Trailing size and gap of each compound probe.
fn points(finished: &Finished, stamps: Vantage) -> Vec<(f64, f64)> {
    let read = |passage: &Passage| {
        let (_, trailing) = gap::compound_probe(&passage.observation)?;
        let [first, second] = passage.observation.fates.as_slice() else { return None };
        Some((trailing.0 as f64, gap::between(first, second, stamps)? / 1e3))
    };
    finished.passages(STAGE).filter_map(read).collect()
}
