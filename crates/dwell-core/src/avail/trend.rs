//! Whether one-way delays grow along a stream: the two statistics of pathload.

use crate::stats::quantile::median;

/// What a statistic, or both, say of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    /// Delays grow: the stream is faster than what is free.
    Increasing,
    /// They do not.
    None,
    /// Neither can be said.
    Ambiguous,
}

/// PCT: above, delays grow; below, they do not (Jain and Dovrolis, Pathload, PAM 2002, section 3).
const PCT: (f64, f64) = (0.66, 0.54);

/// PDT, likewise.
const PDT: (f64, f64) = (0.55, 0.45);

/// Steps up to a microsecond are none: the program's clock has no finer ticks, and where a stream finds no queue at all, what
/// nanoseconds of rounding, or two clocks that drift by 20 ppm, do within ten milliseconds would pass for a trend.
const TICK: f64 = 1e3;

fn judge(value: f64, (above, below): (f64, f64)) -> Trend {
    if value > above {
        Trend::Increasing
    } else if value < below {
        Trend::None
    } else {
        Trend::Ambiguous
    }
}

/// The medians of about sqrt(K) groups of K delays: outliers are gone.
pub(super) fn medians(delays: &[f64]) -> Vec<f64> {
    let groups = (delays.len() as f64).sqrt().floor().max(1.0) as usize;
    let size = delays.len().div_ceil(groups).max(1);
    delays.chunks(size).filter_map(median).collect()
}

/// The share of steps upward: half of them without a trend, all in a strong one (ToN 2003, equation 8).
pub(super) fn pairwise_comparison(medians: &[f64]) -> Option<f64> {
    let steps = medians.len().checked_sub(1).filter(|steps| *steps > 0)?;
    let upward = medians.windows(2).filter(|two| two[1] > two[0] + TICK).count();
    Some(upward as f64 / steps as f64)
}

/// How much of all ups and downs remains at the end: 0 without a trend, 1 in a strong one (ToN 2003, equation 9).
pub(super) fn pairwise_difference(medians: &[f64]) -> Option<f64> {
    let (first, last) = (medians.first()?, medians.last()?);
    let step = |step: f64| if step.abs() > TICK { step } else { 0.0 };
    let all: f64 = medians.windows(2).map(|two| step(two[1] - two[0]).abs()).sum();
    (medians.len() > 1).then_some(if all > 0.0 { (step(last - first) / all).clamp(-1.0, 1.0) } else { 0.0 })
}

/// What both say: one may be in doubt, but they must not contradict.
pub(super) fn trend(delays: &[f64]) -> Trend {
    let medians = medians(delays);
    let (Some(pct), Some(pdt)) = (pairwise_comparison(&medians), pairwise_difference(&medians)) else {
        return Trend::Ambiguous;
    };
    match (judge(pct, PCT), judge(pdt, PDT)) {
        (Trend::Ambiguous, other) | (other, Trend::Ambiguous) => other,
        (one, other) if one == other => one,
        _ => Trend::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_statistics_by_hand() {
        let medians = [1e4, 3e4, 2e4, 5e4];
        assert_eq!(pairwise_comparison(&medians), Some(2.0 / 3.0));
        // 4 of 2 + 1 + 3.
        assert_eq!(pairwise_difference(&medians), Some(4.0 / 6.0));
        assert_eq!(pairwise_comparison(&[1.0]), None);
        assert_eq!(pairwise_difference(&[2.0, 2.0]), Some(0.0));
    }

    #[test]
    fn ramps_grow_and_saws_do_not() {
        let ramp: Vec<f64> = (0..100).map(|i| 1e3 * f64::from(i)).collect();
        assert_eq!(trend(&ramp), Trend::Increasing);
        let falling: Vec<f64> = ramp.iter().rev().copied().collect();
        assert_eq!(trend(&falling), Trend::None);
        let saw: Vec<f64> = (0..100).map(|i| 1e4 * f64::from(i * 7 % 10)).collect();
        assert_eq!(trend(&saw), Trend::None);
        assert_eq!(trend(&[]), Trend::Ambiguous);
        // An empty path, whose delays are rounded to nanoseconds.
        let rounded: Vec<f64> = (0..100).map(|i| f64::from(i / 50)).collect();
        assert_eq!(trend(&rounded), Trend::None);
    }

    #[test]
    fn medians_are_of_groups() {
        let medians = medians(&(0..100).map(f64::from).collect::<Vec<_>>());
        assert_eq!(medians.len(), 10);
        assert_eq!(medians[0], 4.5);
    }
}
