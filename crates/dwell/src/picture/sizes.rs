//! The gap of back-to-back pairs against the size of the trailing packet: what a link sets is a line.

use super::axes::{axes, frame};
use super::ink::{BLUE, LEGEND_ROW, Swatch, VERMILLION, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// Compound probes of several trailing sizes.
pub(crate) struct Sizes {
    /// Trailing size in bytes on the wire, and gap in microseconds.
    pub(crate) points: Vec<(f64, f64)>,
    /// Time that a byte takes at the capacity found, in microseconds, with the capacity's name.
    pub(crate) line: Option<(f64, String)>,
}

/// Bytes that the inter-frame gap takes.
const GAP: f64 = dwell_core::unit::INTER_FRAME_GAP.0 as f64;

impl Panel for Sizes {
    fn height(&self) -> u32 {
        440
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(LEGEND_ROW + 6);
        let right = self.points.iter().map(|point| point.0).fold(1.0, f64::max) * 1.05;
        let top = self.points.iter().map(|point| point.1).fold(0.1, f64::max) * 1.1;
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Size of the trailing packet on the wire, s_t (B)", "Gap at the receiver, G (µs)")
            .draw()?;
        let mut names = vec![(Swatch::Point(BLUE), format!("one of {} probes", self.points.len()))];
        if let Some((slope, name)) = &self.line {
            let end = right.min(top / slope - GAP).max(0.0);
            let line = [(0.0, slope * GAP), (end, slope * (end + GAP))];
            chart.draw_series(LineSeries::new(line, VERMILLION.stroke_width(3)))?;
            names.push((Swatch::Line(VERMILLION), format!("what {name} alone would set")));
        }
        chart.draw_series(self.points.iter().map(|point| Circle::new(*point, 4, BLUE.mix(0.6).filled())))?;
        legend(&strip, 84, &names)
    }
}
