//! One file a verb. Those that measure share one face, so that a live run and a replay are one piece of code.

pub(crate) mod agent;
pub(crate) mod agentless;
pub(crate) mod avail;
pub(crate) mod capacity;
pub(crate) mod coalescence;
pub(crate) mod delay;
pub(crate) mod echo;
mod ends;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod lab;
pub(crate) mod local;
pub(crate) mod path;
pub(crate) mod plan;
pub(crate) mod ppt;
pub(crate) mod replay;
pub(crate) mod sections;
pub(crate) mod serve;
pub(crate) mod throughput;
pub(crate) mod watch;

use crate::figure::{cost, sent};
use crate::output::Output;
use crate::picture::{Panel, Picture};
use crate::run::{Finished, Run};
use crate::screen::{print_json, print_text};
use crate::target::TargetArgs;
use crate::world::World;
use anyhow::{Result, bail};
use dwell_core::{Finding, Quantity, Report, Vantage};
use dwell_store::Ask;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// A verb that measures something.
pub(crate) trait Measuring {
    /// Its name.
    fn verb(&self) -> &'static str;

    /// The method, where there is a choice, and the stamps that it reads.
    fn method(&self) -> (Option<&'static str>, Vantage) {
        (None, Vantage::Application)
    }

    /// Whether it measures the end link first, of which `--max-load` is a share.
    fn limits_load(&self) -> bool {
        true
    }

    /// The measurements, one after another.
    fn analyse(&self, run: &mut Run) -> Result<()>;

    /// The report that the verb is about.
    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report>;

    /// The quantities of that report of which one at least must be found, or else the run failed.
    fn asked(&self) -> &'static [Quantity];

    /// The keys of its JSON document, beside those of every document.
    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()>;

    /// What a person reads.
    fn text(&self, finished: &Finished, colour: bool) -> String;

    /// The finding as a sentence, and the panels that show it.
    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>);
}

/// Measures a target from the command line.
pub(crate) fn measure(verb: &dyn Measuring, target: &TargetArgs, output: &Output) -> Result<()> {
    measure_in(verb, || target.open(output.seed), target, BTreeMap::new(), output)
}

/// Measures what the command line named in a world that is opened for it; a record keeps `settings` too.
pub(crate) fn measure_in(
    verb: &dyn Measuring,
    open: impl FnOnce() -> Result<Box<dyn World>>,
    target: &TargetArgs,
    settings: BTreeMap<String, String>,
    output: &Output,
) -> Result<()> {
    let (method, stamps) = verb.method();
    let limit = if verb.limits_load() {
        target.load.config()
    } else {
        target.load.no_limit()?;
        BTreeMap::new()
    };
    let ask = Ask {
        verb: verb.verb().to_owned(),
        target: target.host.clone(),
        method: method.map(str::to_owned),
        stamps,
        seed: output.seed,
        config: limit.into_iter().chain(settings).collect(),
    };
    conclude(verb, open()?, ask, target.load.share(), output)
}

/// Runs the measurements on a world and tells what came of them.
pub(crate) fn conclude(
    verb: &dyn Measuring,
    world: Box<dyn World>,
    ask: Ask,
    share: f64,
    output: &Output,
) -> Result<()> {
    // A host may be a scenario's file.
    output.spare(&[Path::new(&ask.target)], &[])?;
    let mut run = Run::begin(world, ask, share, output)?;
    verb.analyse(&mut run)?;
    let finished = run.finish()?;
    if output.json {
        print_json(&document(verb, &finished)?)?;
    } else {
        let mut text = verb.text(&finished, crate::screen::coloured());
        let _ = writeln!(text, "{}", cost_line(&finished));
        print_text(&text)?;
    }
    if let Some(file) = &output.plot {
        let (title, panels) = verb.panels(&finished);
        Picture { title, notes: notes(&finished), panels }.write(file)?;
    }
    answered(verb, &finished)
}

/// Fails if nothing at all could be said.
fn answered(verb: &dyn Measuring, finished: &Finished) -> Result<()> {
    let Some(report) = verb.main_report(finished) else { bail!("nothing was measured") };
    let mut why: Vec<(bool, String)> = Vec::new();
    for quantity in verb.asked() {
        let Finding::Unmeasurable { reason } = report.finding(*quantity) else { return Ok(()) };
        why.push((!report.findings.contains_key(quantity), reason));
    }
    // What the method looked for and did not find tells more than that it looks for something else.
    let why = why.into_iter().min_by_key(|(is_foreign, _)| *is_foreign);
    bail!("could not measure: {}", why.map_or_else(|| "nothing was asked for".to_owned(), |(_, why)| why))
}

/// What the run cost. One that was cut short left no account of its pauses.
fn cost_line(finished: &Finished) -> String {
    let effort = finished.effort();
    if finished.is_whole() { cost(&effort, finished.facts.end_link) } else { sent(&effort) }
}

/// The document of `--json`: what every verb tells, and what this one adds.
fn document(verb: &dyn Measuring, finished: &Finished) -> Result<Value> {
    let effort = finished.effort();
    let mut document = Map::new();
    document.insert("verb".into(), json!(verb.verb()));
    document.insert("dwell".into(), json!(env!("CARGO_PKG_VERSION")));
    document.insert("target".into(), json!(finished.ask.target));
    document.insert("seed".into(), json!(finished.ask.seed));
    verb.json(finished, &mut document)?;
    document.insert("probes".into(), json!(effort.probes));
    document.insert("packets".into(), json!(effort.packets));
    document.insert("lost".into(), json!(effort.lost));
    document.insert("bytes".into(), json!(effort.bytes));
    document.insert("seconds".into(), json!(finished.is_whole().then(|| effort.span.as_secs_f64())));
    let limit = finished.ask.config.get("max-load").and_then(|share| share.parse::<f64>().ok());
    if let Some(limit) = limit.filter(|_| verb.limits_load()) {
        document.insert("max_load".into(), json!(limit));
    }
    let link = finished.facts.end_link.filter(|_| finished.is_whole());
    document.insert("load".into(), json!(link.and_then(|link| effort.share_of(link))));
    document.insert("circumstances".into(), serde_json::to_value(&finished.circumstances)?);
    Ok(Value::Object(document))
}

/// The findings on `quantities` under their names.
fn insert_findings(
    document: &mut Map<String, Value>,
    report: &Report,
    quantities: &[Quantity],
) -> Result<()> {
    for quantity in quantities {
        document.insert(quantity.name().into(), serde_json::to_value(report.finding(*quantity))?);
    }
    Ok(())
}

/// What the documents of methods that tell a rate have in common: whose report it is, what it says of those of `shown` that
/// it has, and what is to be said of it.
fn insert_report(
    document: &mut Map<String, Value>,
    report: &Report,
    shown: &[Quantity],
    finished: &Finished,
) -> Result<()> {
    document.insert("method".into(), json!(report.method));
    document.insert("stamps".into(), serde_json::to_value(report.stamps)?);
    insert_told(document, report, shown)?;
    document.insert("warnings".into(), json!(warnings(finished)));
    Ok(())
}

/// What a report says of those of `shown` that it has, and its verdict.
fn insert_told(document: &mut Map<String, Value>, report: &Report, shown: &[Quantity]) -> Result<()> {
    let told: Vec<Quantity> =
        shown.iter().copied().filter(|quantity| report.findings.contains_key(quantity)).collect();
    insert_findings(document, report, &told)?;
    document.insert("verdict".into(), json!(report.verdict));
    Ok(())
}

/// All warnings of the run.
fn warnings(finished: &Finished) -> Vec<&String> {
    finished.found.iter().flat_map(|found| &found.report.warnings).collect()
}

/// What stands under a picture.
fn notes(finished: &Finished) -> Vec<String> {
    let here = &finished.circumstances;
    let host = |name: &str, host: &dwell_core::HostFacts| {
        let told = [host.processor.clone(), host.kernel.as_ref().map(|kernel| format!("kernel {kernel}"))];
        let told: Vec<String> = told.into_iter().flatten().collect();
        (!told.is_empty()).then(|| format!("{name}: {}", told.join(", ")))
    };
    let mut notes = vec![format!(
        "dwell {}: {} of {} ({}), seed {}",
        env!("CARGO_PKG_VERSION"),
        finished.ask.verb,
        finished.ask.target,
        here.world,
        finished.ask.seed
    )];
    notes.extend(host("sender", &here.sender));
    notes.extend(host("receiver", &here.receiver));
    notes.push(cost_line(finished));
    notes
}
