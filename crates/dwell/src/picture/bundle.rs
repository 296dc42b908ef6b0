//! A figure of several tools over one axis, each on a logarithmic scale: what they cost.

use super::axes::{axes, frame};
use super::decades::Decades;
use super::ink::{LEGEND_ROW, SERIES, Swatch, dashed, legend};
use super::{Area, Panel};
use anyhow::Result;
use plotters::prelude::*;

/// One tool.
pub(crate) struct Strand {
    /// Its name.
    pub(crate) name: String,
    /// Ascending.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Several tools.
pub(crate) struct Bundle {
    /// What is drawn to the right.
    pub(crate) across: String,
    /// What is drawn upwards.
    pub(crate) upwards: String,
    /// Whether the axis across is logarithmic too.
    pub(crate) logarithmic: bool,
    /// In the order of their colours; beyond as many as there are of these, broken.
    pub(crate) strands: Vec<Strand>,
}

/// Nothing is drawn below this: the axis has no zero.
const LEAST: f64 = 1e-6;

impl Panel for Bundle {
    fn height(&self) -> u32 {
        380 + self.legend()
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(self.legend());
        let points = || self.strands.iter().flat_map(|strand| &strand.points);
        let (bottom, top) = ends(points().map(|point| point.1));
        let (left, right) = ends(points().map(|point| point.0));
        let upwards = Decades::between(bottom / 1.3..top * 1.3);
        let mut names = Vec::new();
        for (index, strand) in self.strands.iter().enumerate() {
            let colour = SERIES[index % SERIES.len()];
            let broken = index >= SERIES.len();
            names.push((
                if broken { Swatch::Dashes(colour) } else { Swatch::Line(colour) },
                strand.name.clone(),
            ));
        }
        if self.logarithmic {
            let mut chart =
                frame(&area).build_cartesian_2d(Decades::between(left / 1.2..right * 1.2), upwards)?;
            axes(&mut chart, self.across.clone(), self.upwards.clone())
                .x_label_formatter(&|x| few(*x))
                .y_label_formatter(&|y| few(*y))
                .draw()?;
            self.draw_strands(|points, colour, broken| {
                for pair in points.windows(2) {
                    chart.draw_series([stretch(pair[0], pair[1], colour, broken)])?;
                }
                Ok(())
            })?;
        } else {
            let room = (right - left).max(LEAST) * 0.05;
            let mut chart = frame(&area).build_cartesian_2d(left - room..right + room, upwards)?;
            axes(&mut chart, self.across.clone(), self.upwards.clone())
                .y_label_formatter(&|y| few(*y))
                .draw()?;
            self.draw_strands(|points, colour, broken| {
                for pair in points.windows(2) {
                    chart.draw_series([stretch(pair[0], pair[1], colour, broken)])?;
                }
                chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
                Ok(())
            })?;
        }
        legend(&strip, 84, &names)
    }
}

impl Bundle {
    fn legend(&self) -> u32 {
        LEGEND_ROW * self.strands.len().div_ceil(2) as u32 + 6
    }

    fn draw_strands(&self, mut draw: impl FnMut(&[(f64, f64)], RGBColor, bool) -> Result<()>) -> Result<()> {
        for (index, strand) in self.strands.iter().enumerate() {
            let points: Vec<_> = strand
                .points
                .iter()
                .map(|(x, y)| (*x, y.max(LEAST)))
                .filter(|(x, y)| (x + y).is_finite())
                .collect();
            draw(&points, SERIES[index % SERIES.len()], index >= SERIES.len())?;
        }
        Ok(())
    }
}

/// A straight piece, whole or broken.
fn stretch(
    from: (f64, f64),
    to: (f64, f64),
    colour: RGBColor,
    broken: bool,
) -> plotters::element::DashedPathElement<std::array::IntoIter<(f64, f64), 2>, i32> {
    let (dash, space) = if broken { (6, 4) } else { (1_000, 0) };
    dashed(from, to, dash, space, colour.stroke_width(2))
}

/// The least and the largest, where there are any.
fn ends(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let values = values.filter(|value| value.is_finite()).map(|value| value.max(LEAST));
    let (least, most) = (values.clone().fold(f64::MAX, f64::min), values.fold(LEAST, f64::max));
    (least.min(most), most)
}

/// A figure on a logarithmic axis: as many digits as it needs.
fn few(figure: f64) -> String {
    if figure != 0.0 && !(1e-3..1e6).contains(&figure.abs()) {
        return format!("{figure:.0e}");
    }
    super::ink::plain(figure)
}
