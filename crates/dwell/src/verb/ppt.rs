//! `dwell ppt`: how long the remote host keeps a packet.

use super::agentless::{AgentlessPpt, Asked, USUALLY_CLOSED};
use super::capacity::{STAGE, measure_end_link};
use super::coalescence::{self, measure_coalescence};
use super::{Measuring, insert_findings, measure, measure_in, warnings};
use crate::output::Output;
use crate::picture::{Gaps, Histogram, Panel};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use crate::waterfall::{Extent, US};
use anyhow::Result;
use clap::{Args, ValueEnum};
use dwell_core::host::AgentlessConfig;
use dwell_core::host::knee::{Knee, KneeConfig};
use dwell_core::host::{Salehin2015, Salehin2017, salehin2015, salehin2017};
use dwell_core::{Finding, Method, Nanos, PathFacts, Quantity, Report, Vantage, gap, truth};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Measure how long the remote host keeps a packet before its program sees it
///
/// The default method, `knee`, looks for the dispersion of a packet pair at which the second packet begins to find
/// the program waiting: the application stage, from socket queue to program. What the kernel does before that is
/// invisible from afar, so the whole packet processing time is bounded from below. `salehin2015` and `salehin2017`
/// are the published estimators.
///
/// `--agentless` measures any host that answers echo requests or SYNs: how its NIC gathers packets, and what its kernel
/// takes for one. Of its programs nothing is seen. The host is asked for about a minute.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell ppt 192.0.2.7                                     the application stage of a host with an agent
  dwell ppt 192.0.2.7 --plot sweep.svg                    with a picture of the sweep
  dwell ppt 192.0.2.7 --method salehin2015 --stamps capture
  dwell ppt 192.0.2.7 --agentless icmp                    a host without an agent
  dwell ppt scenarios/lan-100m.toml --on sim --json       in the simulator, as JSON")]
pub(crate) struct PptArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Published method, by its authors and year, or the project's own
    #[arg(long, value_enum, default_value_t = PptMethod::Knee)]
    method: PptMethod,

    /// Which of the receiver's stamps to read
    #[arg(long, value_enum, default_value_t = Stamps::Application)]
    stamps: Stamps,

    /// Measure a host without an agent, by what its kernel answers (needs CAP_NET_RAW)
    #[arg(long, value_enum, value_name = "REQUEST", conflicts_with_all = ["method", "stamps"])]
    agentless: Option<Asked>,

    /// TCP port of that host; a closed one tells most
    #[arg(long, value_name = "PORT", default_value_t = USUALLY_CLOSED, requires = "agentless",
          value_parser = clap::value_parser!(u16).range(1..))]
    target_port: u16,

    /// Pairs of requests a second that it is asked at most, from 0.1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = AgentlessConfig::DEFAULT_RATE, requires = "agentless",
          value_parser = rate)]
    pairs_per_second: f64,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    if (0.1..=1_000.0).contains(&rate) { Ok(rate) } else { Err("a rate is from 0.1 to 1000".to_owned()) }
}

/// The methods for a host's packet processing time.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PptMethod {
    /// The break between waiting and not waiting, in a sweep of the dispersion
    #[default]
    Knee,
    /// Two packet sizes (papers/000)
    Salehin2015,
    /// Several packet sizes, for coalescing NICs (papers/002)
    Salehin2017,
}

/// Whose stamps a method reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stamps {
    /// The program's own
    Application,
    /// The kernel's, as a capture shows them
    Capture,
}

impl From<Stamps> for Vantage {
    fn from(stamps: Stamps) -> Self {
        match stamps {
            Stamps::Application => Self::Application,
            Stamps::Capture => Self::Capture,
        }
    }
}

impl PptMethod {
    /// Its name in the book, in JSON and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Knee => "knee",
            Self::Salehin2015 => "salehin2015",
            Self::Salehin2017 => "salehin2017",
        }
    }

    /// Ready to probe a path of which so much is known, with another number of probes than usual if one is given:
    /// at most so many for `knee`, so many of each size for the others.
    pub(crate) fn build(
        self,
        stamps: Vantage,
        probes: Option<usize>,
        seed: u64,
        facts: &PathFacts,
    ) -> Box<dyn Method> {
        match self {
            Self::Knee => {
                let usual = KneeConfig::default();
                let budget = probes.unwrap_or(usual.budget);
                Box::new(Knee::new(KneeConfig { stamps, budget, ..usual }, facts))
            }
            Self::Salehin2015 => {
                let usual = salehin2015::Config::default();
                let probes = probes.unwrap_or(usual.probes);
                let config = salehin2015::Config { vantage: stamps, probes, seed, ..usual };
                Box::new(Salehin2015::new(config, facts))
            }
            Self::Salehin2017 => {
                let usual = salehin2017::Config::default();
                let probes = probes.unwrap_or(usual.probes);
                let config = salehin2017::Config { vantage: stamps, probes, seed, ..usual };
                Box::new(Salehin2017::new(config, facts))
            }
        }
    }
}

impl PptArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if let Some(asked) = self.agentless {
            let verb = AgentlessPpt::new(asked.into(), self.pairs_per_second);
            let open = || self.target.ask(asked.into(), self.target_port, output.seed);
            return measure_in(&verb, open, &self.target, verb.config(), output);
        }
        measure(&Ppt::new(self.method, self.stamps.into()), &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Ppt {
    method: PptMethod,
    stamps: Vantage,
}

/// Findings that every document of this verb holds.
pub(crate) const QUANTITIES: [Quantity; 5] = [
    Quantity::ApplicationStage,
    Quantity::PptHeading,
    Quantity::PptTrailing,
    Quantity::ServiceTime,
    Quantity::DifferentialPpt,
];

impl Ppt {
    pub(crate) fn new(method: PptMethod, stamps: Vantage) -> Self {
        Self { method, stamps }
    }

    fn report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(self.method.name())
    }
}

impl Measuring for Ppt {
    fn verb(&self) -> &'static str {
        "ppt"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (Some(self.method.name()), self.stamps)
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        measure_end_link(run)?;
        measure_coalescence(run)?;
        let mut method = self.method.build(self.stamps, None, run.seed(), run.facts());
        run.measure(self.method.name(), &mut *method)?;
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        self.report(finished)
    }

    fn asked(&self) -> &'static [Quantity] {
        &QUANTITIES
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = self.report(finished) else { return Ok(()) };
        document.insert("method".into(), json!(report.method));
        document.insert("stamps".into(), serde_json::to_value(report.stamps)?);
        insert_findings(document, report, &QUANTITIES)?;
        let capacity = end_link(finished).unwrap_or_else(|| report.finding(Quantity::EndLinkCapacity));
        document.insert("end_link_capacity".into(), serde_json::to_value(capacity)?);
        document.insert("coalescence".into(), coalescence::document(finished.report(coalescence::STAGE)));
        document.insert("kernel_truth".into(), kernel_truth(finished, self.method.name()));
        document.insert("warnings".into(), json!(warnings(finished)));
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        let mut text: String = finished.found.iter().map(|found| report_text(&found.report) + "\n").collect();
        if let Some(truth) = kernel_quartiles(finished, self.method.name()) {
            let [low, middle, high] = truth.map(|ns| Nanos::from_f64(ns).to_string());
            let _ = writeln!(
                text,
                "The receiver's kernel stamps say, packet by packet: {middle} (quartiles {low} to {high}) from \
                 kernel to program."
            );
        }
        text
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let Some(report) = self.report(finished) else { return ("nothing was measured".into(), Vec::new()) };
        let mut panels: Vec<Box<dyn Panel>> = Vec::new();
        if self.method == PptMethod::Knee {
            panels.push(Box::new(sweep(finished, report)));
        }
        panels.extend(histogram(finished, self.method.name(), self.stamps));
        (headline(report), panels)
    }
}

/// The finding as a sentence.
fn headline(report: &Report) -> String {
    let name = &report.method;
    match report.finding(Quantity::ApplicationStage) {
        Finding::Unmeasurable { .. } => match Extent::from(&report.finding(Quantity::PptHeading)) {
            Extent::Unknown => format!("{name} cannot tell how long the host keeps a packet here"),
            known => format!("{name}: packet processing time {}", known.text(US)),
        },
        finding => {
            format!("The application stage takes {}", Extent::from(&finding).text(US))
        }
    }
}

/// The sweep of `knee`.
pub(crate) fn sweep(finished: &Finished, report: &Report) -> Gaps {
    let config = KneeConfig { stamps: report.stamps, ..KneeConfig::default() };
    let mut knee = Knee::new(config, &finished.facts);
    for passage in finished.passages("knee") {
        knee.see(&passage.observation);
    }
    let points = knee.samples().iter().map(|sample| (sample.dispersion / 1e3, sample.gap / 1e3)).collect();
    let micros = |quantity| report.finding(quantity).estimate().map(|ns| ns / 1e3);
    Gaps {
        points,
        level: micros(Quantity::ServiceTime),
        offset: micros(Quantity::DifferentialPpt),
        stage: Extent::from(&report.finding(Quantity::ApplicationStage)),
    }
}

/// Gaps of the back-to-back probes of the most frequent size, before and after the filter of papers/000, 2.3.
fn histogram(finished: &Finished, stage: &str, stamps: Vantage) -> Option<Box<dyn Panel>> {
    let mut sizes: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for passage in finished.passages(stage) {
        let Some((_, trailing)) = gap::compound_probe(&passage.observation) else { continue };
        let [first, second] = passage.observation.fates.as_slice() else { continue };
        sizes.entry(trailing).or_default().extend(gap::between(first, second, stamps));
    }
    let (size, before) =
        sizes.into_iter().max_by_key(|(_, gaps)| gaps.len()).filter(|(_, gaps)| gaps.len() >= 10)?;
    let filtered = gap::filter(&before, gap::FILTER_BIN.as_f64())?;
    let micros = |gaps: &[f64]| gaps.iter().map(|ns| ns / 1e3).collect();
    Some(Box::new(Histogram {
        title: format!("Back-to-back pairs with a trailing packet of {size}"),
        before: micros(&before),
        after: micros(&filtered.kept),
        bin: gap::FILTER_BIN.as_micros_f64(),
    }))
}

/// The end link's capacity, as its own method found it.
pub(crate) fn end_link(finished: &Finished) -> Option<Finding> {
    finished.report(STAGE).map(|report| report.finding(Quantity::EndLinkCapacity))
}

fn kernel_quartiles(finished: &Finished, stage: &str) -> Option<[f64; 3]> {
    let observations = finished.passages(stage).map(|passage| &passage.observation);
    truth::kernel_ppt(observations).map(|quartiles| [quartiles.p25, quartiles.p50, quartiles.p75])
}

/// Null where the receiver's kernel gave no stamps.
pub(crate) fn kernel_truth(finished: &Finished, stage: &str) -> Value {
    kernel_quartiles(finished, stage).map_or(Value::Null, |quartiles| {
        let [p25, p50, p75] = quartiles.map(|ns| Nanos::from_f64(ns).0);
        json!({ "ppt_heading_ns": { "p25": p25, "p50": p50, "p75": p75 } })
    })
}
