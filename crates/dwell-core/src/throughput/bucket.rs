//! A token bucket that was full when a run began: its first part came faster than all that followed.

use crate::stats::quantile::{mean, standard_deviation};

/// The bucket is empty before this share of the run is over.
const EARLY: f64 = 0.25;

/// Until then the run is so many times as fast as after.
const FASTER: f64 = 1.5;

/// What came beyond the rate is at least what passes in so many seconds of it: less is a look that came late.
const MORE: f64 = 0.2;

/// What follows is in so many parts, whose rates vary by no more than this share.
const PARTS: usize = 6;
const STEADY: f64 = 0.25;

/// A bucket as a run shows it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Bucket {
    /// What passes for long, bits per second.
    pub(super) rate: f64,
    /// What passed beyond that, bits.
    pub(super) depth: f64,
}

/// The bucket that emptied early in a run, of which so many bits had come at such a second.
pub(super) fn bucket(course: &[(f64, f64)]) -> Option<Bucket> {
    let &(end, all) = course.last()?;
    let (early, late) = course.split_at(course.partition_point(|(at, _)| *at <= EARLY * end));
    let &(from, before) = early.last()?;
    let rate = (all - before) / (end - from);
    let parts: Vec<f64> = late
        .chunks_exact((late.len() / PARTS).max(1))
        .scan((from, before), |last, part| {
            let now = part[part.len() - 1];
            let rate = (now.1 - last.1) / (now.0 - last.0);
            *last = now;
            Some(rate)
        })
        .collect();
    let steady = parts.len() >= PARTS && standard_deviation(&parts)? <= STEADY * mean(&parts)?;
    let beyond = |(at, bits): &(f64, f64)| (bits - rate * at, *at);
    let (depth, at) = early.iter().map(beyond).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let bucket = rate > 0.0 && steady && depth >= MORE * rate && depth >= (FASTER - 1.0) * rate * at;
    bucket.then_some(Bucket { rate, depth })
}

impl Bucket {
    /// As a verdict says it; `of` is what the figures count.
    pub(super) fn reason(&self, of: &str) -> String {
        format!(
            "{:.2} MB of {of} came beyond the {:.2} Mb/s at which all that followed did, steadily: a token bucket, unless \
             others began just then",
            self.depth / 8e6,
            self.rate / 1e6
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds in tenths, of this rate at each second.
    fn course(rate: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut bits = 0.0;
        let look = |i: u32| {
            bits += rate(f64::from(i) / 10.0) / 10.0;
            (f64::from(i + 1) / 10.0, bits)
        };
        (0..100).map(look).collect()
    }

    #[test]
    fn what_came_beyond_the_rate_is_the_depth() {
        let found = bucket(&course(|at| if at < 0.5 { 100e6 } else { 20e6 })).unwrap();
        assert!((found.rate - 20e6).abs() < 1.0 && (found.depth - 40e6).abs() < 1.0, "{found:?}");
        assert!(found.reason("payload").starts_with("5.00 MB of payload came beyond the 20.00 Mb/s"));
    }

    #[test]
    fn links_and_unsteady_runs_show_none() {
        assert_eq!(bucket(&course(|_| 20e6)), None);
        assert_eq!(bucket(&course(|at| 20e6 * at.min(1.0))), None, "a ramp");
        assert_eq!(bucket(&course(|at| if at < 1.0 { 24e6 } else { 20e6 })), None, "a little faster");
        assert_eq!(bucket(&course(|at| if at < 5.0 { 100e6 } else { 20e6 })), None, "late");
        let waves = |at: f64| if at < 0.5 { 100e6 } else { 20e6 * (1.0 + (at * 0.9).sin()) };
        assert_eq!(bucket(&course(waves)), None);
        assert_eq!(bucket(&[]), None);
        assert_eq!(bucket(&[(0.0, 0.0); 40]), None);
        assert_eq!(bucket(&[(f64::NAN, f64::NAN); 40]), None);
    }
}
