//! The gap against the dispersion: both regimes, and the break between them.

use super::axes::{axes, frame};
use super::ink::{BLUE, GREEN, INK, LEGEND_ROW, Swatch, VERMILLION, bold, dashed, held, legend};
use super::{Area, Panel};
use crate::waterfall::Extent;
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// One sweep of the knee method. Everything in microseconds.
pub(crate) struct Gaps {
    /// Dispersion and gap of each probe.
    pub(crate) points: Vec<(f64, f64)>,
    /// S: the flat level.
    pub(crate) level: Option<f64>,
    /// dPPT: the line's offset from G = x.
    pub(crate) offset: Option<f64>,
    /// A: the break.
    pub(crate) stage: Extent,
}

impl Panel for Gaps {
    fn height(&self) -> u32 {
        510
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        // The sweep's far end says little more than a few probes do: the break and its surroundings matter.
        let near = match self.stage {
            Extent::Value { high, .. } => high * 3.0,
            _ => f64::INFINITY,
        };
        let right = ceiling(self.points.iter().map(|point| point.0).filter(|x| *x <= near));
        let top = ceiling(self.points.iter().filter(|point| point.0 <= right).map(|point| point.1));
        let outside = self.points.iter().filter(|(x, g)| *x > right || *g > top).count();
        let inside = self.points.iter().filter(|(x, g)| *x <= right && *g <= top);
        let told = if outside > 0 { format!(" ({outside} lie outside)") } else { String::new() };
        let mut names = vec![(Swatch::Point(BLUE), format!("one of {} probes{told}", self.points.len()))];
        let (strip, area) = area.split_vertically(2 * LEGEND_ROW + 6);
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Dispersion that left the sender, x (µs)", "Gap at the receiver, G (µs)").draw()?;

        let (low, high, at) = match self.stage {
            Extent::Value { value, low, high } => (low, high, Some(value)),
            Extent::AtMost(bound) => (0.0, bound, None),
            Extent::AtLeast(bound) => (bound, right, None),
            Extent::Unknown => (0.0, 0.0, None),
        };
        if high > low {
            let band = Rectangle::new([(low, 0.0), (high.min(right), top)], GREEN.mix(0.16).filled());
            chart.draw_series([band])?;
        }
        chart.draw_series(inside.map(|point| Circle::new(*point, 3, BLUE.mix(0.45).filled())))?;
        let bend = at.unwrap_or(high).min(right);
        if let Some(level) = self.level {
            let line = [(0.0, level), (bend.max(right * 0.02), level)];
            chart.draw_series(LineSeries::new(line, VERMILLION.stroke_width(3)))?;
            let name = format!("G = S = {level:.1} µs: P_t waited for the application");
            names.push((Swatch::Line(VERMILLION), name));
        }
        if let Some(offset) = self.offset {
            let from = at.unwrap_or(low).max(-offset).max(0.0);
            let to = right.min(top - offset);
            let line = [(from, from + offset), (to, to + offset)];
            chart.draw_series(LineSeries::new(line, INK.stroke_width(3)))?;
            let name = format!("G = x {} {:.1} µs: P_t came later", sign(offset), offset.abs());
            names.push((Swatch::Line(INK), name));
        }
        if let Some(at) = at {
            chart.draw_series([dashed((at, 0.0), (at, top), 7, 5, GREEN.stroke_width(2))])?;
            names.push((Swatch::Band(GREEN), "the break, with its 95 % interval".to_owned()));
        }
        let text = match self.stage {
            Extent::Value { value, low, high } => format!("A = {value:.1} µs ({low:.1} to {high:.1})"),
            Extent::AtMost(bound) => format!("A is at most {bound:.1} µs"),
            Extent::AtLeast(bound) => format!("A is at least {bound:.1} µs"),
            Extent::Unknown => String::new(),
        };
        // Beside the break, on the side that has room.
        let (edge, side, shift) =
            if bend > 0.6 * right { (low, HPos::Right, -0.01) } else { (high.max(bend), HPos::Left, 0.01) };
        let letters = held(bold(16, GREEN), side, VPos::Bottom);
        chart.draw_series([Text::new(text, (edge + shift * right, 0.03 * top), letters)])?;
        legend(&strip, 84, &names)
    }
}

fn sign(offset: f64) -> char {
    if offset < 0.0 { '−' } else { '+' }
}

/// A little above all but the outlying hundredth.
fn ceiling(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.filter(|figure| figure.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1)) * 99 / 100;
    sorted.get(at).copied().unwrap_or(1.0).max(1e-3) * 1.12
}
