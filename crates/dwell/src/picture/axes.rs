//! The axes of a panel, and the room that they take.

use super::Area;
use super::ink::{GREY, INK, PALE, label, plain};
use plotters::chart::{ChartContext, MeshStyle};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

/// A chart with room around it.
pub(super) fn frame<'a, 'b, 's>(area: &'a Area<'s>) -> ChartBuilder<'a, 'b, SVGBackend<'s>> {
    let mut chart = ChartBuilder::on(area);
    chart.margin(12).margin_right(28).x_label_area_size(52).y_label_area_size(72);
    chart
}

/// The axes of a chart, with what they tell, ready to be drawn.
pub(super) fn axes<'a, 'b, 's, X, Y>(
    chart: &'b mut ChartContext<'a, SVGBackend<'s>, Cartesian2d<X, Y>>,
    across: impl Into<String>,
    upwards: impl Into<String>,
) -> MeshStyle<'a, 'b, X, Y, SVGBackend<'s>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(WHITE)
        .bold_line_style(PALE)
        .axis_style(GREY)
        .label_style(label(14, INK))
        .axis_desc_style(label(16, INK))
        .x_label_formatter(&|figure| plain(*figure))
        .y_label_formatter(&|figure| plain(*figure))
        .x_desc(across)
        .y_desc(upwards);
    mesh
}
