//! One echo as papers/001 draws it (Figure 5), and how its times are spread (Figures 6 and 7).

use super::axes::{axes, frame};
use super::ink::{
    BLUE, GREEN, INK, LEGEND_ROW, ORANGE, PALE, SERIES, SKY, Swatch, held, label, legend, plain,
};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Times at the median, in microseconds from t1 on.
pub(crate) struct Timeline {
    /// The request is received.
    pub(crate) t2: f64,
    /// The host has it; `None`: not known.
    pub(crate) t3: Option<f64>,
    /// The host has made the reply.
    pub(crate) t5: Option<f64>,
    /// The tap sees the reply.
    pub(crate) t7: f64,
    /// How long the host took up and down, each at its own median, where both are known: medians do not add up to that of the whole.
    pub(crate) ways: Option<(f64, f64)>,
    /// Whether t3 lies where it does because the way up is taken for half of both.
    pub(crate) halved: bool,
}

impl Panel for Timeline {
    fn height(&self) -> u32 {
        190
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (left, right) = (96, area.dim_in_pixel().0 as i32 - 40);
        let pixel = |us: f64| left + (f64::from(right - left) * us / self.t7.max(1e-3)).round() as i32;
        let (tap, host) = (130, 50);
        for (y, name) in [(host, "host"), (tap, "tap")] {
            area.draw(&Text::new(name, (left - 16, y), held(label(16, INK), HPos::Right, VPos::Center)))?;
            area.draw(&PathElement::new([(left, y), (right, y)], PALE.stroke_width(2)))?;
        }
        let letters = |us: f64, y: i32, text: String, vertical| {
            let at = pixel(us);
            let horizontal = if at > right - 60 { HPos::Right } else { HPos::Center };
            area.draw(&Text::new(text, (at, y), held(label(14, INK), horizontal, vertical)))
        };
        let bar = |from: f64, to: f64, y: i32, colour: RGBColor| {
            let right = pixel(to).max(pixel(from) + 1);
            area.draw(&Rectangle::new([(pixel(from), y - 9), (right, y + 9)], colour.filled()))
        };
        if self.t2 > 0.0 {
            bar(0.0, self.t2, tap, SKY)?;
        }
        if let (Some(t3), Some(t5)) = (self.t3, self.t5) {
            let way = |from, to, colour: RGBColor| {
                area.draw(&PathElement::new([(pixel(from), tap), (pixel(to), host)], colour.stroke_width(3)))
            };
            way(self.t2, t3, BLUE)?;
            bar(t3, t5, host, ORANGE)?;
            area.draw(&PathElement::new([(pixel(t5), host), (pixel(self.t7), tap)], GREEN.stroke_width(3)))?;
            let (up, down) = self.ways.unwrap_or((t3 - self.t2, self.t7 - t5));
            let halves = if self.halved { ", taken for equal" } else { "" };
            let names = [
                (Swatch::Line(BLUE), format!("up {} µs{halves}", plain_us(up))),
                (Swatch::Line(GREEN), format!("down {} µs{halves}", plain_us(down))),
            ];
            letters((t3 + t5) / 2.0, host - 14, format!("t3 to t5: {} µs", plain_us(t5 - t3)), VPos::Bottom)?;
            let strip = area.clone().shrink((0, 158), (right as u32, LEGEND_ROW + 6));
            legend(&strip, left, &names)?;
        }
        letters(0.0, tap + 14, "t1".to_owned(), VPos::Top)?;
        letters(self.t7, tap + 14, format!("t7: {} µs", plain_us(self.t7)), VPos::Top)?;
        Ok(())
    }
}

fn plain_us(us: f64) -> String {
    plain((us * 100.0).round() / 100.0)
}

/// Shares that took at most so long, series by series, in microseconds.
pub(crate) struct Instants {
    /// Name and times.
    pub(crate) series: Vec<(String, Vec<f64>)>,
    /// What it is that takes so long, in the plural.
    pub(crate) of: &'static str,
}

impl Panel for Instants {
    fn height(&self) -> u32 {
        400
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let sorted: Vec<Vec<f64>> =
            self.series.iter().map(|(_, times)| dwell_core::stats::quantile::sorted(times)).collect();
        // The tail that holds the last hundredth is cut: it would push all else to the edge.
        let end =
            |times: &Vec<f64>| times.get(times.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(0.0);
        let right = sorted.iter().map(end).fold(1.0, f64::max) * 1.05;
        let rows = self.series.len().div_ceil(2) as u32;
        let (strip, area) = area.split_vertically(LEGEND_ROW * rows + 6);
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..100.0)?;
        axes(&mut chart, "Time (µs)", format!("{} that took at most so long (%)", self.of)).draw()?;
        let mut told = Vec::new();
        for (((name, _), times), colour) in self.series.iter().zip(&sorted).zip(SERIES) {
            let share = 100.0 / times.len().max(1) as f64;
            let steps = times.iter().zip(1..).map(|(time, rank)| (time.min(right), share * f64::from(rank)));
            chart.draw_series(LineSeries::new(steps, colour.stroke_width(2)))?;
            told.push((Swatch::Line(colour), name.clone()));
        }
        legend(&strip, 84, &told)
    }
}
