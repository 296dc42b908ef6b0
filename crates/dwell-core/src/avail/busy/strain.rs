//! Whether trains come longer than they were sent.

use super::super::search::Verdict;
use super::sample::Sample;
use crate::stats::quantile::{mean, standard_deviation};

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

/// Whether a fleet of one rate was held up, where the cross traffic's work is as [`Line::noise`](super::line::Line) says.
pub(super) fn verdict(fleet: &[Sample], noise: f64) -> Verdict {
    let strains: Vec<f64> = fleet.iter().map(|sample| sample.output / sample.input - 1.0).collect();
    let (Some(held), Some(spread)) = (mean(&strains), standard_deviation(&strains)) else {
        // Nothing came through whole.
        return Verdict::Above;
    };
    let walk = |sample: &Sample| {
        let lasting = sample.input * sample.gaps;
        WALK * (noise / lasting).sqrt() + STAMP / lasting + sample.blur / sample.input
    };
    let walks: Vec<f64> = fleet.iter().map(walk).collect();
    let allowed = NONE.max(mean(&walks).unwrap_or(0.0));
    let error = spread / (strains.len().saturating_sub(1).max(1) as f64).sqrt();
    if held > allowed + HELD_UP * error {
        Verdict::Above
    } else if held <= allowed + FREE * error {
        Verdict::Below
    } else {
        Verdict::Grey
    }
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
    fn strain_must_stand_out() {
        assert_eq!(verdict(&fleet(&[0.05, 0.06, 0.04, 0.05]), 0.0), Verdict::Above);
        assert_eq!(verdict(&fleet(&[0.05, -0.06, 0.04, -0.05]), 0.0), Verdict::Below);
        assert_eq!(verdict(&fleet(&[0.05, -0.01, 0.04, -0.005]), 0.0), Verdict::Grey);
        assert_eq!(verdict(&[], 0.0), Verdict::Above);
        // Cross traffic that comes in lumps delays a train that short by chance: sqrt(4e3 / (1e5 * 12)) * 0.8 = 4.6 %.
        assert_eq!(verdict(&fleet(&[0.05, 0.03, 0.04, 0.05]), 4e3), Verdict::Below);
    }
}
