//! How spans are distributed: the share of them that is no longer than so much.

use super::axes::{axes, frame};
use super::decades::Decades;
use super::ink::{LEGEND_ROW, SERIES, Swatch, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// One distribution.
pub(crate) struct Curve {
    /// What it is of.
    pub(crate) name: String,
    /// Span in milliseconds, and the share that is no longer; ascending.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Several distributions.
pub(crate) struct Cumulative {
    /// In the order of their colours.
    pub(crate) curves: Vec<Curve>,
    /// What the spans are.
    pub(crate) axis: &'static str,
}

/// What a span of nothing is drawn as, on an axis that has no zero: a nanosecond, in milliseconds.
const LEAST: f64 = 1e-6;

impl Panel for Cumulative {
    fn height(&self) -> u32 {
        440
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(LEGEND_ROW * 2 + 6);
        let spans = || self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.0.max(LEAST));
        let (left, right) = (spans().fold(f64::MAX, f64::min), spans().fold(LEAST, f64::max));
        // Without curves there is an axis still, and a single value has room on both sides.
        let (left, right) = (left.min(right) / 1.3, right * 1.3);
        let mut chart = frame(&area).build_cartesian_2d(Decades::between(left..right), 0.0..1.0)?;
        axes(&mut chart, self.axis, "Share that is no longer").draw()?;
        let mut told = Vec::new();
        // The later ones are thinner: where they lie on earlier ones, both are seen.
        for ((curve, colour), width) in self.curves.iter().zip(SERIES).zip([7, 4, 2].into_iter().cycle()) {
            let points = curve.points.iter().map(|(span, share)| (span.max(LEAST), *share));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(width)))?;
            told.push((Swatch::Line(colour), curve.name.clone()));
        }
        legend(&strip, 84, &told)
    }
}
