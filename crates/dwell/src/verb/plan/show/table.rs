//! A plan as text.

use super::super::Plan;
use super::rate;
use crate::figure::{cells, share};
use crate::table::Table;
use dwell_core::host::{KneeConfig, salehin2015};
use dwell_core::sizing::{Crossing, LinkGap, estimated_capacity, ratio};
use dwell_core::{Effort, Finding, Nanos, Unit};
use std::fmt::Write as _;

/// What a person reads.
pub(in crate::verb::plan) fn text(plan: &Plan) -> String {
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
    let mut table = Table::new(&["method", "figure", "at most", "evenly", "why"]);
    for row in plan.clock_errors() {
        let [most, even] = [row.error.most, row.error.even].map(|value| error_text(value, row.unit));
        table.add_row([row.method, row.quantity, &most, &even, row.why]);
    }
    let _ = writeln!(
        text,
        "Error by the receiver's clock, which ticks every {} (of a capacity and of 1 / c_n, as a share; \
         'evenly':\nin 95 of 100 runs, if gaps fall evenly between ticks and the filter keeps them all)\n{}\n",
        plan.resolution,
        table.text()
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
    let mut table = Table::new(&["measured", "finding", "95 % interval, or why"]);
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
    let _ = writeln!(text, "{}\n", table.text());
}

fn sizes(plan: &Plan, text: &mut String) {
    let mut table = Table::new(&["packet", "size", "alpha", "why"]);
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
    let _ = writeln!(text, "Packet sizes, from preamble to check sequence\n{}\n", table.text());
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
    let mut table = Table::new(&all);
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
        table.text()
    );
}

fn costs(plan: &Plan, text: &mut String) {
    let mut table = Table::new(&["method", "probes", "packets", "bytes", "time", "rate", "of the end link"]);
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
        table.text()
    );
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
