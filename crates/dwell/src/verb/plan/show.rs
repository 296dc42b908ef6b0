//! A plan as people and programs read it.

use super::Plan;
use super::cost::{Cost, KNEE};
use crate::figure::{cells, share};
use crate::picture::{Panel, Ratios, Sized};
use crate::screen::table;
use anyhow::Result;
use dwell_core::host::{KneeConfig, salehin2015};
use dwell_core::sizing::{Crossing, LinkGap, clock, disperse, estimated_capacity, ratio, smallest_stage};
use dwell_core::{BitRate, Bytes, Effort, Finding, Nanos, Unit};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One estimate's error by the clock.
struct ClockError {
    method: &'static str,
    quantity: &'static str,
    error: clock::Error,
    unit: Unit,
    why: &'static str,
}

impl Plan {
    fn cost(&self, method: &str) -> Option<&Cost> {
        self.costs.iter().find(|cost| cost.method == method)
    }

    fn gaps(&self, trailing: Bytes, crossings: &[Crossing]) -> Vec<LinkGap> {
        disperse(&self.path, self.heading, trailing, crossings)
    }

    /// Whether a pair reaches the end link together.
    fn together(&self, trailing: Bytes, crossings: &[Crossing]) -> bool {
        ratio::largest_trailing(&self.path, self.heading, crossings)
            .is_some_and(|largest| trailing.0 as f64 <= largest + 1e-6)
    }

    fn alpha(&self, trailing: f64) -> f64 {
        self.heading.0 as f64 / trailing
    }

    fn stage(&self) -> f64 {
        smallest_stage(&self.path, self.given.least)
    }

    /// What the clock's resolution does to each method.
    fn clock_errors(&self) -> Vec<ClockError> {
        let mut errors = Vec::new();
        let mut add = |method, quantity, error, unit, why| {
            errors.push(ClockError { method, quantity, error, unit, why });
        };
        add(
            "knee",
            "application stage",
            clock::knee(self.resolution),
            Unit::Ns,
            "one stamp against the border D",
        );
        if let Some([one, two]) = self.trailing {
            let difference = self.end().nanos_for(two - one);
            let off = clock::salehin2015(self.resolution, [one, two], difference, self.probes);
            add("salehin2015", "PPT_t", off.trailing, Unit::Ns, "(15): the difference of two average gaps");
            add("salehin2015", "PPT_h", off.heading, Unit::Ns, "(16): PPT_t less dPPT");
            add("salehin2015", "PPT_avg", off.average, Unit::Ns, "the mean of both");
            add("salehin2015", "dPPT", off.differential, Unit::Ns, "(8): a gap less the one expected by (5)");
            add("salehin2015", "1 / c_n", off.slope, Unit::Ratio, "(5): 2 R over the time of s_2 - s_1");
        }
        let flat = clock::salehin2017(self.resolution, self.probes);
        add("salehin2017", "flat gap", flat, Unit::Ns, "(6): one average gap");
        if let Some(cost) = self.cost("end-link").filter(|cost| cost.burst > Nanos::ZERO) {
            let off = clock::end_link(self.resolution, cost.burst.as_f64(), &cost.trailing, self.end());
            add("end-link", "capacity", off, Unit::Ratio, "slopes over bursts and over sizes");
        }
        errors
    }
}

/// A time with digits enough for fractions of a nanosecond.
fn time(ns: f64) -> String {
    if ns.abs() < 1_000.0 && ns.fract().abs() > 1e-9 {
        format!("{ns:.1} ns")
    } else {
        Nanos::from_f64(ns).to_string()
    }
}

fn error_text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ratio if value < 1e-3 => format!("{:.1} ppm", value * 1e6),
        Unit::Ratio => share(value),
        _ => time(value),
    }
}

/// What a person reads.
pub(super) fn text(plan: &Plan) -> String {
    let mut text = format!("A plan for {}\n\n", plan.given.name);
    measured(plan, &mut text);
    sizes(plan, &mut text);
    dispersion(plan, &mut text);
    costs(plan, &mut text);
    let stage = match &plan.given.measured {
        Some(known) => {
            let [found, sure] = cells(&known.smallest_stage);
            format!("{found} ({sure})")
        }
        None => time(plan.stage()),
    };
    let _ = writeln!(
        text,
        "Smallest application stage that `knee` can find: {stage}.\nThat is one packet of {} with its gap on the narrowest \
         link: P_t is never closer behind P_h there,\nso it never meets a shorter stage at work, and all that can be said is \
         'at most'. A NIC that coalesces\nhides stages shorter than its period too.\n",
        plan.given.least
    );
    let mut table = table(&["method", "figure", "at most", "evenly", "why"]);
    for row in plan.clock_errors() {
        let [most, even] = [row.error.most, row.error.even].map(|value| error_text(value, row.unit));
        table.add_row([row.method, row.quantity, &most, &even, row.why]);
    }
    let _ = writeln!(
        text,
        "Error by the receiver's clock, which ticks every {} (of a capacity and of 1 / c_n, as a share; \
         'evenly':\nin 95 of 100 runs, if gaps fall evenly between ticks and the filter keeps them all)\n{}\n",
        plan.resolution,
        table.trim_fmt()
    );
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// What is known of a path that was not told.
fn measured(plan: &Plan, text: &mut String) {
    let Some(known) = &plan.given.measured else { return };
    let mut table = table(&["measured", "finding", "95 % interval, or why"]);
    for (name, finding) in [("end link", &known.end_link), ("narrowest link", &known.narrow_link)] {
        let [found, sure] = cells(finding);
        table.add_row([name, &found, &sure]);
    }
    let (found, why) = match &known.alpha {
        Finding::Bound { bound, reason, .. } => (format!("needs at most {bound:.2}"), reason),
        Finding::Unmeasurable { reason } => ("not known".to_owned(), reason),
        Finding::Value { value, .. } => (format!("needs {value:.2}"), &plan.given.name),
    };
    table.add_row(["alpha", &found, why]);
    let _ = writeln!(text, "{}\n", table.trim_fmt());
}

fn sizes(plan: &Plan, text: &mut String) {
    let mut table = table(&["packet", "size", "alpha", "why"]);
    let heading = plan.heading.to_string();
    table.add_row(["P_h", &heading, "", "the largest that the path carries"]);
    if let Some(trailing) = plan.trailing {
        let step = format!("s_2 - s_1 is at least 2 R c_n = {}", plan.step);
        let whys = ["large ratios keep pairs together", &step];
        for ((name, size), why) in ["P_t, s_1", "P_t, s_2"].iter().zip(trailing).zip(whys) {
            let alpha = format!("{:.2}", plan.alpha(size.0 as f64));
            table.add_row([(*name).to_owned(), size.to_string(), alpha, why.to_owned()]);
        }
    }
    let alpha = |alpha: f64| format!("at least {alpha:.2}");
    if let Some(published) = ratio::published(&plan.path) {
        let most = format!("at most {:.0} B", (plan.heading.0 as f64 / published.capped()).floor());
        let why = format!("(20)-(23), without inter-frame gaps: node {} decides", published.node);
        table.add_row(["P_t", &most, &alpha(published.capped()), &why]);
    }
    match plan.largest {
        Some(largest) => {
            let most = format!("at most {:.0} B", (largest + 1e-6).floor());
            let why = "(24)-(26) solved for no dispersion at the end, gaps and padding counted";
            table.add_row(["P_t", &most, &alpha(plan.alpha(largest)), why])
        }
        None => table.add_row(["P_t", "none", "", "(24)-(26): no size is small enough"]),
    };
    let everywhere = alpha(ratio::everywhere(&plan.path));
    table.add_row(["P_t", "", &everywhere, "(17) at every node: no dispersion on any link"]);
    let _ = writeln!(text, "Packet sizes, from preamble to check sequence\n{}\n", table.trim_fmt());
}

fn dispersion(plan: &Plan, text: &mut String) {
    let Some([one, two]) = plan.trailing else { return };
    let heads: Vec<String> = plan
        .crossings
        .iter()
        .map(|(count, _)| if *count == 0 { "quiet".into() } else { format!("u = v = {count}") })
        .collect();
    let mut all = vec!["link", "capacity", "c_i / c_(i-1)"];
    all.extend(heads.iter().map(String::as_str));
    let mut table = table(&all);
    let ratios = ratio::capacities(&plan.path);
    let gaps: Vec<[Vec<LinkGap>; 2]> = plan
        .crossings
        .iter()
        .map(|(_, crossings)| [one, two].map(|trailing| plan.gaps(trailing, crossings)))
        .collect();
    for (i, link) in plan.path.iter().enumerate() {
        let ratio = i.checked_sub(1).map(|node| format!("{:.3}", ratios[node])).unwrap_or_default();
        let crossed = plan.crossings.iter().any(|(_, at)| at[i] != Crossing::default());
        let name = if crossed { format!("{} *", i + 1) } else { format!("{}", i + 1) };
        let mut row = vec![name, link.rate.to_string(), ratio];
        row.extend(
            gaps.iter()
                .map(|[one, two]| format!("{} / {}", time(one[i].dispersion), time(two[i].dispersion))),
        );
        table.add_row(row);
    }
    let mut seen = vec![String::new(), "G at the end".to_owned(), String::new()];
    let mut shown = vec![String::new(), "it shows".to_owned(), String::new()];
    for ((_, crossings), [first, second]) in plan.crossings.iter().zip(&gaps) {
        let end = [first, second].map(|gaps| gaps.last().map_or(0.0, |last| last.gap));
        seen.push(end.map(time).join(" / "));
        let shows = [one, two].map(|size| {
            let rate = estimated_capacity(&plan.path, plan.heading, size, crossings);
            rate.unwrap_or_default().to_string()
        });
        shown.push(shows.join(" / "));
    }
    table.add_row(seen);
    table.add_row(shown);
    let stars = if plan.crossings.len() > 1 {
        format!("* marks the links that cross traffic of {} packets enters", plan.cross_size)
    } else {
        "no link for cross traffic to enter: name some with --cross-links".to_owned()
    };
    let _ = writeln!(
        text,
        "Dispersion gap that P_t of {one} / {two} has on each link, beyond the inter-frame gap, by (24)-(29);\n{stars}\n{}\n",
        table.trim_fmt()
    );
}

fn costs(plan: &Plan, text: &mut String) {
    let mut table = table(&["method", "probes", "packets", "bytes", "time", "rate", "of the end link"]);
    for cost in &plan.costs {
        let effort = &cost.effort;
        let ranged = |one: String, of: &dyn Fn(&Effort) -> String| match &cost.range {
            Some([least, most]) if of(least) != of(most) => format!("{one} ({} to {})", of(least), of(most)),
            _ => one,
        };
        let seconds = |effort: &Effort| format!("{:.1} s", effort.span.as_secs_f64());
        let load = effort.share_of(plan.end()).map(share).unwrap_or_default();
        table.add_row([
            cost.method.to_owned(),
            ranged(effort.probes.to_string(), &|e| e.probes.to_string()),
            effort.packets.to_string(),
            ranged(effort.bytes.0.to_string(), &|e| e.bytes.0.to_string()),
            ranged(seconds(effort), &seconds),
            rate(effort).to_string(),
            load,
        ]);
    }
    let _ = writeln!(
        text,
        "Cost of a run; the published schemes with {} probes of each size, {} apart (`dwell ppt` pauses {}). In brackets\nwhat 95 \
         of 100 runs of the simulator keep to, for methods that look at what comes back; `knee` sends {} pairs at most.\n{}\n",
        plan.probes,
        plan.pause,
        salehin2015::Config::default().pause,
        KneeConfig::default().budget,
        table.trim_fmt()
    );
}

/// Bits over time.
fn rate(effort: &Effort) -> BitRate {
    let seconds = effort.span.as_secs_f64();
    BitRate(if seconds > 0.0 { (effort.bytes.bits() as f64 / seconds).round() as u64 } else { 0 })
}

/// The document of `--json`.
pub(super) fn json(plan: &Plan) -> Result<Value> {
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

/// Figure 16 of papers/000 for this path.
pub(super) fn panels(plan: &Plan) -> (String, Vec<String>, Vec<Box<dyn Panel>>) {
    let smallest = plan.given.least.0.min(plan.heading.0);
    let ratios = Ratios { capacity: plan.end().0 as f64 / 1e6, series: series(plan, smallest) };
    let title = match plan.largest {
        Some(largest) if largest >= plan.heading.0 as f64 => {
            format!("Packet pairs of every size ratio show the end link as it is, {}", plan.end())
        }
        Some(largest) => format!(
            "Packet pairs with a size ratio of {:.2} or more show the end link as it is, {}",
            plan.alpha(largest),
            plan.end()
        ),
        None => format!("No packet-size ratio shows the end link as it is, {}", plan.end()),
    };
    let crossed: Vec<String> = (0..plan.path.len())
        .filter(|i| plan.crossings.iter().any(|(_, at)| at[*i] != Crossing::default()))
        .map(|i| (i + 1).to_string())
        .collect();
    let mut notes = vec![
        format!("dwell {}: plan for {}", env!("CARGO_PKG_VERSION"), plan.given.name),
        format!("heading packet of {}; trailing packets from {smallest} B up", plan.heading),
    ];
    if !crossed.is_empty() {
        notes.push(format!("cross traffic enters links {}", crossed.join(", ")));
    }
    (title, notes, vec![Box::new(ratios)])
}

/// The lines of the picture; amounts of cross traffic that change nothing share one.
fn series(plan: &Plan, smallest: u64) -> Vec<Sized> {
    let mut lines: Vec<(Vec<u32>, Sized)> = Vec::new();
    for (count, crossings) in &plan.crossings {
        let shown = |size| {
            let shown = estimated_capacity(&plan.path, plan.heading, Bytes(size), crossings);
            (plan.alpha(size as f64), shown.unwrap_or_default().0 as f64 / 1e6)
        };
        let points: Vec<(f64, f64)> = drawn_sizes(smallest, plan.heading.0).into_iter().map(shown).collect();
        if let Some((counts, _)) = lines.iter_mut().find(|(_, line)| line.points == points) {
            counts.push(*count);
            continue;
        }
        let largest = ratio::largest_trailing(&plan.path, plan.heading, crossings);
        let bound = largest.filter(|largest| *largest >= smallest as f64).map(|largest| plan.alpha(largest));
        lines.push((vec![*count], Sized { name: String::new(), points, bound }));
    }
    let named = lines.into_iter().map(|(counts, line)| {
        let busy: Vec<String> = counts.iter().filter(|count| **count > 0).map(u32::to_string).collect();
        let quiet = counts.contains(&0).then(|| "no cross traffic".to_owned());
        let busy = (!busy.is_empty()).then(|| format!("u = v = {} of {}", busy.join(", "), plan.cross_size));
        let none = if line.bound.is_none() { ": no size reaches it" } else { "" };
        let name: Vec<String> = quiet.into_iter().chain(busy).collect();
        Sized { name: name.join("; ") + none, ..line }
    });
    named.collect()
}

/// Sizes whose ratios lie far enough apart to be drawn, the largest first: of the large ones not each byte.
fn drawn_sizes(smallest: u64, largest: u64) -> Vec<u64> {
    let alpha = |size: u64| largest as f64 / size as f64;
    let apart = (alpha(smallest) - 1.0) / 300.0;
    let mut sizes = vec![largest];
    for size in (smallest..largest).rev() {
        if size == smallest || alpha(size) >= alpha(*sizes.last().unwrap_or(&largest)) + apart {
            sizes.push(size);
        }
    }
    sizes
}
