//! Whether trains come longer than they were sent.

use super::super::search::Verdict;
use super::line::Sample;
use crate::stats::quantile::{mean, standard_deviation};

/// So many standard errors of strain mean that a fleet is held up, and so many or fewer that it is not.
const HELD_UP: f64 = 2.5;
const FREE: f64 = 1.0;

/// Strain below it is none: clocks differ by less, and no answer depends on it.
const NONE: f64 = 1e-3;

/// Whether a fleet of one rate was held up.
pub(super) fn verdict(fleet: &[Sample]) -> Verdict {
    let strains: Vec<f64> = fleet.iter().map(|sample| sample.output / sample.input - 1.0).collect();
    let (Some(mean), Some(spread)) = (mean(&strains), standard_deviation(&strains)) else {
        // Nothing came through whole.
        return Verdict::Above;
    };
    let error = spread / (strains.len().saturating_sub(1).max(1) as f64).sqrt();
    if mean > NONE && mean > HELD_UP * error {
        Verdict::Above
    } else if mean <= NONE.max(FREE * error) {
        Verdict::Below
    } else {
        Verdict::Grey
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(strains: &[f64]) -> Vec<Sample> {
        let of = |strain: &f64| Sample { input: 1e5, output: 1e5 * (1.0 + strain), gaps: 12.0 };
        strains.iter().map(of).collect()
    }

    #[test]
    fn strain_must_stand_out() {
        assert_eq!(verdict(&fleet(&[0.05, 0.06, 0.04, 0.05])), Verdict::Above);
        assert_eq!(verdict(&fleet(&[0.05, -0.06, 0.04, -0.05])), Verdict::Below);
        assert_eq!(verdict(&fleet(&[0.05, -0.01, 0.04, -0.005])), Verdict::Grey);
        assert_eq!(verdict(&[]), Verdict::Above);
    }
}
