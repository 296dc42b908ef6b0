//! The rates at which trains came, against those at which they were sent: up to what is free, the same.

use super::axes::{axes, frame};
use super::ink::{BLUE, GREY, LEGEND_ROW, ORANGE, Swatch, VERMILLION, dashed, legend};
use super::{Area, Panel};
use anyhow::Result;
use dwell_core::stats::quantile::median;
use plotters::prelude::*;

/// Trains at several rates.
pub(crate) struct Strain {
    /// The rates of each as it was sent and as it came, in bits per second.
    pub(crate) points: Vec<(f64, f64)>,
    /// What each of them is of.
    pub(crate) of: &'static str,
    /// How many more were sent that show no rate, for less than two packets came.
    pub(crate) lost: usize,
    /// What was found to be free, in bits per second, with its name.
    pub(crate) free: Option<(f64, String)>,
}

/// The axes reach no further than so many times what is free, or what is usual: bursts leave a host at any rate.
const SHOWN: f64 = 4.0;

impl Strain {
    /// The rate, bits per second, of the fastest train that came as it was sent, or that the path slowed down.
    fn reach(&self) -> f64 {
        let carried: Vec<f64> = self.points.iter().map(|(sent, came)| sent.min(*came)).collect();
        let usual =
            self.free.as_ref().map(|(free, _)| *free).or_else(|| median(&carried)).unwrap_or(1.0).max(1.0);
        let shown = carried.into_iter().filter(|rate| *rate <= SHOWN * usual);
        shown.fold(usual, f64::max)
    }
}

impl Panel for Strain {
    fn height(&self) -> u32 {
        500
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (strip, area) = area.split_vertically(2 * LEGEND_ROW + 6);
        let reach = self.reach() / 1e6;
        let (right, top) = (1.5 * reach, 1.1 * reach);
        // What is beyond the axes lies on their ends.
        let at = |(sent, came): &(f64, f64)| ((sent / 1e6).min(right), (came / 1e6).min(top));
        let (inside, beyond): (Vec<_>, Vec<_>) =
            self.points.iter().partition(|(sent, came)| sent / 1e6 <= right && came / 1e6 <= top);
        let mut chart = frame(&area).build_cartesian_2d(0.0..right, 0.0..top)?;
        axes(&mut chart, "Rate at which it was sent (Mb/s)", "Rate at which it came (Mb/s)").draw()?;
        chart.draw_series([dashed((0.0, 0.0), (top, top), 3, 4, GREY.stroke_width(2))])?;
        let lost = if self.lost > 0 { format!("; {} more were lost", self.lost) } else { String::new() };
        let mut names = vec![
            (Swatch::Point(BLUE), format!("one of {} {}{lost}", self.points.len(), self.of)),
            (Swatch::Dashes(GREY), "came as fast as it was sent".to_owned()),
        ];
        if let Some((free, name)) = &self.free {
            let at = free / 1e6;
            chart.draw_series(LineSeries::new([(at, 0.0), (at, top)], VERMILLION.stroke_width(3)))?;
            names.push((Swatch::Line(VERMILLION), format!("{name} free")));
        }
        chart.draw_series(inside.iter().map(|point| Circle::new(at(point), 4, BLUE.mix(0.6).filled())))?;
        if !beyond.is_empty() {
            chart.draw_series(
                beyond.iter().map(|point| Circle::new(at(point), 5, ORANGE.mix(0.6).filled())),
            )?;
            names.push((
                Swatch::Point(ORANGE),
                format!("{} of them, faster than the axes tell", beyond.len()),
            ));
        }
        legend(&strip, 84, &names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_behind_what_the_path_carried_and_not_where_bursts_leave_a_host() {
        let strain = |free: Option<f64>, points: &[(f64, f64)]| Strain {
            points: points.to_vec(),
            of: "trains",
            lost: 0,
            free: free.map(|free| (free, String::new())),
        };
        let burst = (1e13, 1e8);
        assert_eq!(strain(Some(7e7), &[burst, (6e7, 6e7)]).reach(), 1e8);
        // A NIC that hands all over at once.
        assert_eq!(strain(Some(7e7), &[(1e13, 1e13), (6e7, 6e7)]).reach(), 7e7);
        assert_eq!(strain(None, &[burst, burst, (1e13, 1e13)]).reach(), 1e8);
        assert!(strain(None, &[]).reach() > 0.0);
    }
}
