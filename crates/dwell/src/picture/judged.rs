//! Estimates against the truth: one small chart for each kind of condition.

use super::ink::{GREY, INK, PALE, SERIES, label, plain};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// One estimate.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Mark {
    /// What was so.
    pub(crate) truth: f64,
    /// What was found.
    pub(crate) estimate: f64,
    /// Lower end of its interval.
    pub(crate) low: f64,
    /// Upper end of its interval.
    pub(crate) high: f64,
    /// Whether it can be identified there.
    pub(crate) inside: bool,
}

/// One small chart.
pub(crate) struct Cell {
    /// The condition.
    pub(crate) title: String,
    /// Method by method, in the order of [`Judged::methods`].
    pub(crate) series: Vec<Vec<Mark>>,
}

/// All conditions of an evaluation.
pub(crate) struct Judged {
    /// What is estimated.
    pub(crate) quantity: String,
    /// Of all figures.
    pub(crate) unit: &'static str,
    /// The largest that the truth can be: all charts then have axes up to there.
    pub(crate) most: Option<f64>,
    /// Names of the methods.
    pub(crate) methods: Vec<String>,
    /// Condition by condition.
    pub(crate) cells: Vec<Cell>,
}

const COLUMNS: usize = 3;
const CELL: u32 = 300;
const LEGEND: u32 = 30;

impl Panel for Judged {
    fn height(&self) -> u32 {
        LEGEND + CELL * self.cells.len().div_ceil(COLUMNS) as u32
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (legend, rest) = area.split_vertically(LEGEND);
        let mut x = 24;
        for (method, colour) in self.methods.iter().zip(SERIES.into_iter().cycle()) {
            legend.draw(&Circle::new((x + 6, 12), 5, colour.filled()))?;
            legend.draw(&Text::new(method.clone(), (x + 18, 4), label(15, INK)))?;
            x += 40 + 8 * method.chars().count() as i32;
        }
        let hollow = self.cells.iter().flat_map(|cell| cell.series.iter().flatten()).any(|mark| !mark.inside);
        let hollow = if hollow { "; hollow: where it cannot be identified" } else { "" };
        legend.draw(&Text::new(format!("line: estimate = truth{hollow}"), (x + 8, 4), label(14, GREY)))?;
        let rows = self.cells.len().div_ceil(COLUMNS).max(1);
        for (cell, area) in
            self.cells.iter().zip(rest.split_evenly((rows, COLUMNS.min(self.cells.len().max(1)))))
        {
            self.draw_cell(cell, &area)?;
        }
        Ok(())
    }
}

impl Judged {
    fn draw_cell(&self, cell: &Cell, area: &Area<'_>) -> Result<()> {
        let marks = || cell.series.iter().flatten();
        let top =
            marks().map(|mark| mark.truth.max(mark.estimate)).fold(self.most.unwrap_or(1e-3), f64::max) * 1.1;
        let bottom = marks().map(|mark| mark.estimate).fold(0.0, f64::min) * 1.1;
        let right = marks().map(|mark| mark.truth).fold(self.most.unwrap_or(1e-3), f64::max) * 1.1;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .caption(&cell.title, label(14, INK))
            .x_label_area_size(40)
            .y_label_area_size(54)
            .build_cartesian_2d(0.0..right, bottom..top)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(PALE)
            .axis_style(GREY)
            .x_labels(5)
            .y_labels(5)
            .label_style(label(12, INK))
            .axis_desc_style(label(13, INK))
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .x_desc(format!("true {} ({})", self.quantity, self.unit))
            .y_desc(format!("estimate ({})", self.unit))
            .draw()?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (right, right)], GREY.stroke_width(1)))?;
        for (series, colour) in cell.series.iter().zip(SERIES.into_iter().cycle()) {
            let intervals = series.iter().map(|mark| {
                let ends = [(mark.truth, mark.low.max(bottom)), (mark.truth, mark.high.min(top))];
                PathElement::new(ends, colour.mix(0.5).stroke_width(1))
            });
            chart.draw_series(intervals)?;
            let points = series.iter().map(|mark| {
                let style = colour.mix(0.7);
                let style = if mark.inside { style.filled() } else { style.stroke_width(1) };
                Circle::new((mark.truth, mark.estimate), 3, style)
            });
            chart.draw_series(points)?;
        }
        Ok(())
    }
}
