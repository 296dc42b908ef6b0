//! Compound probes of several trailing sizes: the end link's slope in the gap over the size.

use crate::report::Vantage;
use crate::stats::quantile::{median, quantile};
use crate::stats::slope::theil_sen;
use crate::stats::{Estimate, bootstrap};
use crate::unit::{Bytes, INTER_FRAME_GAP};
use std::collections::BTreeMap;

/// One probe's gap by application stamps and by capture stamps.
type Gap = (Option<f64>, Option<f64>);

/// The gaps of each trailing size.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    gaps: BTreeMap<Bytes, Vec<Gap>>,
}

/// A line that a link set.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum LinkLine {
    /// From the smallest size on: 1 / c_n of the end link, in nanoseconds per byte.
    Whole(Estimate),
    /// From some size on; the host hides smaller ones. The slope in nanoseconds per byte may be the end link's, or
    /// hold a narrower link's too.
    Upper(Estimate),
}

impl LinkLine {
    pub(super) fn slope(&self) -> Estimate {
        match self {
            Self::Whole(slope) | Self::Upper(slope) => *slope,
        }
    }

    /// Whether the slope is worth anything.
    pub(super) fn is_known(&self) -> bool {
        let slope = self.slope();
        slope.low > 0.0 && slope.half_width() < 0.3 * slope.value
    }
}

/// A lower quantile, the second smallest of five: cross traffic widens gaps, and now and then the host shortens one.
/// What jitter takes off is the same at each size, and does not change the slope.
fn low(gaps: &[f64]) -> Option<f64> {
    quantile(gaps, 0.25)
}

/// A size with its gaps.
type SizeGaps = (f64, Vec<f64>);

impl Pairs {
    pub(super) fn see(&mut self, trailing: Bytes, application: Option<f64>, capture: Option<f64>) {
        self.gaps.entry(trailing).or_default().push((application, capture));
    }

    /// The typical gap of one size.
    pub(super) fn typical(&self, size: Bytes, vantage: Vantage) -> Option<f64> {
        low(&self.sizes(vantage).into_iter().find(|(bytes, _)| *bytes == size.0 as f64)?.1)
    }

    fn sizes(&self, vantage: Vantage) -> Vec<SizeGaps> {
        let read = |gap: &Gap| match vantage {
            Vantage::Application => gap.0,
            Vantage::Capture => gap.1,
        };
        let sizes =
            self.gaps.iter().map(|(size, gaps)| (size.0 as f64, gaps.iter().filter_map(read).collect()));
        sizes.filter(|(_, gaps): &SizeGaps| gaps.len() >= 2).collect()
    }

    /// The line that the end link sets, if it can be seen. `narrowest` is the dispersion of the path's narrowest link
    /// in nanoseconds per byte, where bursts gave it and no cross traffic was between their packets.
    pub(super) fn line(&self, vantage: Vantage, narrowest: Option<f64>, seed: u64) -> Option<LinkLine> {
        let sizes = self.sizes(vantage);
        let largest = sizes.last()?.0;
        // Capture stamps are taken before the host sleeps or not: small sizes that scatter too much to tell are no
        // sign of its pace.
        if rises(sizes.get(..4)?, seed) || vantage == Vantage::Capture && rises(&sizes, seed) {
            let Some(narrowest) = narrowest else {
                // Cross traffic does not show as long as P_h keeps the end link busy: not behind small P_t.
                return fit(&sizes[..(sizes.len() * 3).div_ceil(4)], seed, straight).map(LinkLine::Whole);
            };
            let bent = fit(&sizes, seed, |points| bent(points, narrowest, largest));
            return bent.or_else(|| fit(&sizes, seed, straight)).map(LinkLine::Whole);
        }
        // The smallest sizes pass at the host's own pace; look for the first four that do not.
        let start = (1..=sizes.len() - 4).find(|&start| rises(&sizes[start..start + 4], seed))?;
        fit(&sizes[start..], seed, straight).map(LinkLine::Upper)
    }
}

/// Whether the gaps grow over these sizes as a link makes them: nearer to the slope of gaps that are serialisation
/// and nothing else than to none at all.
fn rises(sizes: &[SizeGaps], seed: u64) -> bool {
    let (gaps, bytes) = sizes.iter().fold((0.0, 0.0), |(gaps, bytes), (size, of_size)| {
        (gaps + low(of_size).unwrap_or(0.0), bytes + framed(*size))
    });
    fit(sizes, seed, straight).is_some_and(|slope| slope.low > gaps / bytes / 2.0)
}

fn framed(size: f64) -> f64 {
    size + INTER_FRAME_GAP.0 as f64
}

/// The slope where one link sets all gaps.
fn straight(points: &[(f64, f64)]) -> Option<f64> {
    Some(theil_sen(points)?.slope.value)
}

/// Sum of absolute deviations of the points from `shape` and a common offset.
fn deviation(points: &[(f64, f64)], shape: impl Fn(f64) -> f64) -> f64 {
    let offsets: Vec<f64> = points.iter().map(|(s, gap)| gap - shape(*s)).collect();
    let offset = median(&offsets).unwrap_or(f64::INFINITY);
    offsets.iter().map(|o| (o - offset).abs()).sum()
}

/// Steps of a search for the slope.
const STEPS: i32 = 60;

/// The end link's slope m behind a link of slope `narrowest` = n > m, if the gaps show it. P_t follows P_h back to
/// back up to the size at which it takes as long on the narrow link as P_h on the end link,
/// s* = (s_h + gamma) m / n - gamma (17); from there on it falls back, and its gap rises by n as well:
///
/// G(s) = a + m s + n max(0, s - s*)
///
/// Least absolute deviations, so that sizes that cross traffic has widened do not decide. `None` unless that describes
/// the gaps more than twice as well as a straight line. With m much smaller than n, all sizes fall back and the line
/// is straight with slope n + m: an end link so many times faster than the narrow one looks like the narrow one.
fn bent(points: &[(f64, f64)], narrowest: f64, heading: f64) -> Option<f64> {
    let gamma = INTER_FRAME_GAP.0 as f64;
    let cost = |m: f64| {
        let fall_back = (heading + gamma) * m / narrowest - gamma;
        deviation(points, |s| m * s + narrowest * (s - fall_back).max(0.0))
    };
    let best = |from: f64, to: f64| {
        let step = (to / from).powf(1.0 / f64::from(STEPS));
        let m = (0..=STEPS).map(|i| from * step.powi(i)).min_by(|a, b| cost(*a).total_cmp(&cost(*b)))?;
        Some((m, step))
    };
    let (mut m, mut step) = best(narrowest / 100.0, narrowest * 0.95)?;
    for _ in 0..2 {
        (m, step) = best(m / step, m * step)?;
    }
    let slope = straight(points)?;
    (cost(m) < deviation(points, |s| slope * s) / 2.0).then_some(m)
}

/// A slope of the low gaps over the sizes, with its interval by resampling the probes of each size.
fn fit(sizes: &[SizeGaps], seed: u64, slope: impl Fn(&[(f64, f64)]) -> Option<f64>) -> Option<Estimate> {
    let groups: Vec<&[f64]> = sizes.iter().map(|(_, gaps)| gaps.as_slice()).collect();
    let [slope] = bootstrap::intervals(&groups, 200, seed, |drawn| {
        let points: Option<Vec<(f64, f64)>> =
            sizes.iter().zip(drawn).map(|((size, _), gaps)| Some((*size, low(gaps)?))).collect();
        Some([slope(&points?)?])
    })?;
    Some(slope.widened(bootstrap::small_sample_factor(groups.iter().map(|group| group.len()).min()?)))
}
