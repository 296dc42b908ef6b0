//! What the host's kernel takes from one reply to the next.
//!
//! Replies to a burst of requests are as far apart as the slowest of three makes them: how the requests came, the
//! kernel's service, the links back. Links take longer over longer packets, and the kernel hardly: where the gap of
//! replies of three times the length is the same, no link made it. Asked are three at once, and the last two tell: the
//! first of them may part from the others by a throttle's period.

use crate::report::{Finding, Unit};
use crate::stats::Estimate;
use crate::stats::histogram::half_sample_mode;
use crate::stats::quantile::{median, quantile_interval, sorted};
use crate::unit::Nanos;

/// Gaps that a statement needs.
const LEAST: usize = 8;
/// Longer packets have the same gap if it grew by no more than this.
const SAME: f64 = 0.15;
/// Replies are further apart than requests left if by this factor.
const FURTHER: f64 = 1.2;

/// The usual gap of bursts.
fn usual(gaps: &[f64]) -> Option<Estimate> {
    let gaps = sorted(gaps);
    let level = half_sample_mode(&gaps[..gaps.len().div_ceil(2)])?;
    let near: Vec<f64> = gaps.into_iter().filter(|gap| *gap <= 1.5 * level && *gap >= 0.5 * level).collect();
    if near.len() < LEAST { None } else { quantile_interval(&near, 0.5) }
}

/// From the last two of each burst of smallest requests, dispersion and gap, and the gaps of longer ones, where there
/// are any.
pub(super) fn time(bursts: &[(f64, f64)], longer: &[f64], resolution: f64) -> Finding {
    let (left, gaps): (Vec<f64>, Vec<f64>) = bursts.iter().copied().unzip();
    let (Some(gap), Some(left)) = (usual(&gaps), median(&left)) else {
        return Finding::unmeasurable("too few requests that left back to back were answered");
    };
    let Estimate { value, low, high } = gap;
    let (low, high) = (low - resolution, high + resolution);
    let bound = |reason: &str| Finding::at_most(high, Unit::Ns, reason);
    if value < FURTHER * left {
        return bound("replies are no further apart than the requests left");
    }
    match usual(longer) {
        Some(long) if long.value <= (1.0 + SAME) * value + resolution => Finding::nanos(value, low, high),
        Some(long) => bound(&format!(
            "replies of three times the length are {} apart, so a link on the way sets the gap",
            Nanos::from_f64(long.value)
        )),
        None => bound("replies have one length, so a slow link on the way cannot be told from the kernel"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_gap_that_does_not_grow_with_the_length_is_the_kernels() {
        let bursts = |gap: f64| vec![(700.0, gap); 30];
        let kernel = time(&bursts(4e3), &[4.2e3; 24], 1.0);
        assert_eq!(kernel.estimate(), Some(4e3), "{kernel:?}");
        let link = time(&bursts(6.72e3), &[18e3; 24], 1.0);
        assert!(matches!(&link, Finding::Bound { reason, .. } if reason.contains("link")), "{link:?}");
        assert_eq!(link.holds(6.7e3), Some(true));
        assert!(matches!(time(&bursts(4e3), &[], 1.0), Finding::Bound { .. }));
        assert!(matches!(time(&[(4e3, 4.1e3); 30], &[4e3; 24], 1.0), Finding::Bound { .. }));
        assert!(matches!(time(&bursts(4e3)[..3], &[], 1.0), Finding::Unmeasurable { .. }));
    }
}
