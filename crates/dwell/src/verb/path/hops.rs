//! The path hop by hop: table, waterfall, document.

use crate::figure::{cells, figure};
use crate::run::Finished;
use crate::table::Table;
use crate::waterfall::{Bar, Bars, Extent};
use dwell_core::hop::{HopFound, Joined, Says, Tight, Walk};
use dwell_core::{Finding, Quantity, Report, Unit, Vantage};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Name of the measurement in records.
pub(crate) const STAGE: &str = Walk::NAME;

/// What the hops say of the path as a whole, as a report.
pub(crate) fn report(joined: &Joined) -> Report {
    let mut report = Report::new(STAGE, Vantage::Capture)
        .with(Quantity::NarrowLinkCapacity, joined.narrow_link_capacity.clone());
    if let Some(tight) = &joined.tight {
        report = report.with(Quantity::AvailableBandwidth, tight.free.clone());
    }
    report.warnings.clone_from(&joined.warnings);
    report.verdict = Some(joined.verdict.clone());
    report
}

/// Puts the hops into a document.
pub(crate) fn insert(finished: &Finished, document: &mut Map<String, Value>) {
    let Some(hops) = &finished.hops else { return };
    match hops {
        Ok(joined) => {
            let Ok(Value::Object(told)) = serde_json::to_value(joined) else { return };
            document.extend(told.into_iter().filter(|(key, _)| key != "warnings"));
        }
        Err(reason) => drop(document.insert(STAGE.to_owned(), json!({ "unmeasurable": reason }))),
    }
}

/// What a person reads of the hops.
pub(crate) fn text(finished: &Finished, colour: bool) -> String {
    let joined = match &finished.hops {
        None => return String::new(),
        Some(Err(reason)) => return format!("hop by hop: not measurable: {reason}\n"),
        Some(Ok(joined)) => joined,
    };
    let mut text = String::new();
    if !joined.hops.is_empty() {
        let _ = writeln!(text, "{}", bars(joined).text(colour));
    }
    let mut rows = Table::new(&[
        "hop",
        "address",
        "link: pathchar",
        "95 % interval, or why",
        "path so far: segment",
        "answered",
    ]);
    for hop in &joined.hops {
        let ([link, sure], [path, _]) = (cells(&hop.capacity), cells(&hop.segment_capacity));
        let address = hop.address.map_or_else(|| "*".to_owned(), |address| address.to_string());
        let answered = format!("{} of {}", hop.answered, hop.asked);
        rows.add_row([hop.hop.to_string(), address, link, sure, path, answered]);
    }
    let _ = writeln!(text, "{}\n{}\nverdict: {}", rows.text(), sentence(joined), joined.verdict);
    for warning in &joined.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Which link is the narrow one and which the tight one.
pub(crate) fn sentence(joined: &Joined) -> String {
    let [capacity, _] = cells(&joined.narrow_link_capacity);
    let narrow = match joined.narrow_hop {
        Some(hop) => format!("Narrow link: {capacity}, in front of hop {hop}."),
        None => format!("Narrow link: {capacity}."),
    };
    let tight = match (&joined.tight, &joined.no_tight) {
        (Some(Tight { hop, trains, free }), _) => {
            let [free, _] = cells(free);
            format!(
                "Tight link: in front of hop {hop} by pathneck ({} of its trains grew there), {free} free.",
                figure(*trains, Unit::Ratio)
            )
        }
        (None, Some(reason)) => format!("Tight link: not measurable ({reason})."),
        (None, None) => {
            "Tight link: not told, for no link lengthened pathneck's trains: the first has the least free, or this host sends no faster than the tight one passes on.".to_owned()
        }
    };
    format!("{narrow} {tight}")
}

/// Where a round trip goes: each hop's least beyond that of the hop before it.
pub(crate) fn bars(joined: &Joined) -> Bars {
    let mut reached = 0.0;
    let mut bars = Vec::new();
    for hop in &joined.hops {
        let Some(took) = least(hop) else {
            bars.push(Bar { name: name(hop), start: reached / 1e3, extent: Extent::Unknown });
            continue;
        };
        // A router that is slow to answer makes the next one look nearer than itself.
        let (from, more) = (reached.min(took), (took - reached).max(0.0));
        // The least that was seen: no less may be the way's own.
        let extent = Extent::AtMost(more / 1e3);
        bars.push(Bar { name: name(hop), start: from / 1e3, extent });
        reached = reached.max(took);
    }
    let whole = Bar { name: "there and back".to_owned(), start: 0.0, extent: Extent::AtMost(reached / 1e3) };
    Bars { bars, whole, axis: "Least round trip of the smallest probe, hop by hop" }
}

fn least(hop: &HopFound) -> Option<f64> {
    match hop.round_trip {
        Finding::Value { value, .. } => Some(value),
        Finding::Bound { bound, .. } => Some(bound),
        Finding::Unmeasurable { .. } => None,
    }
}

fn name(hop: &HopFound) -> String {
    let [link, _] = cells(&hop.capacity);
    let rate = match hop.capacity {
        Finding::Unmeasurable { .. } => String::new(),
        _ => format!(", {link}"),
    };
    let what = if hop.says == Some(Says::Reached) { "host" } else { "hop" };
    format!("{what} {}{rate}", hop.hop)
}
