//! A logarithmic axis. (Plotters' own names some figures twice, and none below its first power of ten.)

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// The axis between two figures above zero.
#[derive(Clone)]
pub(super) struct Decades {
    ends: Range<f64>,
    logarithms: RangedCoordf64,
}

impl Decades {
    pub(super) fn between(ends: Range<f64>) -> Self {
        let logarithms = (ends.start.ln()..ends.end.ln()).into();
        Self { ends, logarithms }
    }

    /// Those of these figures' multiples by powers of ten that are on the axis.
    fn multiples(&self, figures: &[f64]) -> Vec<f64> {
        let (first, last) = (self.ends.start.log10().floor() as i32, self.ends.end.log10().ceil() as i32);
        let all =
            (first..=last).flat_map(|power| figures.iter().map(move |figure| figure * 10f64.powi(power)));
        all.filter(|figure| (self.ends.start..=self.ends.end).contains(figure)).collect()
    }
}

/// The figures of a decade, as many as there is room for.
const FIGURES: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0]];

/// Where there are fewer, an axis of other figures tells more.
const FEWEST: usize = 3;

impl Ranged for Decades {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.logarithms.map(&value.max(f64::MIN_POSITIVE).ln(), limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let room = hint.bold_points().max(1);
        let fits = |points: &Vec<f64>| points.len() <= room;
        let Some(points) = FIGURES.iter().map(|figures| self.multiples(figures)).find(fits) else {
            let powers = self.multiples(&[1.0]);
            let each = powers.len().div_ceil(room);
            return powers.into_iter().step_by(each).collect();
        };
        if points.len() < FEWEST { RangedCoordf64::from(self.ends.clone()).key_points(room) } else { points }
    }

    fn range(&self) -> Range<f64> {
        self.ends.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ends: Range<f64>, room: usize) -> Vec<f64> {
        Decades::between(ends).key_points(room)
    }

    #[test]
    fn figures_are_round_once_each_and_as_many_as_there_is_room_for() {
        assert_eq!(told(0.3..9.9, 11), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(told(0.9..2_100.0, 11), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3]);
        assert_eq!(told(0.9..2_100.0, 6), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(told(0.9..2e7, 4), [1.0, 100.0, 1e4, 1e6]);
        // On less than a decade, as on an even axis.
        let near = told(31.2..34.8, 11);
        assert!(near.len() >= FEWEST && near.iter().all(|figure| (31.2..34.8).contains(figure)), "{near:?}");
    }

    #[test]
    fn equal_factors_are_equally_long() {
        let axis = Decades::between(1.0..1_000.0);
        assert_eq!([1.0, 10.0, 100.0, 1_000.0].map(|figure| axis.map(&figure, (0, 300))), [0, 100, 200, 300]);
        assert!(axis.map(&0.0, (0, 300)) < 0);
    }
}
