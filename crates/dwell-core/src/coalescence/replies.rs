//! What the replies of the host's kernel show of its NIC, where no agent tells how packets arrived there.
//!
//! Requests come as trains do, the NIC holds them as it does, and then the kernel answers one after the other: a reply
//! leaves when its request was handed over and the reply before has left, so packets that came together are seen
//! [`spacing`](Replies::spacing) apart. That is the kernel's service time, or a reply's time on the narrowest link back, whichever is
//! longer. The first of a train finds the kernel at rest, its caches cold and its core asleep perhaps: it leaves later than
//! the others. By how much one was late its round trip tells, as both its stamps are of one clock. The way back adds waits,
//! never takes any off: so the trains do not count whose first round trip was longest ([`prompt`]).

use super::Sample;
use crate::stats::histogram::half_sample_mode;
use crate::stats::quantile::{mean, quantile, sorted};

/// So large a share of the trains counts as prompt at least.
const SHARE: f64 = 0.8;
/// And all that are no later than this.
const PROMPT: f64 = 1_500.0;

/// What is known of them.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Replies {
    /// How far apart they are where requests came together.
    pub(super) spacing: f64,
    /// By how much they are late at the mean, where packets of others delay them.
    pub(super) noise: f64,
    /// The shortest round trip of a train's first packet: a NIC that holds has held that one too, and no longer.
    pub(super) round_trip: f64,
}

impl Replies {
    /// As all trains show it, and those that count; the first train's round trip took `origin`.
    pub(super) fn of(all: &[Sample], counted: &[Sample], origin: f64) -> Self {
        let delays: Vec<f64> = all.iter().map(|sample| sample.delay).collect();
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        let noise = mean(&delays).map_or(0.0, |mean| mean - least);
        Self { spacing: spacing(counted).unwrap_or(0.0), noise, round_trip: origin + least }
    }
}

/// When replies leave whose requests were handed over at `handed`: the first by `rest` later than a kernel would answer that
/// is not at rest, each at least `spacing` after the one before.
pub(super) fn one_by_one(mut handed: Vec<f64>, spacing: f64, rest: f64) -> Vec<f64> {
    handed[0] += rest;
    for place in 1..handed.len() {
        handed[place] = handed[place].max(handed[place - 1] + spacing);
    }
    handed
}

/// The gap of replies to requests that were there at once. Requests that left as one burst show it, where something
/// brings them together or the way there is faster; where not, they show what is no shorter.
fn spacing(samples: &[Sample]) -> Option<f64> {
    let gaps = sorted(&samples.iter().filter_map(|sample| Some(sample.next?.1)).collect::<Vec<_>>());
    // A throttle parts some of the bursts by its period.
    half_sample_mode(&gaps[..gaps.len().div_ceil(2)])
}

/// The trains whose first packet was not late above all others.
pub(super) fn prompt(samples: &[Sample]) -> Vec<Sample> {
    let delays: Vec<f64> = samples.iter().map(|sample| sample.delay).collect();
    let Some((least, share)) = quantile(&delays, 0.0).zip(quantile(&delays, SHARE)) else {
        return Vec::new();
    };
    let latest = share.max(least + PROMPT);
    samples.iter().copied().filter(|sample| sample.delay <= latest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(delay: f64, burst: f64) -> Sample {
        Sample { at: 0.0, delay, dispersion: 50e3, gap: 50e3, next: Some((1e3, burst)) }
    }

    #[test]
    fn replies_leave_one_by_one() {
        assert_eq!(one_by_one(vec![100.0, 100.0, 100.0, 400.0], 30.0, 0.0), [100.0, 130.0, 160.0, 400.0]);
        assert_eq!(one_by_one(vec![0.0, 5.0], 0.0, 0.0), [0.0, 5.0]);
        assert_eq!(one_by_one(vec![0.0, 5.0, 90.0], 10.0, 20.0), [20.0, 30.0, 90.0]);
    }

    #[test]
    fn bursts_that_a_throttle_parted_do_not_count() {
        let bursts = [7e3, 7.1e3, 6.9e3, 7e3, 125e3, 125e3, 125e3];
        let samples: Vec<Sample> = bursts.into_iter().map(|burst| sample(0.0, burst)).collect();
        assert!((spacing(&samples).unwrap() - 7e3).abs() < 200.0);
        assert_eq!(spacing(&[]), None);
    }

    #[test]
    fn trains_that_waited_for_longest_are_left_out() {
        let delays = [0.0, 300.0, 900.0, 40e3, 80e3, 120e3];
        let samples: Vec<Sample> = delays.into_iter().map(|delay| sample(delay, 7e3)).collect();
        assert_eq!(prompt(&samples).len(), 5);
        let quick: Vec<Sample> = samples[..3].to_vec();
        assert_eq!(prompt(&quick).len(), 3, "all within 1.5 us");
        assert!(prompt(&[]).is_empty());
    }
}
