//! Colours and letters. The palette is that of Okabe and Ito, which the colour-blind can tell apart.

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
pub(super) const GREY: RGBColor = RGBColor(96, 96, 96);
pub(super) const PALE: RGBColor = RGBColor(225, 225, 225);
pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(super) const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub(super) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(super) const VERMILLION: RGBColor = RGBColor(213, 94, 0);
pub(super) const PURPLE: RGBColor = RGBColor(204, 121, 167);
pub(super) const SKY: RGBColor = RGBColor(86, 180, 233);

/// Colours of series, in the order of their use.
pub(super) const SERIES: [RGBColor; 6] = [BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY];

/// Letters `size` pixels high, from the left, hanging from their top.
pub(super) fn label(size: u32, colour: RGBColor) -> TextStyle<'static> {
    TextStyle { color: colour.to_backend_color(), ..("sans-serif", size).into_font().into() }
}

/// The same, bold.
pub(super) fn bold(size: u32, colour: RGBColor) -> TextStyle<'static> {
    TextStyle { color: colour.to_backend_color(), ..("sans-serif", size, FontStyle::Bold).into_font().into() }
}

/// The same, with another point of the text at the given place.
pub(super) fn held(letters: TextStyle<'static>, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    letters.pos(Pos::new(horizontal, vertical))
}

/// A figure on an axis, without idle zeros.
pub(super) fn plain(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A broken line.
pub(super) fn dashed<C: Clone>(
    from: C,
    to: C,
    dash: i32,
    space: i32,
    style: ShapeStyle,
) -> DashedPathElement<std::array::IntoIter<C, 2>, i32> {
    DashedPathElement::new([from, to], dash, space, style)
}

/// How a series is shown in a legend.
#[derive(Copy, Clone)]
pub(super) enum Swatch {
    /// A point.
    Point(RGBColor),
    /// A line.
    Line(RGBColor),
    /// A broken line.
    Dashes(RGBColor),
    /// A broken line in a band.
    Band(RGBColor),
    /// A bar.
    Bar(RGBColor),
}

/// Series and their names, two in a row: beside the data, never over it.
pub(super) fn legend(area: &super::Area<'_>, left: i32, names: &[(Swatch, String)]) -> anyhow::Result<()> {
    let column = (area.dim_in_pixel().0 as i32 - left) / 2;
    for (i, (swatch, name)) in names.iter().enumerate() {
        let (x, y) = (left + column * (i as i32 % 2), 12 + LEGEND_ROW as i32 * (i as i32 / 2));
        match *swatch {
            Swatch::Point(colour) => area.draw(&Circle::new((x + 12, y), 4, colour.mix(0.6).filled()))?,
            Swatch::Line(colour) => {
                area.draw(&PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(3)))?;
            }
            Swatch::Dashes(colour) => {
                area.draw(&dashed((x, y), (x + 24, y), 3, 4, colour.stroke_width(2)))?
            }
            Swatch::Band(colour) => {
                area.draw(&Rectangle::new([(x, y - 7), (x + 24, y + 7)], colour.mix(0.16).filled()))?;
                area.draw(&dashed((x, y), (x + 24, y), 5, 4, colour.stroke_width(2)))?;
            }
            Swatch::Bar(colour) => {
                area.draw(&Rectangle::new([(x, y - 6), (x + 24, y + 6)], colour.filled()))?;
            }
        }
        area.draw(&Text::new(name.clone(), (x + 34, y), held(label(14, INK), HPos::Left, VPos::Center)))?;
    }
    Ok(())
}

/// Height of a legend's row.
pub(super) const LEGEND_ROW: u32 = 22;
