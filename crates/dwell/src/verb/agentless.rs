//! `dwell ppt --agentless`: what a host reveals whose kernel answers by itself.

use super::coalescence;
use super::ppt::QUANTITIES;
use super::{Measuring, insert_findings, warnings};
use crate::picture::{Gaps, Panel};
use crate::run::{Finished, Run};
use crate::screen::report_text;
use crate::waterfall::{Extent, US};
use anyhow::Result;
use clap::ValueEnum;
use dwell_core::host::agentless::{Agentless, AgentlessConfig, Request};
use dwell_core::{Finding, Method as _, PathFacts, Quantity, Report, Vantage};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What the host is asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asked {
    /// Echo requests
    Icmp,
    /// SYNs to a closed or open port
    Tcp,
}

impl From<Asked> for Request {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Icmp => Self::Icmp,
            Asked::Tcp => Self::Tcp,
        }
    }
}

/// A TCP port on which hardly anybody listens (discard).
pub(crate) const USUALLY_CLOSED: u16 = 9;

/// Name of the measurement in records and in rows.
pub(crate) const fn stage(request: Request) -> &'static str {
    match request {
        Request::Icmp => "agentless-icmp",
        Request::Tcp => "agentless-tcp",
    }
}

/// Keys of a record's settings.
const REQUEST: &str = "agentless";
const RATE: &str = "pairs-per-second";

/// Ready to ask, at so many pairs a second.
pub(crate) fn build(pairs_per_second: f64, facts: &PathFacts) -> Agentless {
    Agentless::new(AgentlessConfig { pairs_per_second, ..AgentlessConfig::default() }, facts)
}

/// The analysis.
pub(crate) struct AgentlessPpt {
    request: Request,
    pairs_per_second: f64,
}

/// What this verb must find one of.
const SOUGHT: [Quantity; 4] = [
    Quantity::CoalescencePresent,
    Quantity::CoalescencePeriod,
    Quantity::KernelServiceTime,
    Quantity::RoundTripMinimum,
];

impl AgentlessPpt {
    pub(crate) fn new(request: Request, pairs_per_second: f64) -> Self {
        Self { request, pairs_per_second }
    }

    /// The settings that a record keeps.
    pub(crate) fn config(&self) -> BTreeMap<String, String> {
        [
            (REQUEST.to_owned(), self.request.name().to_owned()),
            (RATE.to_owned(), self.pairs_per_second.to_string()),
        ]
        .into()
    }

    /// As a record's settings say; `None` where the host of that run had an agent.
    pub(crate) fn recorded(config: &BTreeMap<String, String>) -> Option<Self> {
        let asked = config.get(REQUEST)?;
        let request = [Request::Icmp, Request::Tcp].into_iter().find(|request| request.name() == asked)?;
        let rate = config.get(RATE).and_then(|rate| rate.parse().ok());
        Some(Self::new(request, rate.unwrap_or(AgentlessConfig::DEFAULT_RATE)))
    }

    fn report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(stage(self.request))
    }
}

/// What this host's own NIC may have done to the replies.
fn own_nic(finished: &Finished) -> Option<String> {
    let settings = &finished.circumstances.sender.coalescing;
    let set = |name: &&str| settings.get(*name).is_some_and(|value| *value > 0);
    let name = ["rx-usecs", "adaptive-rx"].into_iter().find(set)?;
    Some(format!(
        "this host's own NIC gathers packets, replies as well ({name} {}), and that looks as the other host's doing: \
         switch it off (`ethtool -C INTERFACE adaptive-rx off rx-usecs 0`) and measure again",
        settings[name]
    ))
}

impl Measuring for AgentlessPpt {
    fn verb(&self) -> &'static str {
        "ppt"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (Some(stage(self.request)), Vantage::Capture)
    }

    fn limits_load(&self) -> bool {
        false
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        let mut method = build(self.pairs_per_second, run.facts());
        run.measure(stage(self.request), &mut method)?;
        run.learn_coalescence(method.coalescence().coalesced());
        Ok(())
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        self.report(finished)
    }

    fn asked(&self) -> &'static [Quantity] {
        &SOUGHT
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        let Some(report) = self.report(finished) else { return Ok(()) };
        document.insert("method".into(), json!(report.method));
        document.insert(REQUEST.into(), json!(self.request));
        document.insert("pairs_per_second".into(), json!(self.pairs_per_second));
        document.insert("stamps".into(), serde_json::to_value(report.stamps)?);
        insert_findings(document, report, &QUANTITIES)?;
        insert_findings(document, report, &[Quantity::KernelServiceTime, Quantity::RoundTripMinimum])?;
        let capacity =
            Finding::unmeasurable("replies cross the links of both ways, and show the slowest of all");
        document.insert("end_link_capacity".into(), serde_json::to_value(capacity)?);
        document.insert("coalescence".into(), coalescence::document(Some(report)));
        document.insert("kernel_truth".into(), Value::Null);
        let doubts = warnings(finished).into_iter().cloned().chain(own_nic(finished));
        document.insert("warnings".into(), json!(doubts.collect::<Vec<_>>()));
        Ok(())
    }

    fn text(&self, finished: &Finished, _colour: bool) -> String {
        let mut text = self.report(finished).map(report_text).unwrap_or_default();
        if let Some(doubt) = own_nic(finished) {
            let _ = writeln!(text, "warning: {doubt}");
        }
        text
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        let Some(report) = self.report(finished) else { return ("nothing was measured".into(), Vec::new()) };
        let mut method = build(self.pairs_per_second, &finished.facts);
        for passage in finished.passages(stage(self.request)) {
            method.see(&passage.observation);
        }
        let samples = method.coalescence().samples();
        let gaps = Gaps {
            points: samples.iter().map(|sample| (sample.dispersion / 1e3, sample.gap / 1e3)).collect(),
            level: report.finding(Quantity::KernelServiceTime).estimate().map(|ns| ns / 1e3),
            offset: None,
            stage: Extent::Unknown,
        };
        (headline(report), vec![Box::new(gaps)])
    }
}

/// The finding as a sentence.
fn headline(report: &Report) -> String {
    let kind = report.finding(Quantity::CoalescenceKind).estimate();
    let period = Extent::from(&report.finding(Quantity::CoalescencePeriod));
    match kind.and_then(dwell_core::nic::Kind::of_code) {
        Some(dwell_core::nic::Kind::None) => "The host's NIC hands each packet on at once".to_owned(),
        Some(kind) => format!("The host's NIC gathers packets ({kind}) for {}", period.text(US)),
        None => "The replies do not tell whether the host's NIC gathers packets".to_owned(),
    }
}
