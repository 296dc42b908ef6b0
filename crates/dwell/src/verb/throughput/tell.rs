//! What a run of TCP connections is told as.

use super::course;
use super::tcp::effort;
use super::told::{Told, keys, way};
use crate::figure::counted;
use crate::output::Output;
use crate::picture::Panel;
use anyhow::Result;
use dwell_core::throughput::verdict::shares;
use dwell_core::throughput::{Interval, Transfer, report};
use dwell_core::{Circumstances, Nanos, Quantity};
use dwell_store::Ask;
use serde_json::{Map, Value, json};

/// Runs that are over.
pub(super) struct Measured {
    pub(super) ask: Ask,
    pub(super) circumstances: Circumstances,
    /// Those that showed how many connections fill the path.
    pub(super) trials: Vec<Transfer>,
    /// The measurement.
    pub(super) run: Transfer,
}

/// Sub-intervals of the document.
const SECOND: Nanos = Nanos::from_secs(1);
/// Of the picture.
const FINE: Nanos = Nanos::from_millis(200);

/// Tells.
pub(super) fn tell(measured: &Measured, output: &Output) -> Result<()> {
    let Measured { ask, circumstances, trials, run } = measured;
    let panels: Vec<Box<dyn Panel>> =
        vec![Box::new(course::rates(run, FINE)), Box::new(course::round_trips(run, FINE))];
    let connections = run.connections();
    let counted = match trials.len() {
        0 => String::new(),
        runs => format!(
            "\nWith the {} that showed how many connections fill the path, from the beginning on:",
            counted(runs as u64, "short run")
        ),
    };
    let line = format!(
        "{connections} {} {} {} ({}); throughput counts payload, as the program reads it{counted}",
        if connections == 1 { "connection" } else { "connections" },
        way(run.direction),
        ask.target,
        run.connection.congestion
    );
    let told = Told {
        ask,
        circumstances,
        report: report::report(run),
        asked: Quantity::Throughput,
        of: "payload",
        direction: run.direction,
        effort: effort(measured),
        line,
        keys: own(measured),
        panels,
    };
    told.tell(output)
}

/// Keys of the document that other methods have not.
fn own(Measured { trials, run, .. }: &Measured) -> Map<String, Value> {
    let interval = |interval: Interval| {
        json!({
            "from_ns": interval.from,
            "span_ns": interval.span,
            "rate_bps": interval.rate,
            "rtt_ns": interval.rtt,
        })
    };
    let ends = run.receiver.last().map(|sample| sample.connections.as_slice()).unwrap_or_default();
    keys(json!({
        "connections": run.connections(),
        "congestion_control": run.connection.congestion,
        "autotune": run.autotuned,
        "segment_bytes": run.connection.segment,
        "headers_bytes": run.connection.headers,
        "windows_bytes": ends.iter().map(|one| one.window).collect::<Vec<_>>(),
        "shares": shares(run),
        "intervals": run.intervals(SECOND).into_iter().map(interval).collect::<Vec<_>>(),
        "trials": trials.iter().map(|trial| json!({
            "connections": trial.connections(),
            "rate_bps": trial.later_rate(),
        })).collect::<Vec<_>>(),
    }))
}
