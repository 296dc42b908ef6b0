//! Delays of lone packets over the time of a run, both ways.

use super::axes::{axes, frame};
use super::ink::{BLUE, LEGEND_ROW, Swatch, VERMILLION, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// For each way: when a packet was sent, in seconds, and how much longer than the quickest it took, in microseconds.
pub(crate) struct Delays {
    /// Forward, reverse.
    pub(crate) ways: [Vec<(f64, f64)>; 2],
}

impl Panel for Delays {
    fn height(&self) -> u32 {
        400
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(LEGEND_ROW + 6);
        let points = || self.ways.iter().flatten();
        let right = points().map(|point| point.0).fold(1e-3, f64::max) * 1.02;
        let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.1;
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Time since the first packet (s)", "Delay above the least, clocks as they are (µs)")
            .draw()?;
        let names = ["to the host under test", "back from it"];
        let mut told = Vec::new();
        for ((way, colour), name) in self.ways.iter().zip([BLUE, VERMILLION]).zip(names) {
            chart.draw_series(way.iter().map(|point| Circle::new(*point, 3, colour.mix(0.55).filled())))?;
            told.push((Swatch::Point(colour), format!("{} packets {name}", way.len())));
        }
        legend(&strip, 84, &told)
    }
}
