//! What the resolution R of the receiver's clock does to each estimate (papers/000, section 7.1).
//!
//! A clock that ticks every R shows a time up to R too small, so a gap between two stamps is off by less than R either
//! way. How far an estimate can be off follows from how it is made of gaps. *At most* is reached when all gaps of a size
//! fall on the same place between two ticks: probes at a fixed pace that is a multiple of R do that. *Evenly* is what is
//! left (95 %) where the gaps fall evenly between ticks: the error of one gap then has no bias and a deviation of at most
//! R / 2 (it is a whole tick too large or too small, in the share that makes it right on average), and n gaps average it.

use crate::stats::NORMAL;
use crate::stats::quantile::sorted;
use crate::unit::{BitRate, Bytes, Nanos};

/// The error of one estimate by resolution alone; nanoseconds, or a share of the estimate, as the function says.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Error {
    /// No more than this.
    pub most: f64,
    /// In 95 of 100 runs no more than this, if gaps fall evenly between ticks; no more than `most`.
    pub even: f64,
}

impl Error {
    /// Of a sum of averages over `n` gaps each, with these weights.
    fn of(weights: &[f64], resolution: Nanos, n: usize) -> Self {
        let tick = resolution.as_f64();
        let most = tick * weights.iter().map(|weight| weight.abs()).sum::<f64>();
        let deviation =
            tick / 2.0 * (weights.iter().map(|weight| weight * weight).sum::<f64>() / n.max(1) as f64).sqrt();
        Self { most, even: (NORMAL * deviation).min(most) }
    }

    /// The same as a share of `whole`.
    #[must_use]
    pub fn share_of(self, whole: f64) -> Self {
        Self { most: self.most / whole, even: self.even / whole }
    }
}

/// Of each figure of `salehin2015`, in nanoseconds but for the capacity.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TwoSizes {
    /// PPT_t = G_avg(s_2) - G_avg(s_1) (15).
    pub trailing: Error,
    /// PPT_h = PPT_t - dPPT (16).
    pub heading: Error,
    /// PPT_avg, their mean.
    pub average: Error,
    /// dPPT = G_avg(s_1) - m_avg s_1 - gamma (8), gamma being known.
    pub differential: Error,
    /// 1 / c_n = m_avg (5), as a share of itself: 2 R over the time that s_2 - s_1 take on the link. 1 at the smallest
    /// step, 2 R c_n.
    pub slope: Error,
}

/// For `salehin2015` with `n` gaps of each size. `difference` is (s_2 - s_1) / c_n in nanoseconds.
#[must_use]
pub fn salehin2015(resolution: Nanos, sizes: [Bytes; 2], difference: f64, n: usize) -> TwoSizes {
    // With errors e_1 and e_2 of the averages, m_avg is off by (e_2 - e_1) / (s_2 - s_1), and m_avg s_1 by k times
    // e_2 - e_1.
    let k = sizes[0].0 as f64 / (sizes[1] - sizes[0]).0 as f64;
    let of = |weights: [f64; 2]| Error::of(&weights, resolution, n);
    TwoSizes {
        trailing: of([-1.0, 1.0]),
        differential: of([1.0 + k, -k]),
        heading: of([-2.0 - k, 1.0 + k]),
        average: of([-1.5 - k / 2.0, 1.0 + k / 2.0]),
        slope: of([-1.0, 1.0]).share_of(difference),
    }
}

/// Of the flat gap that `salehin2017` reports, in nanoseconds, with `n` gaps of the first size.
#[must_use]
pub fn salehin2017(resolution: Nanos, n: usize) -> Error {
    Error::of(&[1.0], resolution, n)
}

/// Of the application stage that `knee` finds, in nanoseconds: each packet's A = (TS_h - t_h) - D is one stamp against
/// the border D, and D lies within a tick of the stamps around it. The median of stages that spread over several ticks
/// comes nearer.
#[must_use]
pub fn knee(resolution: Nanos) -> Error {
    let most = resolution.as_f64();
    Error { most, even: most }
}

/// Share of a burst over which `end-link` takes its slope: the first quarter is left out.
const SLOPED: f64 = 0.75;

/// Half of all pairs of packets in a burst are at least this share of it apart: (1 - x)^2 of them are more than x apart.
const MEDIAN_REACH: f64 = 0.292_893;

/// Of the capacity that `end-link` finds on a path whose end link is the narrowest, as a share of it. A burst lasts `span`
/// nanoseconds, and compound probes
/// have these trailing `sizes`. Both slopes that it may report are medians over pairs, and a median is off by no more than
/// half of them are: of stamps by a tick over the packets' distance, of gaps by two ticks over the sizes' difference.
#[must_use]
pub fn end_link(resolution: Nanos, span: f64, sizes: &[Bytes], capacity: BitRate) -> Error {
    let bursts = resolution.as_f64() / (MEDIAN_REACH * SLOPED * span);
    let pairs =
        sizes.iter().enumerate().flat_map(|(i, one)| sizes[..i].iter().map(|two| one.0.abs_diff(two.0)));
    let apart = sorted(&pairs.map(|bytes| bytes as f64).collect::<Vec<_>>());
    let probes = apart
        .get(apart.len().saturating_sub(1) / 2)
        .map_or(0.0, |bytes| 2.0 * resolution.as_f64() / capacity.nanos_for(Bytes(*bytes as u64)));
    let most = bursts.max(probes);
    Error { most, even: most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_step_leaves_the_slope_open() {
        // 25 B at 100 Mb/s take 2 us, twice the clock's tick.
        let errors = salehin2015(Nanos(1_000), [Bytes(87), Bytes(112)], 2_000.0, 500);
        assert_eq!(errors.slope.most, 1.0);
        assert_eq!(errors.trailing.most, 2_000.0);
        // k = 87 / 25 = 3.48: (3 + 2 k), (2.5 + k) and (1 + 2 k) ticks.
        assert!((errors.heading.most - 9_960.0).abs() < 1e-6);
        assert!((errors.average.most - 5_980.0).abs() < 1e-6);
        assert!((errors.differential.most - 7_960.0).abs() < 1e-6);
        // 500 gaps average it: 1.96 * 0.5 us * sqrt(2 / 500).
        assert!((errors.trailing.even - 61.98).abs() < 0.01, "{}", errors.trailing.even);
    }

    #[test]
    fn even_is_never_more_than_most() {
        let one = salehin2017(Nanos(1_000), 1);
        assert_eq!((one.most, one.even), (1_000.0, 980.0));
        assert!(salehin2017(Nanos(1_000), 0).even <= 1_000.0);
    }
}
