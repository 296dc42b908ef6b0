//! What pairs of probes tell.
//!
//! Probes of a pair leave apart, so that a router that sleeps between packets is woken by each alike. Meanwhile one
//! clock gains on the other; how fast is seen from the direct probes of the whole run, by the line through them that
//! wild points do not move, and taken off. What is left of a pair is
//!
//! d = (limited.apart - direct.apart) - skew * (limited.left - direct.left),
//!
//! and the finding is the median of d over the pairs. Queueing in front of the router and behind it befalls both probes
//! alike: it widens d on both sides of its median, and does not move it.

use super::{Crossing, NAME, Pair};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::quantile::{median, quantile_interval, sorted};
use crate::stats::slope::{Fit, robust};
use crate::unit::Bytes;

/// Fewest pairs of which a median gets an interval: of fewer, not even the whole range holds the true median in 95 %
/// of all samples.
const FEWEST: usize = 6;

/// Faster than this no two clocks run apart that anybody steers: such a line is no skew.
const MOST_SKEW_PPM: f64 = 1_000.0;

/// What the pairs tell.
#[must_use]
pub fn report(pairs: &[Pair]) -> Report {
    let report = Report::new(NAME, Vantage::Capture);
    let few = || Finding::unmeasurable(format!("{} pairs, and an interval takes {FEWEST}", pairs.len()));
    if pairs.len() < FEWEST {
        return report.with(Quantity::IcmpGeneration, few()).with(Quantity::ClockSkew, few());
    }
    let Some(skew) = skew(pairs) else {
        let why = "the probes all left at one time, or their times are beyond all measure";
        let none = || Finding::unmeasurable(why);
        return report.with(Quantity::IcmpGeneration, none()).with(Quantity::ClockSkew, none());
    };
    let ppm = |slope: f64| slope / 1e3;
    let Estimate { value, low, high } = skew.slope;
    if ppm(low) > MOST_SKEW_PPM || ppm(high) < -MOST_SKEW_PPM {
        let why = format!(
            "one clock gains {:.0} ppm on the other by the direct probes, which no clock does: one was set meanwhile, or a \
             queue grew all the while; measure again",
            ppm(value)
        );
        return report
            .with(Quantity::IcmpGeneration, Finding::unmeasurable(why.clone()))
            .with(Quantity::ClockSkew, Finding::unmeasurable(why));
    }
    report
        .with(Quantity::IcmpGeneration, generation(pairs, skew.slope))
        .with(Quantity::ClockSkew, Finding::value(ppm(value), ppm(low), ppm(high), Unit::Ppm))
}

/// Nanoseconds that the destination side's clock gains a second.
fn skew(pairs: &[Pair]) -> Option<Fit> {
    let first = pairs.first()?.direct;
    let point = |pair: &Pair| {
        let time = (pair.direct.left - first.left).as_secs_f64();
        (time, (pair.direct.apart() - first.apart()).as_f64())
    };
    robust(&pairs.iter().map(point).collect::<Vec<_>>())
}

/// What each direct probe and each hop-limited one took from tap to tap beyond the fastest direct one, in nanoseconds,
/// with the clocks' skew taken off; `None` where that cannot be told.
#[must_use]
pub fn beyond_fastest(pairs: &[Pair]) -> Option<[Vec<f64>; 2]> {
    let (first, skew) = (pairs.first()?.direct, skew(pairs)?.slope.value);
    let level = |crossing: &Crossing| {
        (crossing.apart() - first.apart()).as_f64() - skew * (crossing.left - first.left).as_secs_f64()
    };
    let [direct, limited]: [Vec<f64>; 2] = [
        pairs.iter().map(|pair| level(&pair.direct)).collect(),
        pairs.iter().map(|pair| level(&pair.limited)).collect(),
    ];
    let fastest = direct.iter().copied().fold(f64::INFINITY, f64::min);
    Some([direct, limited].map(|times| times.into_iter().map(|time| time - fastest).collect()))
}

/// The median, where the sizes let it stand.
fn generation(pairs: &[Pair], skew: Estimate) -> Finding {
    let later = |pair: &Pair| (pair.limited.left - pair.direct.left).as_secs_f64();
    let beyond =
        |pair: &Pair| (pair.limited.apart() - pair.direct.apart()).as_f64() - skew.value * later(pair);
    let Some(found) = quantile_interval(&sorted(&pairs.iter().map(beyond).collect::<Vec<_>>()), 0.5) else {
        return Finding::unmeasurable("the times of no pair are finite");
    };
    let times: Vec<f64> = pairs.iter().map(|pair| later(pair).abs()).collect();
    // What the skew may be wrong by, all pairs have in common.
    let common = skew.half_width() * median(&times).unwrap_or(0.0);
    let (low, high) = (found.low - common, found.high + common);
    let differ = |limited: fn(&Pair) -> (Bytes, Bytes)| {
        let compared = pairs.iter().map(limited).map(|(limited, direct)| limited.cmp(&direct));
        (compared.clone().any(|order| order.is_gt()), compared.clone().any(|order| order.is_lt()))
    };
    let before = differ(|pair| (pair.limited.sent, pair.direct.sent));
    let behind = differ(|pair| (pair.limited.received, pair.direct.received));
    let sizes = || {
        let largest = |size: fn(&Pair) -> Bytes| pairs.iter().map(size).max().unwrap_or_default();
        format!(
            "the sizes differ (up to {} and {} before the router, {} of the direct probe and {} of the router's message \
             behind it), and the links' rates are not known",
            largest(|pair| pair.direct.sent),
            largest(|pair| pair.limited.sent),
            largest(|pair| pair.direct.received),
            largest(|pair| pair.limited.received),
        )
    };
    match (before.0 || behind.0, before.1 || behind.1) {
        (false, false) => Finding::nanos(found.value, low, high),
        (true, false) => Finding::at_most(high, Unit::Ns, sizes()),
        (false, true) => Finding::at_least(low, Unit::Ns, sizes()),
        (true, true) => Finding::unmeasurable(sizes()),
    }
}
