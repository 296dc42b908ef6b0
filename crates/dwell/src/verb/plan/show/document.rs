//! A plan as a document of JSON.

use super::super::Plan;
use super::super::cost::{Cost, KNEE};
use super::rate;
use anyhow::Result;
use dwell_core::host::KneeConfig;
use dwell_core::sizing::{Crossing, estimated_capacity, ratio};
use dwell_core::{Bytes, Effort, Finding};
use serde_json::{Value, json};

/// The document of `--json`.
pub(in crate::verb::plan) fn json(plan: &Plan) -> Result<Value> {
    let ratios = ratio::capacities(&plan.path);
    let links: Vec<Value> = (0..plan.path.len())
        .map(|i| {
            json!({
                "capacity_bps": plan.path[i].rate,
                "ratio": i.checked_sub(1).map(|node| ratios[node]),
                "inter_frame_gap_bytes": plan.path[i].gap,
                "cross_traffic": plan.crossings.iter().any(|(_, at)| at[i] != Crossing::default()),
            })
        })
        .collect();
    let published = ratio::published(&plan.path);
    let alpha = json!({
        "every_link": ratio::everywhere(&plan.path),
        "published": published.map(|published| published.ratio),
        "published_node": published.map(|published| published.node),
        "end_link": plan.largest.map(|largest| plan.alpha(largest)),
    });
    let measured = plan.given.measured.as_ref().map(|known| {
        json!({
            "end_link_capacity": known.end_link,
            "narrow_link_capacity": known.narrow_link,
            "alpha": known.alpha,
            "smallest_stage": known.smallest_stage,
        })
    });
    let clock: Vec<Value> = plan
        .clock_errors()
        .into_iter()
        .map(|row| {
            json!({
                "method": row.method,
                "figure": row.quantity,
                "error": Finding::at_most(row.error.most, row.unit, row.why),
                "evenly": row.error.even,
            })
        })
        .collect();
    Ok(json!({
        "verb": "plan",
        "dwell": env!("CARGO_PKG_VERSION"),
        "source": plan.given.kind,
        "target": plan.given.name,
        "seed": plan.seed,
        "links": links,
        "measured": measured,
        "heading_bytes": plan.heading,
        "trailing_bytes": plan.trailing,
        "largest_trailing_bytes": plan.largest,
        "step_bytes": plan.step,
        "alpha": alpha,
        "dispersion": dispersions(plan),
        "costs": plan.costs.iter().map(|cost| cost_json(plan, cost)).collect::<Vec<_>>(),
        "smallest_stage_ns": plan.stage().round() as i64,
        "clock": { "resolution_ns": plan.resolution, "errors": clock },
        "warnings": plan.warnings,
    }))
}

/// Each amount of cross traffic with each trailing size, link by link.
fn dispersions(plan: &Plan) -> Vec<Value> {
    let sizes = plan.trailing.map_or_else(Vec::new, Vec::from);
    let of = |(count, crossings): &(u32, Vec<Crossing>), trailing: Bytes| {
        let gaps = plan.gaps(trailing, crossings);
        json!({
            "cross_packets": count,
            "cross_bytes": plan.cross_size,
            "trailing_bytes": trailing,
            "dispersion_ns": gaps.iter().map(|gap| gap.dispersion.round() as i64).collect::<Vec<_>>(),
            "gap_ns": gaps.iter().map(|gap| gap.gap.round() as i64).collect::<Vec<_>>(),
            "together": plan.together(trailing, crossings),
            "largest_trailing_bytes": ratio::largest_trailing(&plan.path, plan.heading, crossings),
            "estimated_capacity_bps": estimated_capacity(&plan.path, plan.heading, trailing, crossings),
        })
    };
    plan.crossings.iter().flat_map(|crossing| sizes.iter().map(move |size| of(crossing, *size))).collect()
}

/// Plain numbers where a run follows from its settings, a middle with what 95 of 100 runs keep to where it does not.
fn cost_json(plan: &Plan, cost: &Cost) -> Value {
    let figure = |unit: &str, of: &dyn Fn(&Effort) -> Value| match &cost.range {
        Some([least, most]) => {
            json!({ "value": of(&cost.effort), "low": of(least), "high": of(most), "unit": unit })
        }
        None => of(&cost.effort),
    };
    json!({
        "method": cost.method,
        "heading_bytes": cost.heading,
        "trailing_bytes": cost.trailing,
        "most_probes": (cost.method == KNEE).then(|| KneeConfig::default().budget),
        "probes": figure("probes", &|effort| json!(effort.probes)),
        "packets": figure("packets", &|effort| json!(effort.packets)),
        "bytes": figure("bytes", &|effort| json!(effort.bytes)),
        "seconds": figure("s", &|effort| json!(effort.span.as_secs_f64())),
        "rate_bps": rate(&cost.effort),
        "load": cost.effort.share_of(plan.end()),
    })
}
