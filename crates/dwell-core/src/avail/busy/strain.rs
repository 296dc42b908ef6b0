//! Whether trains come longer than they were sent.

use super::super::search::Verdict;
use crate::stats::NORMAL;
use crate::stats::bootstrap::small_sample_factor;
use crate::stats::quantile::{mean, standard_deviation};
use crate::stream::sample::Sample;

/// So many standard errors of strain mean that a fleet is held up, and so many or fewer that it is not.
const HELD_UP: f64 = 2.5;
const FREE: f64 = 1.0;

/// Strain below it is none: clocks differ by less, and no answer depends on it.
const NONE: f64 = 1e-3;

/// Nor does what stamps may be off, in nanoseconds, make a train longer.
const STAMP: f64 = 2e3;

/// A train that the link just carries finds a queue that walks at random from where it began, and never below nothing:
/// it ends so many standard deviations of the cross traffic's work above at the mean, sqrt(2 / pi).
const WALK: f64 = 0.8;

/// Standard error of the mean strain of a fleet of one rate: by what its trains differ, so what the load did meanwhile. `None` of
/// no trains.
pub(super) fn doubt(fleet: &[Sample]) -> Option<f64> {
    let strains: Vec<f64> = fleet.iter().map(strain).collect();
    Some(standard_deviation(&strains)? / (strains.len().saturating_sub(1).max(1) as f64).sqrt())
}

/// By how much of itself a train came longer than it was sent.
fn strain(sample: &Sample) -> f64 {
    sample.output / sample.input - 1.0
}

/// The mean strain of a fleet; `None` of no trains.
pub(super) fn held(fleet: &[Sample]) -> Option<f64> {
    mean(&fleet.iter().map(strain).collect::<Vec<_>>())
}

/// The strain that a fleet may show whose rate is free.
pub(super) fn allowed(fleet: &[Sample], noise: f64) -> f64 {
    let walk = |sample: &Sample| {
        let lasting = sample.input * sample.gaps;
        WALK * (noise / lasting).sqrt() + STAMP / lasting + sample.blur / sample.input
    };
    let walks: Vec<f64> = fleet.iter().map(walk).collect();
    NONE.max(mean(&walks).unwrap_or(0.0))
}

/// Whether a fleet of one rate was held up, where the cross traffic's work is as [`Line::noise`](crate::stream::line::Line) says.
pub(super) fn verdict(fleet: &[Sample], noise: f64) -> Verdict {
    let (Some(held), Some(error)) = (held(fleet), doubt(fleet)) else {
        // Nothing came through whole.
        return Verdict::Above;
    };
    let allowed = allowed(fleet, noise);
    if held > allowed + HELD_UP * error {
        Verdict::Above
    } else if held <= allowed + FREE * error {
        Verdict::Below
    } else {
        Verdict::Grey
    }
}

/// The most by which trains of one rate may be held up at the mean: so many are few, and what cross traffic did between their
/// packets is not what it does at other times. `None` of fewer than two.
pub(super) fn highest(fleet: &[Sample]) -> Option<f64> {
    if fleet.len() < 2 {
        return None;
    }
    Some(held(fleet)? + NORMAL * small_sample_factor(fleet.len()) * doubt(fleet)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(strains: &[f64]) -> Vec<Sample> {
        let of = |strain: &f64| Sample {
            input: 1e5,
            output: 1e5 * (1.0 + strain),
            gaps: 12.0,
            blur: 0.0,
            scatter: 0.0,
        };
        strains.iter().map(of).collect()
    }

    #[test]
    fn few_trains_that_differ_may_be_held_up_by_more_than_they_show() {
        let even = highest(&fleet(&[0.01; 10])).unwrap();
        assert!((even - 0.01).abs() < 1e-9, "{even}");
        // Standard error 0.1 / sqrt(10) at the mean of 0, Student's 2.26 and a little for ten.
        let uneven: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 0.1 } else { -0.1 }).collect();
        let uneven = highest(&fleet(&uneven)).unwrap();
        assert!((0.07..0.09).contains(&uneven), "{uneven}");
        assert_eq!(highest(&fleet(&[0.0])), None);
    }

    #[test]
    fn strain_must_stand_out() {
        assert_eq!(verdict(&fleet(&[0.05, 0.06, 0.04, 0.05]), 0.0), Verdict::Above);
        assert_eq!(verdict(&fleet(&[0.05, -0.06, 0.04, -0.05]), 0.0), Verdict::Below);
        assert_eq!(verdict(&fleet(&[0.05, -0.01, 0.04, -0.005]), 0.0), Verdict::Grey);
        assert_eq!(verdict(&[], 0.0), Verdict::Above);
        // Cross traffic that comes in lumps delays a train that short by chance: sqrt(4e3 / (1e5 * 12)) * 0.8 = 4.6 %.
        assert_eq!(verdict(&fleet(&[0.05, 0.03, 0.04, 0.05]), 4e3), Verdict::Below);
    }
}
