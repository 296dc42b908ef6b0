//! What two clocks do to the difference of their stamps: offset, skew, steps.
//!
//! Clocks are never assumed to agree. The difference of a stamp of one and a stamp of the other is a delay plus
//! their offset; over a run it drifts with their skew; when somebody sets one of them it steps.

use crate::stats::Estimate;
use crate::stats::histogram::half_sample_mode;
use crate::stats::hull::line_under;
use crate::stats::quantile::{median, quantile_of_sorted, sorted};
use crate::stats::slope::theil_sen;
use std::ops::Range;

/// Share by which two hosts' clocks may run at different rates without anybody knowing: twice a common crystal's.
pub(crate) const CLOCK_RATE_DOUBT: f64 = 200e-6;

/// A change of the delay that lasts and is larger than this many nanoseconds is a clock's step: no queue and no
/// scheduler does that to every packet from one on, all at once.
const STEP: f64 = 2e6;
/// And larger than so many times what delays usually differ by from one to the next: long queues that fill and drain
/// make levels that last for a while, too.
const BEYOND_USUAL: f64 = 8.0;
/// So many delays on either side must agree on a step.
const BESIDE: usize = 5;

/// The longest stretch of `delays` (in the order of departure, in nanoseconds) without a step of a clock, and the
/// steps that were seen.
#[must_use]
pub fn longest_stretch(delays: &[f64]) -> (Range<usize>, Vec<f64>) {
    let level = |part: &[f64]| median(part).unwrap_or(0.0);
    let usual = median(&delays.windows(2).map(|two| (two[1] - two[0]).abs()).collect::<Vec<_>>());
    let least = STEP.max(BEYOND_USUAL * usual.unwrap_or(0.0));
    let mut cuts = vec![0];
    let mut steps = Vec::new();
    let mut i = BESIDE;
    while i + BESIDE <= delays.len() {
        let lasting = level(&delays[i..i + BESIDE]) - level(&delays[i - BESIDE..i]);
        if (delays[i] - delays[i - 1]).abs() > least && lasting.abs() > least {
            cuts.push(i);
            steps.push(lasting);
            i += BESIDE;
        } else {
            i += 1;
        }
    }
    cuts.push(delays.len());
    let longest = cuts.windows(2).map(|ends| ends[0]..ends[1]).max_by_key(ExactSizeIterator::len);
    (longest.unwrap_or(0..delays.len()), steps)
}

/// The skew of the receiver's clock against the sender's, as a rate, from `points` of departure and delay: the lower
/// convex hull first (Moon, Skelly, Towsley 1999), which no queue can lift; then a robust line through the delays
/// that lie near it, which is sharper where there is no queue.
#[must_use]
pub fn skew(points: &[(f64, f64)]) -> Option<Estimate> {
    let mut line = line_under(points)?;
    let mut slope = Estimate { value: line.slope, low: line.slope, high: line.slope };
    for _ in 0..3 {
        let above: Vec<f64> = points.iter().map(|(x, y)| y - line.at(*x)).collect();
        let floor = quantile_of_sorted(&sorted(&above), 0.02)?;
        let peak = half_sample_mode(&above)?;
        // Delays up to as far above the densest place again as that lies above the floor, and half a microsecond
        // where clocks are coarse: the host's own spread, and not the queues'.
        let cut = peak + 2.0 * (peak - floor).max(500.0);
        let near: Vec<(f64, f64)> =
            points.iter().zip(&above).filter(|(_, r)| **r <= cut).map(|(p, _)| *p).collect();
        let Some(fit) = theil_sen(&near) else { break };
        line = fit.line();
        slope = fit.slope;
    }
    Some(slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_cuts_the_run() {
        let delays: Vec<f64> = (0..100).map(|i| if i < 30 { 1e3 } else { 5e8 } + f64::from(i % 7)).collect();
        let (stretch, steps) = longest_stretch(&delays);
        assert_eq!(stretch, 30..100);
        assert_eq!(steps.len(), 1);
        assert!((steps[0] - 5e8).abs() < 2e3, "{steps:?}");
    }

    #[test]
    fn queues_of_milliseconds_are_no_steps() {
        // Up to 5 ms, and full for ten packets now and then.
        let wait = |i: u32| if (i / 10).is_multiple_of(3) { 5e6 } else { f64::from(i * 7919 % 5000) * 1e3 };
        let delays: Vec<f64> = (0..300).map(wait).collect();
        assert_eq!(longest_stretch(&delays), (0..300, Vec::new()));
        // A clock that somebody sets while they fill is seen all the same.
        let set: Vec<f64> = (0..300).map(|i| wait(i) + if i < 100 { 0.0 } else { 1e9 }).collect();
        assert_eq!(longest_stretch(&set).0, 100..300);
    }

    #[test]
    fn one_slow_packet_is_no_step() {
        let mut delays = vec![1e3; 60];
        delays[20] = 9e7;
        assert_eq!(longest_stretch(&delays), (0..60, Vec::new()));
        assert_eq!(longest_stretch(&[]), (0..0, Vec::new()));
    }

    #[test]
    fn skew_under_queues() {
        // 50 ppm over 4 s; every second packet waits for up to 120 us.
        let wait = |i: i32| if i % 2 == 0 { f64::from(i * 7919 % 120) * 1e3 } else { 0.0 };
        let points: Vec<(f64, f64)> = (0..400)
            .map(|i| {
                (f64::from(i) * 1e7, f64::from(i) * 1e7 * 50e-6 + wait(i) + f64::from(i * 31 % 17) * 100.0)
            })
            .collect();
        let skew = skew(&points).unwrap();
        assert!((skew.value - 50e-6).abs() < 0.1e-6, "{skew:?}");
    }
}
