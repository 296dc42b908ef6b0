//! Where the time goes: one bar for each part, each beginning where the one above ends.

use super::ink::{BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, SKY, VERMILLION, dashed, held, label};
use super::{Area, Panel};
use crate::waterfall::{Bars, Extent};
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

const ROW: i32 = 52;
const NAMES: i32 = 190;
const FIGURES: i32 = 210;
const COLOURS: [RGBColor; 6] = [SKY, GREY, PURPLE, VERMILLION, ORANGE, BLUE];

impl Panel for Bars {
    fn height(&self) -> u32 {
        (ROW * (self.bars.len() as i32 + 1) + 74) as u32
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let width = area.dim_in_pixel().0 as i32;
        let (left, right) = (NAMES + 24, width - FIGURES - 24);
        let (longest, unit) = (self.longest(), self.unit());
        let pixel = |us: f64| left + ((right - left) as f64 * us / longest).round() as i32;

        let bottom = ROW * (self.bars.len() as i32 + 1) + 16;
        for tick in ticks(longest / unit.us) {
            let x = pixel(tick * unit.us);
            area.draw(&PathElement::new([(x, 4), (x, bottom)], PALE))?;
            let letters = held(label(14, INK), HPos::Center, VPos::Top);
            area.draw(&Text::new(format!("{tick}"), (x, bottom + 6), letters))?;
        }
        let letters = held(label(16, INK), HPos::Center, VPos::Top);
        area.draw(&Text::new(
            format!("{} ({})", self.axis, unit.name),
            ((left + right) / 2, bottom + 28),
            letters,
        ))?;

        let rows = self.bars.iter().zip(COLOURS.into_iter().cycle()).chain([(&self.whole, GREEN)]);
        for (row, (bar, colour)) in rows.enumerate() {
            let top = 12 + ROW * row as i32;
            let (from, to) = (pixel(bar.start), pixel(bar.start + bar.extent.length()));
            let (upper, lower) = (top + 6, top + ROW - 16);
            let middle = (upper + lower) / 2;
            let name = held(label(16, INK), HPos::Right, VPos::Center);
            area.draw(&Text::new(bar.name.clone(), (left - 14, middle), name))?;
            match bar.extent {
                Extent::Value { low, high, .. } => {
                    area.draw(&Rectangle::new([(from, upper), (to.max(from + 1), lower)], colour.filled()))?;
                    if low < high {
                        let (low, high) = (pixel(bar.start + low.max(0.0)), pixel(bar.start + high));
                        whisker(area, low, high, middle)?;
                    }
                }
                Extent::AtMost(_) => {
                    hatch(area, (from, upper), (to, lower), colour)?;
                    area.draw(&Rectangle::new([(from, upper), (to, lower)], colour.stroke_width(1)))?;
                }
                Extent::AtLeast(_) => {
                    area.draw(&Rectangle::new([(from, upper), (to.max(from + 1), lower)], colour.filled()))?;
                    let head = [(to + 3, middle - 8), (to + 15, middle), (to + 3, middle + 8)];
                    area.draw(&Polygon::new(head, colour.filled()))?;
                }
                Extent::Unknown => {
                    area.draw(&dashed((from, middle), (right, middle), 3, 5, GREY.stroke_width(1)))?;
                }
            }
            let figure = held(label(15, INK), HPos::Left, VPos::Center);
            area.draw(&Text::new(bar.extent.text(unit), (right + 18, middle), figure))?;
        }
        Ok(())
    }
}

/// The interval, over the bar's end.
fn whisker(area: &Area<'_>, low: i32, high: i32, y: i32) -> Result<()> {
    let ink = INK.stroke_width(2);
    area.draw(&PathElement::new([(low, y), (high, y)], ink))?;
    area.draw(&PathElement::new([(low, y - 5), (low, y + 5)], ink))?;
    area.draw(&PathElement::new([(high, y - 5), (high, y + 5)], ink))?;
    Ok(())
}

/// Slanted lines, cut at the edges.
fn hatch(
    area: &Area<'_>,
    (left, top): (i32, i32),
    (right, bottom): (i32, i32),
    colour: RGBColor,
) -> Result<()> {
    let height = bottom - top;
    let mut foot = left - height;
    while foot < right {
        // The line runs from (foot, bottom) to (foot + height, top).
        let from = foot.max(left);
        let to = (foot + height).min(right);
        if to > from {
            let line = [(from, bottom - (from - foot)), (to, bottom - (to - foot))];
            area.draw(&PathElement::new(line, colour.stroke_width(1)))?;
        }
        foot += 8;
    }
    Ok(())
}

/// Round figures, four to ten of them.
fn ticks(longest: f64) -> Vec<f64> {
    let decade = 10f64.powf((longest / 4.0).log10().floor());
    let step = [5.0, 2.0, 1.0].map(|factor| factor * decade).into_iter().find(|step| longest / step >= 4.0);
    let step = step.unwrap_or(decade);
    // Dividing keeps 0.3 from printing as 0.30000000000000004.
    (0..).map(|i| (f64::from(i) * step * 1e6).round() / 1e6).take_while(|tick| *tick <= longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.9), [0.0, 0.2, 0.4, 0.6, 0.8]);
        for longest in [0.001, 0.7, 3.0, 42.0, 999.0, 1e6] {
            assert!((4..=11).contains(&ticks(longest).len()), "{longest}: {:?}", ticks(longest));
        }
    }
}
