//! Delays of lone packets over the time of a run, both ways.

use super::ink::{BLUE, GREY, INK, LEGEND_ROW, PALE, Swatch, VERMILLION, label, legend, plain};
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
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .margin_right(28)
            .x_label_area_size(52)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(PALE)
            .axis_style(GREY)
            .label_style(label(14, INK))
            .axis_desc_style(label(16, INK))
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .x_desc("Time since the first packet (s)")
            .y_desc("Delay above the least, clocks as they are (µs)")
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
