//! Heat map: how many packets had which latency, over the time of a run.

use super::axes::{axes, frame};
use super::decades::Decades;
use super::ink::{INK, VERMILLION, label};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// Packets by time and latency.
pub(crate) struct Heat {
    /// What the packets are.
    pub(crate) name: String,
    /// Width of a slice in seconds.
    pub(crate) width: f64,
    /// Where the latency bins begin, in microseconds, and where the last one ends.
    pub(crate) edges: Vec<f64>,
    /// For each slice the packets of each bin.
    pub(crate) slices: Vec<Vec<u64>>,
}

impl Panel for Heat {
    fn height(&self) -> u32 {
        360
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let packets =
            |bin: usize| self.slices.iter().any(|slice| slice.get(bin).is_some_and(|count| *count > 0));
        let bins = self.edges.len().saturating_sub(1);
        let Some(lowest) = (0..bins).find(|bin| packets(*bin)) else { return Ok(()) };
        let highest = (0..bins).rev().find(|bin| packets(*bin)).unwrap_or(lowest);
        let right = (self.slices.len() as f64 * self.width).max(1e-3);
        let most = self.slices.iter().flatten().copied().max().unwrap_or(1).max(1) as f64;
        let mut chart = frame(area)
            .caption(
                format!("{}: packets by latency; the darkest cell has {most}", self.name),
                label(15, INK),
            )
            .x_label_area_size(48)
            .build_cartesian_2d(0.0..right, Decades::between(self.edges[lowest]..self.edges[highest + 1]))?;
        axes(&mut chart, "Time since the first packet (s)", "Time in this host (µs)").draw()?;
        let cells = self.slices.iter().enumerate().flat_map(|(slice, counts)| {
            let left = slice as f64 * self.width;
            (lowest..=highest).filter_map(move |bin| {
                let count = *counts.get(bin)? as f64;
                // One packet must show beside a million.
                let depth = 0.15 + 0.85 * (1.0 + count).ln() / (1.0 + most).ln();
                let corners = [(left, self.edges[bin]), (left + self.width, self.edges[bin + 1])];
                (count > 0.0).then(|| Rectangle::new(corners, VERMILLION.mix(depth).filled()))
            })
        });
        chart.draw_series(cells)?;
        Ok(())
    }
}
