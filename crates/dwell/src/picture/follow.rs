//! What a tool said, one measurement after another, beside what the counters said meanwhile.

use super::axes::axes;
use super::ink::{BLUE, GREY, INK, LEGEND_ROW, Swatch, label, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// One measurement: times in seconds, rates in megabits per second.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Measurement {
    /// When it began.
    pub(crate) from: f64,
    /// When it ended, and told.
    pub(crate) to: f64,
    /// What was free meanwhile.
    pub(crate) truth: f64,
    /// What it told, with its range.
    pub(crate) told: Option<(f64, f64, f64)>,
}

/// One tool.
pub(crate) struct Followed {
    /// Its name and condition.
    pub(crate) title: String,
    /// In the order of time.
    pub(crate) measurements: Vec<Measurement>,
}

/// Several tools, each in a chart of its own.
pub(crate) struct Follow {
    /// In the order of their charts.
    pub(crate) tools: Vec<Followed>,
}

const COLUMNS: usize = 2;
const CHART: u32 = 260;
const LEGEND: u32 = LEGEND_ROW + 6;

impl Panel for Follow {
    fn height(&self) -> u32 {
        LEGEND + CHART * self.tools.len().div_ceil(COLUMNS) as u32
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, rest) = area.split_vertically(LEGEND);
        let rows = self.tools.len().div_ceil(COLUMNS).max(1);
        for (tool, area) in self.tools.iter().zip(rest.split_evenly((rows, COLUMNS))) {
            tool.draw(&area)?;
        }
        let names = [
            (Swatch::Dashes(GREY), "truly free, by the counters, over each measurement".to_owned()),
            (Swatch::Point(BLUE), "told, with its range".to_owned()),
        ];
        legend(&strip, 24, &names)
    }
}

impl Followed {
    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let right = self.measurements.iter().map(|one| one.to).fold(1e-3, f64::max) * 1.02;
        let told = || self.measurements.iter().filter_map(|one| Some((one, one.told?)));
        let truths = self.measurements.iter().map(|one| one.truth);
        let top = told().map(|(_, told)| told.0).chain(truths).fold(1.0, f64::max) * 1.15;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(20)
            .caption(&self.title, label(14, INK))
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "time (s)", "Mb/s")
            .x_labels(6)
            .y_labels(5)
            .label_style(label(12, INK))
            .axis_desc_style(label(13, INK))
            .draw()?;
        for one in &self.measurements {
            let ends = [(one.from, one.truth), (one.to, one.truth)];
            chart.draw_series([super::ink::dashed(ends[0], ends[1], 3, 3, GREY.stroke_width(2))])?;
        }
        chart.draw_series(told().map(|(one, (_, low, high))| {
            let ends = [(one.to, low.clamp(0.0, top)), (one.to, high.clamp(0.0, top))];
            PathElement::new(ends, BLUE.mix(0.5).stroke_width(1))
        }))?;
        chart.draw_series(
            told().map(|(one, told)| Circle::new((one.to, told.0), 3, BLUE.mix(0.8).filled())),
        )?;
        Ok(())
    }
}
