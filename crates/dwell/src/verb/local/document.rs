//! The document of `dwell local --json`.

use super::told::{PERCENTILES, Told, stages};
use anyhow::Result;
use dwell_core::inside::{Counts, Distribution, Losses, Missing, Overhead, Way, WayTally, story};
use dwell_core::{Finding, Nanos};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::hash::Hash;

/// Flows and threads that are named.
const NAMED: usize = 20;

/// All of it.
pub(super) fn document(told: &Told<'_>) -> Result<Value> {
    let Told { watch, tally, watched } = told;
    let mut document = Map::new();
    document.insert("verb".into(), json!("local"));
    document.insert("dwell".into(), json!(env!("CARGO_PKG_VERSION")));
    document.insert("interface".into(), json!(watch.interface));
    document.insert("observer".into(), json!(watch.observer));
    document.insert("seconds".into(), json!(watched.span.as_secs_f64()));
    document.insert("ended".into(), json!(watched.ended));
    for one in Way::ALL {
        document.insert(one.name().into(), way(tally.way(one))?);
    }
    document.insert("missing".into(), watch.missing.iter().map(missing).collect());
    document.insert("losses".into(), losses(&watched.losses));
    let dropped = tally.dropped();
    let mut drops: Vec<Value> = dropped
        .ranked()
        .into_iter()
        .map(|((way, reason), count)| json!({ "reason": reason, "way": way, "count": count }))
        .collect();
    if dropped.others() > 0 {
        drops.push(json!({ "reason": null, "way": null, "count": dropped.others() }));
    }
    document.insert("dropped".into(), Value::Array(drops));
    let found = told.diagnosis();
    document.insert("hints".into(), serde_json::to_value(told.hints(&found))?);
    document.insert("diagnosis".into(), serde_json::to_value(found)?);
    let slowest: Result<Vec<Value>> = told
        .slowest()
        .into_iter()
        .map(|packet| {
            let journey = serde_json::to_value(&packet.journey)?;
            let total = packet.journey.total();
            Ok(json!({ "packet": packet.number, "total_ns": total, "story": story(packet), "journey": journey }))
        })
        .collect();
    document.insert("slowest".into(), Value::Array(slowest?));
    document.insert("settings".into(), serde_json::to_value(&watch.settings)?);
    let packets = tally.packets();
    document.insert(
        "overhead".into(),
        watched.overhead.as_ref().map_or(Value::Null, |cost| overhead(cost, packets)),
    );
    Ok(Value::Object(document))
}

fn missing(missing: &Missing) -> Value {
    json!({ "point": missing.point, "reason": missing.reason })
}

fn losses(losses: &Losses) -> Value {
    let Losses { buffer_full, table_full, unmatched, skipped_runs } = losses;
    json!({
        "buffer_full": buffer_full,
        "table_full": table_full,
        "unmatched": unmatched,
        "sum": losses.sum(),
        "skipped_runs": skipped_runs,
    })
}

/// A way's figures; null: no packet went it.
fn way(seen: &WayTally) -> Result<Value> {
    let packets = seen.total().count();
    if packets == 0 {
        return Ok(Value::Null);
    }
    let rows: Result<Vec<Value>> = stages(seen)
        .map(|(stage, spans)| {
            let [from, to] = seen.ends(stage).map_or([None, None], |ends| ends.map(Some));
            let share = seen.share(stage);
            let mut row = figures(spans)?;
            row.insert("stage".into(), json!(stage.name()));
            row.insert("from".into(), json!(from));
            row.insert("to".into(), json!(to));
            row.insert("share".into(), json!(share.share));
            row.insert("share_interval".into(), json!([share.low, share.high]));
            Ok(Value::Object(row))
        })
        .collect();
    Ok(json!({
        "packets": packets,
        "total": figures(seen.total())?,
        "stages": rows?,
        "kernel_stamp_difference": seen.against_stamp(),
        "processes": counts(seen.processes(), "process"),
        "flows": counts(seen.flows(), "flow"),
    }))
}

/// Count, percentiles, maximum and sum. A percentile that the packets only bound is null, and its finding says so.
fn figures(spans: &Distribution) -> Result<Map<String, Value>> {
    let mut figures = Map::new();
    let mut findings = Map::new();
    figures.insert("count".into(), json!(spans.count()));
    for (p, name, _) in PERCENTILES {
        let finding = spans.percentile(p);
        let value = match finding {
            Finding::Value { value, .. } => json!(value as i64),
            _ => Value::Null,
        };
        figures.insert(format!("{name}_ns"), value);
        findings.insert(name.into(), serde_json::to_value(finding)?);
    }
    figures.insert("max_ns".into(), json!(spans.max()));
    figures.insert("sum_ns".into(), json!(spans.sum()));
    figures.insert("findings".into(), Value::Object(findings));
    Ok(figures)
}

/// The most frequent, each with its count, and the rest as one without a name.
fn counts<T: Eq + Hash + Ord + Clone + Serialize>(counts: &Counts<T>, name: &str) -> Value {
    let ranked = counts.ranked();
    let mut told: Vec<Value> =
        ranked.iter().take(NAMED).map(|(thing, count)| json!({ name: thing, "packets": count })).collect();
    let rest = ranked.iter().skip(NAMED).map(|(_, count)| count).sum::<u64>() + counts.others();
    if rest > 0 {
        told.push(json!({ name: null, "packets": rest }));
    }
    Value::Array(told)
}

fn overhead(overhead: &Overhead, packets: u64) -> Value {
    let each = |time: Option<Nanos>| time.filter(|_| packets > 0).map(|time| time.as_f64() / packets as f64);
    let hooks: Vec<Value> = overhead
        .hooks
        .iter()
        .map(|hook| {
            let per_run = (hook.runs > 0).then(|| hook.time.as_f64() / hook.runs as f64);
            json!({ "hook": hook.hook, "way": hook.way, "runs": hook.runs, "time_ns": hook.time, "per_run_ns": per_run })
        })
        .collect();
    json!({
        "hooks": hooks,
        "kernel_ns": overhead.kernel(),
        "kernel_per_packet_ns": each(overhead.kernel()),
        "user_ns": overhead.user,
        "user_per_packet_ns": each(Some(overhead.user)),
    })
}
