//! `dwell avail`: how much of the path is free.

use super::capacity::measure_end_link;
use super::{Measuring, insert_report, measure};
use crate::counted::counted;
use crate::figure::cells;
use crate::output::Output;
use crate::picture::{Panel, Strain};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use anyhow::Result;
use clap::{Args, ValueEnum};
use dwell_core::avail::igi::Answer;
use dwell_core::avail::{
    Abing, Bart, Busy, Cprobe, Igi, Pathchirp, Pathload, Spruce, Topp, bart, busy, igi, offered,
    offered_gaps, spruce,
};
use dwell_core::{BitRate, Finding, Method, Observation, PathFacts, Quantity, Report, Vantage};
use serde_json::{Map, Value};

/// Measure how much of the path's capacity is free
///
/// The default method, `busy-trains`, sends a few hundred packets in short trains, each fast enough to keep the tight
/// link busy, and counts what other traffic came between them. The others are published methods under their authors'
/// names, as they were published: with their constants, and with their weaknesses.
///
/// Rates count what a packet takes of an Ethernet link, with header, preamble and gap.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell avail 192.0.2.7                        what is free on the way there
  dwell avail 192.0.2.7 --method pathload      the same, as pathload measures it
  dwell avail scenarios/cross-30.toml --on sim --json")]
pub(crate) struct AvailArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Published method, or the project's own
    #[arg(long, value_enum, default_value_t = AvailMethod::BusyTrains)]
    method: AvailMethod,
}

/// The methods for available bandwidth.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AvailMethod {
    /// Trains that keep the tight link busy
    #[default]
    BusyTrains,
    /// Streams that load themselves (Jain and Dovrolis 2002)
    Pathload,
    /// Packets that come ever closer (Ribeiro and others 2003)
    Pathchirp,
    /// Pairs as far apart as the tight link serves them (Strauss and others 2003)
    Spruce,
    /// Competing traffic at the turning point (Hu and Steenkiste 2003)
    Igi,
    /// Rate at the turning point (Hu and Steenkiste 2003)
    Ptr,
    /// Pairs back to back (Navratil and Cottrell 2003)
    Abing,
    /// Pairs at rates that grow (Melander and others 2000)
    Topp,
    /// The same line, followed by a Kalman filter (Ekelin and others 2006)
    Bart,
    /// Short trains: a bound, for their rate is not what is free (Carter and Crovella 1996)
    Cprobe,
}

impl AvailMethod {
    /// Its name in the book, in JSON and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BusyTrains => Busy::NAME,
            Self::Pathload => Pathload::NAME,
            Self::Pathchirp => Pathchirp::NAME,
            Self::Spruce => Spruce::NAME,
            Self::Igi => "igi",
            Self::Ptr => "ptr",
            Self::Abing => Abing::NAME,
            Self::Topp => Topp::NAME,
            Self::Bart => Bart::NAME,
            Self::Cprobe => Cprobe::NAME,
        }
    }

    /// That of a record.
    pub(crate) fn named(name: Option<&str>) -> Self {
        name.and_then(|name| Self::from_str(name, false).ok()).unwrap_or_default()
    }

    /// Whether it takes the capacity as known.
    pub(crate) const fn needs_capacity(self) -> bool {
        matches!(self, Self::Spruce | Self::Igi | Self::Ptr)
    }

    /// Ready to probe a path of which so much is known.
    pub(crate) fn build(self, seed: u64, facts: &PathFacts) -> Box<dyn Method> {
        let igi = |answer| Box::new(Igi::new(igi::Config { answer, ..igi::Config::default() }, facts));
        match self {
            Self::BusyTrains => Box::new(Busy::new(busy::Config { seed, ..busy::Config::default() }, facts)),
            Self::Pathload => Box::new(Pathload::new(Default::default(), facts)),
            Self::Pathchirp => Box::new(Pathchirp::new(Default::default(), facts)),
            Self::Spruce => {
                Box::new(Spruce::new(spruce::Config { seed, ..spruce::Config::default() }, facts))
            }
            Self::Igi => igi(Answer::Igi),
            Self::Ptr => igi(Answer::Ptr),
            Self::Abing => Box::new(Abing::new(Default::default(), facts)),
            Self::Topp => Box::new(Topp::new(Default::default(), facts)),
            Self::Bart => Box::new(Bart::new(bart::Config { seed, ..bart::Config::default() }, facts)),
            Self::Cprobe => Box::new(Cprobe::new(Default::default(), facts)),
        }
    }
}

impl AvailArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        measure(&Avail { method: self.method }, &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Avail {
    pub(crate) method: AvailMethod,
}

/// Name of the measurement in records.
pub(crate) const STAGE: &str = "avail";

pub(crate) const SHOWN: [Quantity; 5] = [
    Quantity::AvailableBandwidth,
    Quantity::AveragingTime,
    Quantity::TightLinkCapacity,
    Quantity::DispersionRate,
    Quantity::NarrowLinkCapacity,
];

/// Measures what is free, by the project's own method.
pub(crate) fn measure_free(run: &mut Run) -> Result<()> {
    let mut method = AvailMethod::default().build(run.seed(), run.facts());
    run.measure(STAGE, &mut *method)?;
    Ok(())
}

impl Measuring for Avail {
    fn verb(&self) -> &'static str {
        "avail"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (Some(self.method.name()), Vantage::Application)
    }

    fn limits_load(&self) -> bool {
        self.method.needs_capacity()
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        let mut facts = *run.facts();
        if self.method.needs_capacity() {
            measure_end_link(run)?;
            facts = run.facts_that_are_values();
        }
        let mut method = self.method.build(run.seed(), &facts);
        run.measure(STAGE, &mut *method)?;
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(STAGE)
    }

    fn asked(&self) -> &'static [Quantity] {
        &[Quantity::AvailableBandwidth]
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = finished.report(STAGE) else { return Ok(()) };
        insert_report(document, report, &SHOWN, finished)?;
        document.insert("truth".into(), serde_json::to_value(finished.used.get(STAGE))?);
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        let found = finished.report(STAGE).map(report_text).unwrap_or_default();
        found + &finished.used.get(STAGE).and_then(counted).unwrap_or_default()
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let Some(report) = finished.report(STAGE) else { return ("nothing was measured".into(), Vec::new()) };
        let finding = report.finding(Quantity::AvailableBandwidth);
        let title = match &finding {
            Finding::Unmeasurable { .. } => "What is free of the path could not be measured".to_owned(),
            found => format!("{} of the path is free", cells(found)[0]),
        };
        let seen: Vec<&Observation> = finished.passages(STAGE).map(|passage| &passage.observation).collect();
        // No two gaps of a chirp are alike.
        let (points, of): (Vec<_>, _) = match self.method {
            AvailMethod::Pathchirp => {
                (seen.iter().flat_map(|seen| offered_gaps(seen)).collect(), "gaps of chirps")
            }
            _ => (seen.iter().filter_map(|seen| offered(seen)).collect(), "trains"),
        };
        let lost = if of == "trains" { seen.len() - points.len() } else { 0 };
        let free = finding.estimate().map(|bps| (bps, BitRate(bps.round() as u64).to_string()));
        (title, vec![Box::new(Strain { points, of, lost, free })])
    }
}
