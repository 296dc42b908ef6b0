//! A plan as a picture.

use super::super::Plan;
use crate::picture::{Panel, Ratios, Sized};
use dwell_core::Bytes;
use dwell_core::sizing::{Crossing, estimated_capacity, ratio};

/// Figure 16 of papers/000 for this path.
pub(in crate::verb::plan) fn panels(plan: &Plan) -> (String, Vec<String>, Vec<Box<dyn Panel>>) {
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
