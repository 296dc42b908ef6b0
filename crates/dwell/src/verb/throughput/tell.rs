//! What a run of TCP connections is told as: a table, a document, a picture.

use super::course;
use super::tcp::effort;
use crate::cli::Output;
use crate::figure::{cells, cost};
use crate::picture::{Panel, Picture};
use crate::screen::{print, print_json, report_text};
use anyhow::{Result, bail};
use dwell_core::throughput::verdict::shares;
use dwell_core::throughput::{Transfer, report};
use dwell_core::{Circumstances, Finding, Nanos, Quantity};
use dwell_store::Ask;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Runs that are over.
pub(super) struct Measured {
    pub(super) ask: Ask,
    pub(super) circumstances: Circumstances,
    /// Those that showed how many connections fill the path.
    pub(super) trials: Vec<Transfer>,
    /// The measurement.
    pub(super) run: Transfer,
}

/// Sub-intervals of the table and the document.
const SECOND: Nanos = Nanos::from_secs(1);
/// Of the picture.
const FINE: Nanos = Nanos::from_millis(200);

/// Tells.
pub(super) fn tell(measured: &Measured, output: &Output) -> Result<()> {
    let run = &measured.run;
    let (report, verdict) = report::report(run);
    if output.json {
        print_json(&document(measured)?)?;
    } else {
        let mut text = report_text(&report);
        let (limit, reason) = (verdict.limit.name(), &verdict.reason);
        let way = if run.direction == dwell_core::Direction::Forward { "to" } else { "from" };
        let (connections, congestion) = (run.connections(), &run.connection.congestion);
        let _ = writeln!(
            text,
            "{connections} {} {way} {} ({congestion}); throughput counts payload, as the program reads it",
            if connections == 1 { "connection" } else { "connections" },
            measured.ask.target
        );
        let _ = writeln!(text, "verdict: {limit}: {reason}");
        let _ = writeln!(text, "{}", cost(&effort(measured), None));
        print(&text)?;
    }
    let found = report.finding(Quantity::Throughput);
    if let Some(file) = &output.plot {
        let [value, _] = cells(&found);
        let title = format!("{value} of payload: {}", verdict.limit.name());
        let notes = vec![
            format!(
                "dwell {}: throughput of {}, {}",
                env!("CARGO_PKG_VERSION"),
                measured.ask.target,
                verdict.reason
            ),
            cost(&effort(measured), None),
        ];
        let panels: Vec<Box<dyn Panel>> =
            vec![Box::new(course::rates(run, FINE)), Box::new(course::round_trips(run, FINE))];
        Picture { title, notes, panels }.write(file)?;
    }
    match found {
        Finding::Unmeasurable { reason } => bail!("could not measure: {reason}"),
        _ => Ok(()),
    }
}

fn document(measured: &Measured) -> Result<Value> {
    let Measured { ask, circumstances, trials, run } = measured;
    let (report, verdict) = report::report(run);
    let effort = effort(measured);
    let interval = |interval: dwell_core::throughput::Interval| {
        json!({
            "from_ns": interval.from,
            "span_ns": interval.span,
            "rate_bps": interval.rate,
            "rtt_ns": interval.rtt,
        })
    };
    let windows = run.receiver.last().map(|sample| sample.connections.iter().map(|one| one.window).collect());
    let windows: Vec<_> = windows.unwrap_or_default();
    let mut document = json!({
        "verb": ask.verb,
        "dwell": env!("CARGO_PKG_VERSION"),
        "target": ask.target,
        "seed": ask.seed,
        "method": report.method,
        "direction": run.direction,
        "connections": run.connections(),
        "congestion_control": run.connection.congestion,
        "autotune": run.autotuned,
        "segment_bytes": run.connection.segment,
        "headers_bytes": run.connection.headers,
        "windows_bytes": windows,
    });
    let extra = json!({
        "verdict": verdict.limit,
        "reason": verdict.reason,
        "shares": shares(run),
        "intervals": run.intervals(SECOND).into_iter().map(interval).collect::<Vec<_>>(),
        "trials": trials.iter().map(|trial| json!({
            "connections": trial.connections(),
            "rate_bps": trial.later_rate(),
        })).collect::<Vec<_>>(),
        "warnings": report.warnings,
        "packets": effort.packets,
        "lost": effort.lost,
        "bytes": effort.bytes,
        "seconds": effort.span.as_secs_f64(),
        "circumstances": circumstances,
    });
    if let (Value::Object(document), Value::Object(extra)) = (&mut document, extra) {
        for (quantity, finding) in &report.findings {
            document.insert(quantity.name().to_owned(), serde_json::to_value(finding)?);
        }
        document.extend(extra);
    }
    Ok(document)
}
