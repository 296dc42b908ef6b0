//! `dwell path`: where the time goes, as one waterfall, what the path carries, and what of that is free; hop by hop.

mod alone;
pub(crate) mod hops;

pub(crate) use alone::PathAlone;

use super::avail;
use super::coalescence::measure_coalescence;
use super::ppt::{PptMethod, kernel_truth, sweep};
use super::{
    Measuring, capacity, coalescence, delay, insert_findings, insert_told, measure, measure_in, warnings,
};
use crate::figure::cells;
use crate::output::Output;
use crate::picture::Panel;
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use crate::waterfall::{Bar, Bars, Extent};
use anyhow::Result;
use clap::Args;
use dwell_core::avail::behind_bucket;
use dwell_core::waterfall::{Dominant, Part, Waterfall};
use dwell_core::{Quantity, Report, Vantage};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Show where a packet's time goes on the way to a host
///
/// Measures the end link, interrupt coalescence, the application stage and the one-way delay, and puts them together
/// as one waterfall: the sending host, the path, the end link, the receiver's NIC, its kernel, its application. Then
/// the narrow link and what is free on the path, and, by packets that expire at each router, what each link carries and
/// where the queue stands.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell path 192.0.2.7
  dwell path 192.0.2.7 --plot path.svg --record path.dwell
  dwell path 192.0.2.7 --agentless             hop by hop alone, to a host that runs no agent
  dwell path scenarios/lan-100m.toml --on sim --json
  dwell path scenarios/lan-100m.toml --on kernel")]
pub(crate) struct PathArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Look at the path hop by hop alone: the host need not run `dwell agent` (needs CAP_NET_RAW)
    #[arg(long)]
    agentless: bool,
}

impl PathArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if self.agentless {
            let open = || self.target.look(output.seed);
            return measure_in(&PathAlone, open, &self.target, PathAlone::config(), output);
        }
        measure(&Path, &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Path;

const KNEE: PptMethod = PptMethod::Knee;

/// What people call the parts.
fn name(part: &Part) -> &'static str {
    match part.quantity {
        Quantity::SenderHost => "sender host",
        Quantity::Path => "path",
        Quantity::EndLink => "end link",
        Quantity::NicHold => "receiver's NIC",
        Quantity::KernelStage => "receiver's kernel",
        Quantity::ApplicationStage => "receiver's application",
        other => other.name(),
    }
}

fn waterfall(finished: &Finished) -> Option<Waterfall> {
    let (knee, delay) = (finished.report(KNEE.name())?, finished.report(delay::STAGE)?);
    let capacity = finished.report(capacity::STAGE)?.finding(Quantity::EndLinkCapacity);
    let hold = finished.report(coalescence::STAGE)?.finding(Quantity::NicHold);
    Some(Waterfall::new(knee, delay, &capacity, &hold, finished.facts.min_size))
}

fn bars(waterfall: &Waterfall) -> Bars {
    let bar = |part: &Part| Bar {
        name: name(part).to_owned(),
        start: part.start / 1e3,
        extent: Extent::from(&part.finding),
    };
    let whole =
        Bar { name: "program to program".to_owned(), start: 0.0, extent: Extent::from(&waterfall.whole) };
    let axis = "Time since the sending program handed the packet over";
    Bars { bars: waterfall.parts.iter().map(bar).collect(), whole, axis }
}

/// The sentence that says what dominates.
fn sentence(waterfall: &Waterfall) -> String {
    if let Some(part) = waterfall.contradiction() {
        let ([found, _], [whole, _]) = (cells(&part.finding), cells(&waterfall.whole));
        return format!(
            "The {} is told as longer than all of it ({found} of {whole}): the hosts did not keep still between the two measurements",
            name(part)
        );
    }
    let Some((dominant, share)) = waterfall.dominant() else {
        return "No part is known well enough to say what dominates".to_owned();
    };
    let named = match dominant {
        Dominant::Part(part) => name(part),
        Dominant::Receiver(_) => "receiving host",
    };
    let ([found, _], [whole, _]) = (cells(&dominant.finding()), cells(&waterfall.whole));
    format!("The {named} takes most of the time: {found} of {whole} ({})", crate::figure::share(share))
}

impl Measuring for Path {
    fn verb(&self) -> &'static str {
        "path"
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        capacity::measure_end_link(run)?;
        measure_coalescence(run)?;
        let mut knee = KNEE.build(Vantage::Application, None, run.seed(), run.facts());
        run.measure(KNEE.name(), &mut *knee)?;
        let mut method = delay::build(run.facts(), None);
        run.measure(delay::STAGE, &mut method)?;
        capacity::measure_narrow(run)?;
        avail::measure_free(run)?;
        run.revise(avail::STAGE, capacity::NARROW_STAGE, behind_bucket);
        run.walk()
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(delay::STAGE)
    }

    fn asked(&self) -> &'static [Quantity] {
        &[Quantity::ApparentOneWayDelay]
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        if let Some(waterfall) = waterfall(finished) {
            let part = |part: &Part| json!({ "part": part.quantity, "start_ns": part.start.round() as i64, "finding": part.finding });
            let parts: Vec<Value> = waterfall.parts.iter().map(part).collect();
            document.insert("waterfall".into(), json!(parts));
            document.insert("sentence".into(), json!(sentence(&waterfall)));
        }
        // What is always there, and of those that say what limits, what is where it was found.
        let of = [
            (capacity::STAGE, &[Quantity::EndLinkCapacity][..], None),
            (KNEE.name(), &super::ppt::QUANTITIES, None),
            (delay::STAGE, &delay::QUANTITIES, None),
            (capacity::NARROW_STAGE, &capacity::NARROW, Some(&capacity::BUCKET[..])),
            (avail::STAGE, &avail::SHOWN, Some(&capacity::BUCKET)),
        ];
        for (stage, quantities, found) in of {
            if let Some(report) = finished.report(stage) {
                let mut findings = Map::new();
                insert_findings(&mut findings, report, quantities)?;
                if let Some(found) = found {
                    insert_told(&mut findings, report, found)?;
                }
                document.insert(stage.replace('-', "_"), Value::Object(findings));
            }
        }
        hops::insert(finished, document);
        document.insert("coalescence".into(), coalescence::document(finished.report(coalescence::STAGE)));
        document.insert("kernel_truth".into(), kernel_truth(finished, KNEE.name()));
        document.insert("warnings".into(), json!(warnings(finished)));
        Ok(())
    }

    fn text(&self, finished: &Finished, colour: bool) -> String {
        let mut text = String::new();
        if let Some(waterfall) = waterfall(finished) {
            let _ = writeln!(text, "{}\n{}.\n", bars(&waterfall).text(colour), sentence(&waterfall));
        }
        for found in finished.found.iter().filter(|found| found.stage != hops::STAGE) {
            let _ = writeln!(text, "{}", report_text(&found.report));
        }
        text.push_str(&hops::text(finished, colour));
        text
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let mut panels: Vec<Box<dyn Panel>> = Vec::new();
        let mut title = "Where the time goes".to_owned();
        if let Some(waterfall) = waterfall(finished) {
            title = sentence(&waterfall).replace(" us", " µs");
            panels.push(Box::new(bars(&waterfall)));
        }
        if let Some(report) = finished.report(KNEE.name()) {
            panels.push(Box::new(sweep(finished, report)));
        }
        if let Some(Ok(joined)) = &finished.hops {
            panels.push(Box::new(hops::bars(joined)));
        }
        (title, panels)
    }
}
