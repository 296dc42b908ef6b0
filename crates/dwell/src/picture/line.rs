//! One figure over the time of a run.

use super::axes::{axes, frame};
use super::ink::BLUE;
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// A figure over time.
pub(crate) struct Line {
    /// Seconds, and the figure.
    pub(crate) points: Vec<(f64, f64)>,
    /// What the figure is, with its unit.
    pub(crate) upwards: &'static str,
}

impl Panel for Line {
    fn height(&self) -> u32 {
        260
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let right = self.points.last().map_or(1.0, |point| point.0.max(0.1)) * 1.02;
        let most = self.points.iter().map(|point| point.1).fold(0.0, f64::max);
        // Where all is nothing, axes need some height all the same, of which labels tell the parts.
        let top = if most > 0.0 { most * 1.1 } else { 1.0 };
        let mut chart = frame(area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Time (s)", self.upwards).draw()?;
        chart.draw_series(LineSeries::new(self.points.iter().copied(), BLUE.stroke_width(2)))?;
        Ok(())
    }
}
