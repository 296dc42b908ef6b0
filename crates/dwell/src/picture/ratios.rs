//! The end link's capacity as a compound probe shows it, against the ratio of its packet sizes (Figure 16 of
//! papers/000).

use super::axes::{axes, frame};
use super::ink::{GREY, LEGEND_ROW, SERIES, Swatch, bold, dashed, held, legend, plain};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// What one amount of cross traffic makes of the estimate.
pub(crate) struct Sized {
    /// The amount.
    pub(crate) name: String,
    /// alpha, and the estimated capacity in Mb/s.
    pub(crate) points: Vec<(f64, f64)>,
    /// The least alpha at which the estimate is right, if there is one.
    pub(crate) bound: Option<f64>,
}

/// One path.
pub(crate) struct Ratios {
    /// The end link's capacity in Mb/s.
    pub(crate) capacity: f64,
    /// From the quiet path to the busiest.
    pub(crate) series: Vec<Sized>,
}

impl Panel for Ratios {
    fn height(&self) -> u32 {
        520
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let rows = (self.series.len() as u32 + 2) / 2;
        let (strip, area) = area.split_vertically(LEGEND_ROW * rows + 6);
        let ends = self.series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
        let right = ends.fold(2.0, f64::max);
        // Room above the capacity for the names of the bounds, one row each.
        let room = 0.06 * (self.series.iter().filter(|series| series.bound.is_some()).count() as f64 + 1.0);
        let top = self.capacity * (1.0 + room);
        let mut chart = frame(&area).build_cartesian_2d(1.0..right, 0.0..top)?;
        axes(&mut chart, "Packet-size ratio, α = s_h / s_t", "End-link capacity that the pair shows (Mb/s)")
            .draw()?;
        chart.draw_series([dashed(
            (1.0, self.capacity),
            (right, self.capacity),
            3,
            4,
            GREY.stroke_width(2),
        )])?;
        let mut names = Vec::new();
        let mut row = 0.0;
        for (series, colour) in self.series.iter().zip(SERIES.iter().cycle()) {
            chart.draw_series(LineSeries::new(series.points.iter().copied(), colour.stroke_width(3)))?;
            names.push((Swatch::Line(*colour), series.name.clone()));
            let Some(bound) = series.bound else { continue };
            let at = bound.clamp(1.0, right);
            chart.draw_series([dashed((at, 0.0), (at, self.capacity), 7, 5, colour.stroke_width(2))])?;
            // An arrow on the place from which on the estimate is right.
            let (x, y) = chart.backend_coord(&(at, self.capacity));
            let (x0, y0) = area.get_base_pixel();
            area.draw(&Polygon::new(
                [(x - x0, y - y0), (x - x0 - 5, y - y0 - 10), (x - x0 + 5, y - y0 - 10)],
                colour.filled(),
            ))?;
            row += 1.0;
            let (side, shift) = if at > 0.75 * right { (HPos::Right, -0.008) } else { (HPos::Left, 0.008) };
            let height = self.capacity * (1.0 + 0.06 * (row - 0.2));
            let text = format!("α ≥ {}", plain((bound * 100.0).round() / 100.0));
            chart.draw_series([Text::new(
                text,
                (at + shift * right, height),
                held(bold(15, *colour), side, VPos::Center),
            )])?;
        }
        names.push((Swatch::Dashes(GREY), format!("capacity, {} Mb/s", plain(self.capacity))));
        legend(&strip, 84, &names)
    }
}
