//! What scenarios are drawn from.

use crate::random::Stream;
use dwell_core::{BitRate, Nanos};
use rand::RngExt as _;
use std::ops::RangeInclusive;

/// What [`Scenario::random`](super::Scenario::random) draws from. Rates, stages and resolutions are drawn evenly on a logarithmic scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// Rate of each link.
    pub rate: RangeInclusive<BitRate>,
    /// Links of the path.
    pub hops: RangeInclusive<usize>,
    /// Propagation of each link.
    pub propagation: RangeInclusive<Nanos>,
    /// Share of its time that cross traffic takes of the busiest link of a path. The other links' are drawn evenly
    /// between the least of the range and that.
    pub load: RangeInclusive<f64>,
    /// Packets per second, on all links together, that the engine may have to carry one by one because their links
    /// never rest (cross traffic through several links, bursts of more than a link carries). Where a draw would need
    /// more, flows end at the busiest such link and begin anew behind it, and its bursts become Poisson traffic.
    pub carried: f64,
    /// Typical application stage of the host under test.
    pub application: RangeInclusive<Nanos>,
    /// Share of hosts whose NIC holds no packets; the others hold, throttle, adapt and defer equally often.
    pub without_coalescence: f64,
    /// Coalescence period of the other NICs, the longest where it adapts.
    pub period: RangeInclusive<Nanos>,
    /// Share of hosts under test whose kernel gives its stamps.
    pub with_kernel_stamps: f64,
    /// Largest clock offset, either way, of either host.
    pub offset: Nanos,
    /// Largest clock skew, either way, of either host.
    pub skew_ppm: f64,
    /// Resolution of the clock of the host under test.
    pub resolution: RangeInclusive<Nanos>,
}

impl Default for Ranges {
    /// 10 Mb/s to 100 Gb/s, 1 to 30 links with up to 90 % cross traffic, application stages of 5 to 200 us behind NICs
    /// of all kinds with periods of 10 to 300 us, clocks seconds apart, skewed by up to 100 ppm, with resolutions of
    /// 1 ns to 1 us.
    fn default() -> Self {
        Self {
            rate: BitRate::from_mbps(10)..=BitRate::from_mbps(100_000),
            hops: 1..=30,
            propagation: Nanos(200)..=Nanos::from_millis(3),
            load: 0.0..=0.9,
            carried: 1e5,
            application: Nanos::from_micros(5)..=Nanos::from_micros(200),
            without_coalescence: 0.3,
            period: Nanos::from_micros(10)..=Nanos::from_micros(300),
            with_kernel_stamps: 0.8,
            offset: Nanos::from_secs(5),
            skew_ppm: 100.0,
            resolution: Nanos(1)..=Nanos(1_000),
        }
    }
}

/// Even on a logarithmic scale.
pub(super) fn even_log(rng: &mut Stream, low: f64, high: f64) -> f64 {
    if low < high { rng.random_range(low.ln()..=high.ln()).exp().clamp(low, high) } else { low }
}
