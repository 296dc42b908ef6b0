//! The path that a plan is for: told, described by a scenario, or measured by Dwell before.

use crate::failure::bad_argument;
use crate::target::load;
use anyhow::{Context, Result, anyhow};
use dwell_core::sizing::{Link, ratio};
use dwell_core::unit::{ETHERNET_MIN, ETHERNET_OVERHEAD};
use dwell_core::{BitRate, Bytes, Finding, Nanos, Quantity, Side, Unit};
use dwell_sim::{Framing, Scenario};
use dwell_store::Record;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The longest JSON document that is read.
const MOST_JSON: u64 = 16 << 20;

/// The largest IP packet of a path of which nothing else is told.
const MTU: Bytes = Bytes(1500);

/// A path to plan for.
pub(super) struct Given {
    /// `links`, `scenario`, `record` or `result`.
    pub(super) kind: &'static str,
    /// The file, or the capacities as they were told.
    pub(super) name: String,
    /// The path and its hosts.
    pub(super) scenario: Scenario,
    /// The smallest packet that can carry a probe.
    pub(super) least: Bytes,
    /// What was measured, where the path was not told.
    pub(super) measured: Option<Measured>,
}

/// What Dwell measured of a path.
pub(super) struct Measured {
    pub(super) end_link: Finding,
    pub(super) narrow_link: Finding,
    /// The ratio that keeps pairs together whatever the other links are.
    pub(super) alpha: Finding,
    /// The smallest stage that `knee` can find there.
    pub(super) smallest_stage: Finding,
    /// What the two figures leave open.
    pub(super) caveat: String,
}

/// What the command line says of the path besides its links.
pub(super) struct Told {
    pub(super) framing: Option<Framing>,
    pub(super) mtu: Option<Bytes>,
    pub(super) resolution: Option<Nanos>,
}

impl Given {
    /// A path of these links.
    pub(super) fn links(rates: &[BitRate], told: &Told) -> Result<Self> {
        let name = rates.iter().map(BitRate::to_string).collect::<Vec<_>>().join(", ");
        let scenario = scenario(rates, told)?;
        Ok(Self { kind: "links", name, scenario, least: ETHERNET_MIN, measured: None })
    }

    /// A path that a file tells of: a scenario, a record, or the JSON of a measurement.
    pub(super) fn file(file: &Path, told: &Told) -> Result<Self> {
        let name = file.display().to_string();
        if file.extension().is_some_and(|extension| extension == "toml") {
            let mut scenario = load(file)?;
            scenario.mtu = told.mtu.unwrap_or(scenario.mtu);
            scenario.destination.clock.resolution =
                told.resolution.unwrap_or(scenario.destination.clock.resolution);
            return Ok(Self { kind: "scenario", name, scenario, least: ETHERNET_MIN, measured: None });
        }
        let mut lines = BufReader::new(File::open(file).with_context(|| name.clone()).map_err(bad_argument)?);
        let mut text = String::new();
        let unreadable = |error: std::io::Error| bad_argument(anyhow!("{name}: {error}"));
        lines.by_ref().take(MOST_JSON).read_line(&mut text).map_err(unreadable)?;
        let first: Option<Value> = serde_json::from_str(&text).ok();
        if first.is_some_and(|first| first.get("dwell_record").is_some()) {
            return Self::record(&Record::load(file)?, name, told);
        }
        lines.take(MOST_JSON).read_to_string(&mut text).map_err(unreadable)?;
        let document: Value = serde_json::from_str(&text).map_err(|error| {
            bad_argument(anyhow!(
                "{name}: neither a scenario (.toml), nor a record, nor the JSON of a measurement: {error}"
            ))
        })?;
        Self::result(&document, name, told)
    }

    fn record(record: &Record, name: String, told: &Told) -> Result<Self> {
        let reports = || record.found.iter().map(|found| &found.report);
        let find = |quantity| {
            let mut found = reports().filter_map(|report| report.findings.get(&quantity));
            found.find(|finding| !matches!(finding, Finding::Unmeasurable { .. })).cloned()
        };
        let end_link = find(Quantity::EndLinkCapacity).ok_or_else(|| {
            bad_argument(anyhow!(
                "{name}: no capacity of an end link was found in that run; record `dwell capacity --method end-link`"
            ))
        })?;
        let facts = record.header.facts;
        let told = Told {
            mtu: told.mtu.or(facts.map(|facts| facts.max_size - ETHERNET_OVERHEAD)),
            resolution: told.resolution.or(facts.map(|facts| facts.resolution)),
            ..*told
        };
        let least = facts.map_or(ETHERNET_MIN, |facts| facts.min_size);
        Self::measured("record", name, [end_link, find_or(find(Quantity::NarrowLinkCapacity))], least, &told)
    }

    fn result(document: &Value, name: String, told: &Told) -> Result<Self> {
        let find = |quantity: Quantity| -> Result<Option<Finding>> {
            let Some(value) = document.get(quantity.name()) else { return Ok(None) };
            serde_json::from_value(value.clone()).map(Some).map_err(|_| {
                bad_argument(anyhow!(
                    "{name}: {}: expected a value with its interval, a bound, or the reason why there is none",
                    quantity.name()
                ))
            })
        };
        let narrow_link = find_or(find(Quantity::NarrowLinkCapacity)?);
        let no_narrower = || {
            let least = match &narrow_link {
                Finding::Value { low, .. } => *low,
                Finding::Bound { bound, side: Side::Lower, .. } => *bound,
                _ => return None,
            };
            Some(Finding::at_least(least, Unit::Bps, "no link is narrower than the narrowest"))
        };
        let end_link = find(Quantity::EndLinkCapacity)?.or_else(no_narrower).ok_or_else(|| {
            bad_argument(anyhow!(
                "{name}: no `end_link_capacity` in it; give what `dwell capacity --method end-link --json` printed"
            ))
        })?;
        let token = find(Quantity::TokenRate)?.and_then(|token| token.estimate());
        let mut given = Self::measured("result", name, [end_link, narrow_link], ETHERNET_MIN, told)?;
        if let (Some(token), Some(measured)) = (token, &mut given.measured) {
            let _ = write!(
                measured.caveat,
                "; a token bucket lets no more than {} through for long, and the plan is for what passes before it is empty",
                BitRate(token.round() as u64)
            );
        }
        Ok(given)
    }

    fn measured(
        kind: &'static str,
        name: String,
        [end_link, narrow_link]: [Finding; 2],
        least: Bytes,
        told: &Told,
    ) -> Result<Self> {
        let Some(end) = capacity(&end_link) else {
            let Finding::Unmeasurable { reason } = &end_link else {
                return Err(bad_argument(anyhow!(
                    "{name}: the end link's capacity is bounded from above only"
                )));
            };
            return Err(bad_argument(anyhow!(
                "{name}: the end link's capacity was not measurable: {reason}"
            )));
        };
        let narrow = capacity(&narrow_link);
        let heading = told.mtu.unwrap_or(MTU) + ETHERNET_OVERHEAD;
        let (links, alpha, caveat) = assume(&end_link, end, &narrow_link, narrow, heading);
        let scenario = scenario(&links, told).map_err(|error| bad_argument(anyhow!("{name}: {error}")))?;
        let time = |bps: f64| Link::ethernet(BitRate(bps.round() as u64)).occupied(least);
        let smallest_stage = match (&narrow_link, &end_link) {
            (Finding::Value { value, low, high, .. }, _) if *low >= 1.0 => {
                Finding::nanos(time(*value), time(*high), time(*low))
            }
            (Finding::Bound { bound, side: Side::Lower, .. }, _) if *bound >= 1.0 => Finding::at_most(
                time(*bound),
                Unit::Ns,
                "the narrowest link's capacity has a lower bound only",
            ),
            (_, Finding::Value { high, .. }) => Finding::at_least(
                time(*high),
                Unit::Ns,
                "the narrowest link was not measured, and it may be narrower than the end link",
            ),
            _ => Finding::unmeasurable("of neither link more than a lower bound is known"),
        };
        let measured = Measured { end_link, narrow_link, alpha, smallest_stage, caveat };
        Ok(Self { kind, name, scenario, least, measured: Some(measured) })
    }
}

fn find_or(finding: Option<Finding>) -> Finding {
    finding.unwrap_or_else(|| Finding::unmeasurable("the narrowest link was not measured"))
}

/// A capacity that is there: a value, or a bound from below.
fn capacity(finding: &Finding) -> Option<BitRate> {
    let bps = match finding {
        Finding::Value { value, .. } => *value,
        Finding::Bound { bound, side: Side::Lower, .. } => *bound,
        _ => return None,
    };
    (bps >= 1.0).then(|| BitRate(bps.round() as u64))
}

/// The path to plan for when two figures are all that is known, the ratio for it, and what is not known.
///
/// With the end link as narrowest, no pair disperses whatever links there are before it. With a narrower one somewhere
/// before, the worst place for it is right before the end link: (23) is nowhere smaller than c_narrow / c_n.
fn assume(
    end: &Finding,
    end_rate: BitRate,
    narrow: &Finding,
    narrow_rate: Option<BitRate>,
    heading: Bytes,
) -> (Vec<BitRate>, Finding, String) {
    let ends = |finding: &Finding, rate: BitRate| match finding {
        Finding::Value { low, high, .. } => (*low, *high),
        _ => (rate.0 as f64, f64::INFINITY),
    };
    let Some(narrow_rate) = narrow_rate else {
        let why =
            "the narrowest link was not measured: if one before the end link is narrower, pairs may disperse";
        return (vec![end_rate], Finding::unmeasurable(why), format!("{why}; this plan holds if none is"));
    };
    let (end_low, end_high) = ends(end, end_rate);
    let (narrow_low, narrow_high) = ends(narrow, narrow_rate);
    if end_high.is_infinite() {
        let why = format!(
            "of the end link only a lower bound is known, {end_rate}: a faster one behind a narrower link asks for a \
             larger ratio"
        );
        let links = if narrow_rate < end_rate { vec![narrow_rate, end_rate] } else { vec![end_rate] };
        return (
            links,
            Finding::unmeasurable(&why),
            format!("{why}; this plan is for an end link at the bound"),
        );
    }
    if narrow_high >= end_low {
        let why = "the end link is the narrowest, so pairs reach it together whatever links come before";
        let caveat = format!("{why}; those are not known, and the plan shows the end link alone");
        return (vec![end_rate], Finding::at_most(1.0, Unit::Ratio, why), caveat);
    }
    let why = "as if the narrowest link were right before the end link, the worst place for it; whatever the other \
               links are, this is enough";
    let caveat = format!(
        "two capacities are known, of a path whose links are not: {narrow_rate} somewhere before, {end_rate} at the end. \
         The plan is {why}"
    );
    let worst = [narrow_low, end_high].map(|bps| Link::ethernet(BitRate(bps.max(1.0).round() as u64)));
    let alpha = match ratio::largest_trailing(&worst, heading, &[]) {
        Some(largest) => Finding::at_most(heading.0 as f64 / largest, Unit::Ratio, why),
        None => Finding::unmeasurable("no trailing packet is small enough if the two links are neighbours"),
    };
    (vec![narrow_rate, end_rate], alpha, caveat)
}

/// The path as a scenario, so that one set of rules checks all that is told.
fn scenario(rates: &[BitRate], told: &Told) -> Result<Scenario> {
    let mut text = String::from("name = \"plan\"\n");
    let _ = writeln!(text, "mtu = \"{} B\"", told.mtu.unwrap_or(MTU).0);
    if let Some(Nanos(resolution)) = told.resolution {
        let _ = writeln!(text, "[destination.clock]\nresolution = \"{resolution} ns\"");
    }
    let framing = match told.framing {
        None | Some(Framing::Ethernet) => "ethernet",
        Some(Framing::None) => "none",
    };
    for BitRate(rate) in rates {
        let _ = writeln!(text, "[[links]]\nrate = \"{rate} b/s\"\nframing = \"{framing}\"");
    }
    // The text is ours, so its lines mean nothing to anybody: the key and the problem do.
    Scenario::parse("plan", &text).map_err(|error| match error {
        dwell_sim::ScenarioError::Wrong { key, problem, .. } => bad_argument(anyhow!("{key}: {problem}")),
        other => bad_argument(other),
    })
}
