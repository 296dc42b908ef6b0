//! `dwell delay`: one-way delay, what the clocks do, and loss.

use super::coalescence::measure_coalescence;
use super::ppt::{PptMethod, Stamps};
use super::{Measuring, capacity, insert_findings, measure, warnings};
use crate::figure::cells;
use crate::output::Output;
use crate::picture::{Delays, Panel};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use anyhow::Result;
use clap::Args;
use dwell_core::delay::{Correction, OneWayDelay, OneWayDelayConfig};
use dwell_core::stats::Estimate;
use dwell_core::{Direction, Finding, Nanos, PathFacts, Quantity, Report, Vantage};
use serde_json::{Map, Value, json};

/// Measure the one-way delay, freed of what the hosts added
///
/// The two clocks need not agree: lone packets travel both ways, and bound the clocks' offset and skew. What the
/// receiving host added is taken off by its kernel's stamps, or, with `--stamps application`, by the application
/// stage that `knee` finds from afar.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell delay 192.0.2.7
  dwell delay 192.0.2.7 --stamps application --json
  dwell delay scenarios/lan-100m.toml --on sim")]
pub(crate) struct DelayArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Which of the receiver's stamps to correct by
    #[arg(long, value_enum, default_value_t = Stamps::Capture)]
    stamps: Stamps,
}

impl DelayArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        measure(&Delay { stamps: self.stamps.into() }, &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Delay {
    /// Application: correct by the stage that `knee` finds; capture: by the kernel's stamps.
    pub(crate) stamps: Vantage,
}

/// Name of the measurement in records.
pub(crate) const STAGE: &str = "delay";

/// Ready to probe.
pub(crate) fn build(facts: &PathFacts, stage: Option<&Finding>) -> OneWayDelay {
    OneWayDelay::new(
        OneWayDelayConfig { correction: correction(stage), ..OneWayDelayConfig::default() },
        facts,
    )
}

/// What takes the receiving host's share off: without an application stage to take off, its kernel's stamps.
pub(crate) fn correction(stage: Option<&Finding>) -> Correction {
    match stage {
        Some(Finding::Value { value, low, high, .. }) => {
            Correction::Stage(Estimate { value: *value, low: *low, high: *high })
        }
        Some(Finding::Bound { reason, .. } | Finding::Unmeasurable { reason }) => {
            Correction::Unknown(reason.clone())
        }
        None => Correction::Stamps,
    }
}

/// The application stage that the run knows by now.
pub(crate) fn stage_of(report: Option<&Report>) -> Option<Finding> {
    report.map(|report| report.finding(Quantity::ApplicationStage))
}

/// Findings that every document of this verb holds.
pub(crate) const QUANTITIES: [Quantity; 11] = [
    Quantity::ApparentOneWayDelay,
    Quantity::OneWayDelay,
    Quantity::ReverseOneWayDelay,
    Quantity::RoundTrip,
    Quantity::DelayVariation,
    Quantity::ClockOffset,
    Quantity::ClockSkew,
    Quantity::SenderHost,
    Quantity::PptHeading,
    Quantity::Loss,
    Quantity::ReverseLoss,
];

impl Measuring for Delay {
    fn verb(&self) -> &'static str {
        "delay"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (None, self.stamps)
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        capacity::measure_end_link(run)?;
        measure_coalescence(run)?;
        let mut stage = None;
        if self.stamps == Vantage::Application {
            let mut knee = PptMethod::Knee.build(Vantage::Application, None, run.seed(), run.facts());
            let (report, _) = run.measure(PptMethod::Knee.name(), &mut *knee)?;
            stage = stage_of(Some(&report));
        }
        let mut method = build(run.facts(), stage.as_ref());
        run.measure(STAGE, &mut method)?;
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(STAGE)
    }

    fn asked(&self) -> &'static [Quantity] {
        &[Quantity::OneWayDelay, Quantity::RoundTrip]
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = finished.report(STAGE) else { return Ok(()) };
        document.insert("method".into(), json!(report.method));
        document.insert("stamps".into(), serde_json::to_value(report.stamps)?);
        insert_findings(document, report, &QUANTITIES)?;
        document.insert("warnings".into(), json!(warnings(finished)));
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        finished.found.iter().map(|found| report_text(&found.report) + "\n").collect()
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let found = finished.report(STAGE).map(|report| cells(&report.finding(Quantity::OneWayDelay)));
        let [found, _] = found.unwrap_or_default();
        let ways = [Direction::Forward, Direction::Reverse].map(|direction| delays(finished, direction));
        let panel: Box<dyn Panel> = Box::new(Delays { ways });
        (format!("From data link to data link a packet takes {found}"), vec![panel])
    }
}

/// When each lone packet of a way was sent, in seconds, and how much longer than the quickest one it took, in
/// microseconds: clocks that do not agree show no more.
fn delays(finished: &Finished, direction: Direction) -> Vec<(f64, f64)> {
    let lone = finished.passages(STAGE).map(|passage| &passage.observation);
    let lone = lone.filter(|observation| observation.direction == direction);
    let read: Vec<_> = lone
        .filter_map(|observation| observation.fates.first())
        .filter_map(|fate| Some((fate.sent.nearest_wire(), fate.arrival?.stamps.nearest_wire())))
        .collect();
    let first = read.iter().map(|(sent, _)| *sent).min().unwrap_or_default();
    let least = read.iter().map(|(sent, arrived)| *arrived - *sent).min().unwrap_or_default();
    let point = |(sent, arrived): &(Nanos, Nanos)| {
        ((*sent - first).as_secs_f64(), (*arrived - *sent - least).as_micros_f64())
    };
    read.iter().map(point).collect()
}
