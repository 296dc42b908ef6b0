//! How much slower trains arrive than they were sent, against the rate at which they were: up to what is free, not at all.

use super::axes::{axes, frame};
use super::ink::{BLUE, LEGEND_ROW, Swatch, VERMILLION, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// Trains at several rates.
pub(crate) struct Strain {
    /// Offered rate in bits per second, and offered over measured.
    pub(crate) points: Vec<(f64, f64)>,
    /// What each of them is of.
    pub(crate) of: &'static str,
    /// What was found to be free, in bits per second, with its name.
    pub(crate) free: Option<(f64, String)>,
}

/// Rates up to so many times what is free are shown: bursts leave a host at any rate.
const SHOWN: f64 = 4.0;

impl Panel for Strain {
    fn height(&self) -> u32 {
        440
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(LEGEND_ROW + 6);
        let fastest = self.points.iter().map(|point| point.0).fold(1.0, f64::max);
        let right =
            self.free.as_ref().map_or(fastest, |(free, _)| fastest.min(SHOWN * free.max(1.0))) / 1e6 * 1.05;
        let shown: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|(rate, ratio)| (rate / 1e6, *ratio))
            .filter(|(rate, _)| *rate <= right)
            .collect();
        let top = shown.iter().map(|point| point.1).fold(1.1, f64::max) * 1.05;
        let bottom = shown.iter().map(|point| point.1).fold(0.95, f64::min) * 0.98;
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, bottom..top)?;
        axes(&mut chart, "Rate at which a train was sent (Mb/s)", "Sent over arrived")
            .y_label_formatter(&|y| format!("{y:.2}"))
            .draw()?;
        let mut names = vec![(Swatch::Point(BLUE), format!("one of {} {}", shown.len(), self.of))];
        if let Some((free, name)) = &self.free {
            let at = free / 1e6;
            chart.draw_series(LineSeries::new([(at, bottom), (at, top)], VERMILLION.stroke_width(3)))?;
            names.push((Swatch::Line(VERMILLION), format!("{name} free")));
        }
        chart.draw_series(shown.iter().map(|point| Circle::new(*point, 4, BLUE.mix(0.6).filled())))?;
        legend(&strip, 84, &names)
    }
}
