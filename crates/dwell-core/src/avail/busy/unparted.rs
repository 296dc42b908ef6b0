//! The gap of packets that left the narrow link one right behind the other.

use super::line::Known;
use crate::stats::quantile::{densest, sorted};

/// Share of all gaps that must lie together.
const TOGETHER: f64 = 0.2;

/// How near to each other they must lie, as a share of themselves.
const NEAR: f64 = 0.02;

/// Gaps below it are not looked at: fewer than this many say nothing.
const ENOUGH: usize = 10;

/// Where gaps of bursts crowd: packets that nothing came between are all served in the same time. `None` where gaps
/// crowd nowhere, or in a place that many smaller ones lie below: there cross traffic, or the host, sets them all.
pub(super) fn unparted(gaps: &[f64]) -> Option<Known> {
    let gaps = sorted(gaps);
    let gaps: Vec<f64> = gaps.into_iter().filter(|gap| *gap > 0.0).collect();
    if gaps.len() < ENOUGH {
        return None;
    }
    let crowd = densest(&gaps, TOGETHER)?;
    let (first, last) = (*crowd.first()?, *crowd.last()?);
    let middle = crowd[crowd.len() / 2];
    let below = gaps.partition_point(|gap| *gap < first * (1.0 - NEAR));
    let crowds = last - first <= NEAR * middle && below * 3 <= gaps.len();
    let error = ((last - first) / 2.0).max(middle * 1e-4) / (crowd.len() as f64).sqrt().max(1.0);
    crowds.then_some((middle, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparted_gaps_crowd() {
        let mut gaps = vec![123.0; 6];
        gaps.extend((0..14).map(|i| 123.0 + 17.3 * f64::from(i + 1)));
        assert_eq!(unparted(&gaps).unwrap().0, 123.0);
    }

    #[test]
    fn others_do_not() {
        let spread: Vec<f64> = (0..40).map(|i| 123.0 + 7.0 * f64::from(i)).collect();
        assert_eq!(unparted(&spread), None);
        // A host that reads in batches: most gaps are next to nothing.
        let mut batches: Vec<f64> = (0..30).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
        batches.extend([250.0; 12]);
        assert_eq!(unparted(&batches), None);
        assert_eq!(unparted(&[5.0; 3]), None);
    }
}
