//! Histogram of gaps before and after the filter of papers/000, section 2.3.

use super::axes::{axes, frame};
use super::ink::{BLUE, INK, LEGEND_ROW, Swatch, label, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;
use std::collections::BTreeMap;

/// Bins that the picture has at least.
const LEAST_BINS: i64 = 24;

/// Gaps of probes of one kind, in microseconds.
pub(crate) struct Histogram {
    /// Which probes these are.
    pub(crate) title: String,
    /// All gaps.
    pub(crate) before: Vec<f64>,
    /// Those that the filter kept.
    pub(crate) after: Vec<f64>,
    /// Width of the filter's bins.
    pub(crate) bin: f64,
}

impl Histogram {
    fn count(&self, gaps: &[f64]) -> BTreeMap<i64, u32> {
        let mut bins = BTreeMap::new();
        for gap in gaps {
            *bins.entry((gap / self.bin).floor() as i64).or_insert(0) += 1;
        }
        bins
    }
}

impl Panel for Histogram {
    fn height(&self) -> u32 {
        370
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (before, after) = (self.count(&self.before), self.count(&self.after));
        // The tail that holds the last hundredth is told of, not drawn.
        let mut sorted: Vec<i64> =
            before.iter().flat_map(|(bin, count)| vec![*bin; *count as usize]).collect();
        sorted.sort_unstable();
        let (Some(first), Some(last)) =
            (sorted.first(), sorted.get(sorted.len().saturating_sub(1) * 99 / 100))
        else {
            return Ok(());
        };
        let outside = sorted.iter().filter(|bin| *bin > last).count();
        let edge = |bin: i64| bin as f64 * self.bin;
        // A single bin shall not fill the picture.
        let spare = ((LEAST_BINS - (last - first)) / 2).max(1);
        let (left, right) = (edge(*first - spare), edge(*last + 1 + spare));
        let top = before.values().max().map_or(1.0, |most| f64::from(*most) * 1.12);
        let caption = if outside > 0 {
            format!("{}; {outside} gaps lie farther right", self.title)
        } else {
            self.title.clone()
        };
        let (strip, area) = area.split_vertically(LEGEND_ROW + 6);
        let mut chart =
            frame(&area).caption(caption, label(16, INK)).build_cartesian_2d(left..right, 0.0..top)?;
        axes(&mut chart, "Gap at the receiver, G (µs)", "Probes").disable_x_mesh().draw()?;
        let grey = RGBColor(190, 190, 190);
        for (bins, colour) in [(&before, grey), (&after, BLUE)] {
            let bars = bins.iter().filter(|(bin, _)| **bin <= *last).map(|(bin, n)| {
                Rectangle::new([(edge(*bin), 0.0), (edge(*bin + 1), f64::from(*n))], colour.filled())
            });
            chart.draw_series(bars)?;
        }
        let names = [
            (Swatch::Bar(grey), format!("all {} gaps", self.before.len())),
            (Swatch::Bar(BLUE), format!("{} kept by the filter of papers/000, 2.3", self.after.len())),
        ];
        legend(&strip, 84, &names)
    }
}
