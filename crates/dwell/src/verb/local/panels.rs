//! The picture of `dwell local --plot`: where the time goes at the median and in the tail, and how it went over time.

use super::told::{Told, stages};
use crate::picture::{Heat, Panel};
use crate::waterfall::{Bar, Bars, Extent};
use dwell_core::inside::{BINS, Way, WayTally, bin_start};

/// From top to bottom.
pub(super) fn panels(told: &Told<'_>) -> Vec<Box<dyn Panel>> {
    let mut panels: Vec<Box<dyn Panel>> = Vec::new();
    for (way, seen) in told.ways() {
        panels.push(Box::new(bars(seen, 0.5, way, "the median")));
        panels.push(Box::new(bars(seen, 0.99, way, "the 99th percentile")));
        panels.push(Box::new(heat(seen, way)));
    }
    panels
}

/// Each stage's percentile, one after another, and the total's: percentiles need not sum.
fn bars(seen: &WayTally, p: f64, way: Way, name: &str) -> Bars {
    let mut start = 0.0;
    let bars = stages(seen)
        .map(|(stage, spans)| {
            let extent = Extent::from(&spans.percentile(p));
            let bar = Bar { name: stage.name().replace('_', " "), start, extent };
            start += extent.length();
            bar
        })
        .collect();
    let whole = Extent::from(&seen.total().percentile(p));
    let whole = Bar { name: format!("{}, {name}", way.name()), start: 0.0, extent: whole };
    Bars { bars, whole, axis: "Time in this host, each stage's own percentile after the other" }
}

fn heat(seen: &WayTally, way: Way) -> Heat {
    let slices = seen.slices();
    Heat {
        name: way.name().to_owned(),
        width: slices.width().as_secs_f64(),
        edges: (0..=BINS).map(|bin| bin_start(bin).as_micros_f64()).collect(),
        slices: slices.all().iter().map(|slice| slice.packets.to_vec()).collect(),
    }
}
