//! `dwell capacity`: how much the narrow link of the path carries, or the end link.

use super::{Measuring, insert_report, measure};
use crate::figure::cells;
use crate::output::Output;
use crate::picture::{Panel, Rates, Sizes};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::target::TargetArgs;
use anyhow::Result;
use clap::{Args, ValueEnum};
use dwell_core::capacity::{
    Bprobe, Capprobe, EndLink, Nettimer, PacketPair, Pathrate, ShaperProbe, SparedRuns, at_ip_layer,
    capprobe, nettimer, packet_pair, rates, spared,
};
use dwell_core::limit::Limit;
use dwell_core::{BitRate, Bytes, Finding, Method, Passage, PathFacts, Quantity, Report, Vantage, gap};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Measure how much the narrowest link of the path carries
///
/// The default method, `spared-runs`, finds the narrowest link, wherever on the path it is, among traffic of others, from
/// runs of packets that none of it touched; a long train at the end shows whether a token bucket lets no more than its rate
/// through, how much that is, and how deep the bucket is. `end-link` tells the link that the remote host hangs on, which may be faster.
/// The others are published methods under their authors' names, with their constants, and with their weaknesses.
///
/// Rates count what a packet takes of an Ethernet link, with header, preamble and gap; what is left at the IP layer is told
/// beside.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell capacity 192.0.2.7                        the narrowest link on the way there
  dwell capacity 192.0.2.7 --method end-link      the link that this host hangs on
  dwell capacity scenarios/lan-100m.toml --on sim --method pathrate --json")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Published method, or the project's own
    #[arg(long, value_enum, default_value_t)]
    method: CapacityMethod,
}

/// The methods for capacity.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CapacityMethod {
    /// Of the narrowest link, by runs of packets that cross traffic spared
    #[default]
    SparedRuns,
    /// Of the last link, by compound probes of several sizes
    EndLink,
    /// The rate that most pairs come at (Keshav 1991, Bolot 1993)
    PacketPair,
    /// The pair that nothing held up (Kapoor and others 2004)
    Capprobe,
    /// What pairs of several sizes agree on (Carter and Crovella 1996)
    Bprobe,
    /// The mode of pairs above the rate of long trains (Dovrolis and others 2004)
    Pathrate,
    /// Pairs through a kernel density filter (Lai and Baker 2001)
    Nettimer,
    /// Rate and depth of a token bucket, if there is one (Kanuparthy and Dovrolis 2011)
    ShaperProbe,
}

impl CapacityMethod {
    /// Its name in the book, in JSON and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SparedRuns => SparedRuns::NAME,
            Self::EndLink => EndLink::NAME,
            Self::PacketPair => PacketPair::NAME,
            Self::Capprobe => Capprobe::NAME,
            Self::Bprobe => Bprobe::NAME,
            Self::Pathrate => Pathrate::NAME,
            Self::Nettimer => Nettimer::NAME,
            Self::ShaperProbe => ShaperProbe::NAME,
        }
    }

    /// That of a record; of one that names none, the only one that there was.
    pub(crate) fn named(name: Option<&str>) -> Self {
        name.and_then(|name| Self::from_str(name, false).ok()).unwrap_or(Self::EndLink)
    }

    /// Name of its measurement in records.
    const fn stage(self) -> &'static str {
        match self {
            Self::EndLink => STAGE,
            _ => NARROW_STAGE,
        }
    }

    /// The link that it is about.
    pub(crate) const fn quantity(self) -> Quantity {
        match self {
            Self::EndLink => Quantity::EndLinkCapacity,
            Self::ShaperProbe => Quantity::TokenRate,
            _ => Quantity::NarrowLinkCapacity,
        }
    }

    /// Ready to probe a path of which so much is known.
    pub(crate) fn build(self, seed: u64, facts: &PathFacts) -> Box<dyn Method> {
        match self {
            Self::SparedRuns => {
                Box::new(SparedRuns::new(spared::Config { seed, ..spared::Config::default() }, facts))
            }
            Self::EndLink => Box::new(EndLink::new(Default::default(), facts)),
            Self::PacketPair => {
                Box::new(PacketPair::new(packet_pair::Config { seed, ..Default::default() }, facts))
            }
            Self::Capprobe => Box::new(Capprobe::new(capprobe::Config { seed, ..Default::default() }, facts)),
            Self::Bprobe => Box::new(Bprobe::new(Default::default(), facts)),
            Self::Pathrate => Box::new(Pathrate::new(Default::default(), facts)),
            Self::ShaperProbe => Box::new(ShaperProbe::new(Default::default(), facts)),
            Self::Nettimer => Box::new(Nettimer::new(nettimer::Config { seed, ..Default::default() }, facts)),
        }
    }
}

impl CapacityArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        measure(&Capacity { method: self.method }, &self.target, output)
    }
}

/// The analysis.
pub(crate) struct Capacity {
    pub(crate) method: CapacityMethod,
}

/// Name of the end link's measurement in records and of the method.
pub(crate) const STAGE: &str = "end-link";

/// Measures the end link, for what follows too: methods use its capacity, and the probing load is a share of it.
pub(crate) fn measure_end_link(run: &mut Run) -> Result<(Report, Duration)> {
    let mut method = EndLink::new(Default::default(), run.facts());
    let (report, took) = run.measure(STAGE, &mut method)?;
    run.learn_end_link(&report);
    Ok((report, took))
}

/// Measures the narrow link, by the project's own method.
pub(crate) fn measure_narrow(run: &mut Run) -> Result<()> {
    let mut method = CapacityMethod::SparedRuns.build(run.seed(), run.facts());
    run.measure(NARROW_STAGE, &mut *method)?;
    Ok(())
}

/// Name of the narrow link's measurement in records, and the quantity that is shown of it.
pub(crate) const NARROW_STAGE: &str = "capacity";
pub(crate) const NARROW: [Quantity; 1] = [Quantity::NarrowLinkCapacity];

/// What is shown of it where a token bucket was found.
pub(crate) const BUCKET: [Quantity; 2] = [Quantity::TokenRate, Quantity::BucketDepth];

const SHOWN: [Quantity; 5] = [
    Quantity::EndLinkCapacity,
    Quantity::NarrowLinkCapacity,
    Quantity::DispersionRate,
    Quantity::TokenRate,
    Quantity::BucketDepth,
];

impl Capacity {
    fn report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(self.method.stage())
    }

    /// What was found: of a token bucket the rate that lasts, for its link carries more for no longer than the bucket is deep.
    fn found(&self, report: &Report) -> Finding {
        let token = report.finding(Quantity::TokenRate);
        let is_bucket = report.verdict.as_ref().is_some_and(|verdict| verdict.limit == Limit::TokenBucket);
        if is_bucket && token.estimate().is_some() { token } else { report.finding(self.method.quantity()) }
    }

    /// The rate that was found, and what full packets get of it at the IP layer.
    fn layers(&self, finished: &Finished) -> Option<(BitRate, BitRate)> {
        let bps = self.found(self.report(finished)?).estimate()?;
        let rate = BitRate(bps.round() as u64);
        Some((rate, at_ip_layer(rate, finished.facts.max_size)))
    }
}

impl Measuring for Capacity {
    fn verb(&self) -> &'static str {
        "capacity"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (Some(self.method.name()), Vantage::Application)
    }

    fn limits_load(&self) -> bool {
        false
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        if self.method == CapacityMethod::EndLink {
            measure_end_link(run)?;
        } else {
            let mut method = self.method.build(run.seed(), run.facts());
            run.measure(self.method.stage(), &mut *method)?;
        }
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        self.report(finished)
    }

    fn asked(&self) -> &'static [Quantity] {
        match self.method {
            CapacityMethod::EndLink => &[Quantity::EndLinkCapacity],
            CapacityMethod::ShaperProbe => &[Quantity::DispersionRate],
            _ => &[Quantity::NarrowLinkCapacity],
        }
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = self.report(finished) else { return Ok(()) };
        insert_report(document, report, &SHOWN, finished)?;
        document.insert("layer".into(), json!("ethernet, framing counted"));
        document.insert("packet_bytes".into(), json!(finished.facts.max_size));
        let at_ip = self.layers(finished).map(|(_, at_ip)| at_ip);
        document.insert("ip_layer_bps".into(), json!(at_ip));
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        let mut text = self.report(finished).map(report_text).unwrap_or_default();
        if let Some((rate, at_ip)) = self.layers(finished) {
            let _ = writeln!(
                text,
                "{rate} with Ethernet framing; {at_ip} at the IP layer in packets of {} on the wire",
                finished.facts.max_size
            );
        }
        text
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let Some(report) = self.report(finished) else { return ("nothing was measured".into(), Vec::new()) };
        let finding = self.found(report);
        let is_known = !matches!(finding, Finding::Unmeasurable { .. });
        let [found, _] = cells(&finding);
        let known = finding.estimate().map(|bps| BitRate(bps.round() as u64));
        if self.method == CapacityMethod::EndLink {
            let line = known.map(|rate| (rate.nanos_for(Bytes(1)) / 1e3, rate.to_string()));
            let panel: Box<dyn Panel> = Box::new(Sizes { points: points(finished, report.stamps), line });
            let title = if is_known {
                format!("The end link carries {found}")
            } else {
                "What the end link carries could not be measured".to_owned()
            };
            return (title, vec![panel]);
        }
        let seen = finished.passages(self.method.stage());
        let panel = Rates {
            rates: seen.flat_map(|passage| rates(&passage.observation)).collect(),
            found: known.map(|rate| (rate.0 as f64, rate.to_string())),
        };
        let title = if self.method == CapacityMethod::ShaperProbe && !is_known {
            format!(
                "A burst makes {}, and shows no token bucket",
                cells(&report.finding(Quantity::DispersionRate))[0]
            )
        } else if !is_known {
            "What the narrowest link carries could not be measured".to_owned()
        } else if finding == report.finding(Quantity::TokenRate) {
            format!("A token bucket lets through {found}")
        } else {
            format!("The narrowest link carries {found}")
        };
        (title, vec![Box::new(panel)])
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
