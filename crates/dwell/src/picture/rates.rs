//! Histogram of the rates that packets back to back came at: a mode at the capacity, others below and above it.

use super::axes::{axes, frame};
use super::ink::{BLUE, LEGEND_ROW, Swatch, VERMILLION, legend};
use super::{Area, Panel};
use anyhow::Result;
use dwell_core::stats::histogram::Histogram;
use dwell_core::stats::quantile::quantile;
use plotters::prelude::*;

/// Rates of packets next to each other, bits per second.
pub(crate) struct Rates {
    pub(crate) rates: Vec<f64>,
    /// The capacity that was found, with its name.
    pub(crate) found: Option<(f64, String)>,
}

/// Bins of the picture.
const BINS: f64 = 120.0;

/// Rates up to so many times the capacity are shown.
const SHOWN: f64 = 2.5;

impl Panel for Rates {
    fn height(&self) -> u32 {
        420
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(LEGEND_ROW + 6);
        // With room for the bar of the fastest.
        let most = quantile(&self.rates, 0.99).unwrap_or(1.0) * 1.05;
        let right = self.found.as_ref().map_or(most, |(found, _)| SHOWN * found).max(1.0) / 1e6;
        let rates: Vec<f64> =
            self.rates.iter().map(|rate| rate / 1e6).filter(|rate| *rate <= right).collect();
        let Some(histogram) = Histogram::new(&rates, right / BINS) else { return Ok(()) };
        let top = histogram.peak().map_or(1.0, |peak| peak.count as f64 * 1.12);
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Rate of a packet and the one before it (Mb/s)", "Packets")
            .disable_x_mesh()
            .draw()?;
        let bars = histogram
            .bins()
            .map(|bin| Rectangle::new([(bin.low, 0.0), (bin.high, bin.count as f64)], BLUE.filled()));
        chart.draw_series(bars)?;
        let beyond = self.rates.len() - rates.len();
        let mut names = vec![(Swatch::Bar(BLUE), format!("{} packets; {beyond} came faster", rates.len()))];
        if let Some((found, name)) = &self.found {
            let at = found / 1e6;
            chart.draw_series(LineSeries::new([(at, 0.0), (at, top)], VERMILLION.stroke_width(2)))?;
            names.push((Swatch::Line(VERMILLION), format!("{name}, as found")));
        }
        legend(&strip, 84, &names)
    }
}
