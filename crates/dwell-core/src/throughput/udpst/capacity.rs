//! The maximum IP-layer capacity: the best of the sub-intervals.

use super::algorithm::Algorithm;
use super::rates::HEADERS;
use super::status::SubInterval;
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::quantile::{mean, median, standard_deviation};
use crate::throughput::bucket::bucket;
use crate::train::Direction;
use crate::unit::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// The name of the method.
pub const NAME: &str = "udpst";

/// At its best a search loses less than this share of what it sends to a full link.
const LOSSY: f64 = 0.25;

/// A test that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// Which way the load went.
    pub direction: Direction,
    /// How its rate was moved.
    pub algorithm: Algorithm,
    /// Whether IPv6 carried it.
    pub ipv6: bool,
    /// Whether the search ran into the end of its table.
    pub table_end: bool,
    /// Packets that were no PDU of the test.
    pub garbage: u64,
    /// What came in each sub-interval.
    pub parts: Vec<SubInterval>,
}

/// IP's rate in a sub-interval (RFC 9097, section 6.3): payload and headers of the packets that came.
#[must_use]
pub fn rate(part: &SubInterval, ipv6: bool) -> BitRate {
    let headers = HEADERS + if ipv6 { 20 } else { 0 };
    let bytes = part.bytes.saturating_add(u64::from(part.packets) * headers);
    BitRate((bytes as f64 * 8e6 / f64::from(part.micros.max(1))) as u64)
}

/// What one packet more makes of that.
fn packet_rate(part: &SubInterval, ipv6: bool) -> f64 {
    rate(part, ipv6).0 as f64 / f64::from(part.packets.max(1))
}

/// Of the packets sent in a sub-interval, the share that was lost.
fn lost_share(part: &SubInterval) -> f64 {
    let (lost, came) = (f64::from(part.troubles[0]), f64::from(part.packets));
    lost / (lost + came).max(1.0)
}

/// Sub-intervals in which the search rises are not of the path.
fn settled(rates: &[f64]) -> &[f64] {
    let most = rates.iter().copied().fold(0.0, f64::max);
    let from = rates.iter().position(|rate| *rate >= 0.9 * most).unwrap_or(0);
    &rates[from..]
}

/// Reports on a test.
#[must_use]
pub fn report(tested: &Tested) -> Report {
    let Tested { parts, table_end, .. } = tested;
    let rates: Vec<f64> = parts.iter().map(|part| rate(part, tested.ipv6).0 as f64).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let mut report = Report::new(NAME, Vantage::Application);
    if best <= 0.0 {
        let why = "no load arrived in any sub-interval";
        return report.with(Quantity::IpCapacity, Finding::unmeasurable(why)).limited(Limit::Unstable, why);
    }
    let settled = settled(&rates);
    let spans: Vec<f64> = parts.iter().map(|part| f64::from(part.micros) * 1e3).collect();
    if let Some(span) = median(&spans) {
        report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
    }
    let lost: u64 = parts.iter().map(|part| u64::from(part.troubles[0])).sum();
    let came: u64 = parts.iter().map(|part| u64::from(part.packets)).sum();
    let loss = lost as f64 / (lost + came).max(1) as f64;
    let delayed = parts.iter().map(|part| part.round_trip[1].max(part.variation[1])).max().unwrap_or(0);
    let queue = Nanos::from_millis(delayed.into());
    // The most that arrived is there; that no more could is what the search says, and it may err to that side only.
    let least = parts.iter().map(lost_share).fold(1.0, f64::min);
    let unstopped = if *table_end {
        Some("the search reached the end of its table of rates")
    } else if lost == 0 && delayed == 0 {
        Some(
            "neither loss nor delay stopped the search: the test was too short, or a host could not send more",
        )
    } else {
        None
    };
    let found = if least > LOSSY {
        let why = format!(
            "{:.0} % was lost at the least, and the search does not rise where so much is",
            least * 100.0
        );
        report.warnings.push(format!("{why}; find out where"));
        Finding::at_least(best, Unit::Bps, why)
    } else if let Some(why) = unstopped {
        Finding::at_least(best, Unit::Bps, why)
    } else if settled.len() < 2 {
        let why =
            "only the last sub-interval came within a tenth of the best: the search was still on its way up";
        Finding::at_least(best, Unit::Bps, why)
    } else {
        // Where a sub-interval begins and ends is known to a packet.
        let packet = parts.iter().map(|part| packet_rate(part, tested.ipv6)).fold(0.0, f64::max);
        let low = settled.iter().copied().fold(best, f64::min);
        Finding::value(best, low - packet, best + packet, Unit::Bps)
    };
    report = report
        .with(Quantity::IpCapacity, found)
        .with(Quantity::Loss, Finding::value(loss, loss, loss, Unit::Ratio));
    let variation = standard_deviation(settled).unwrap_or(0.0) / mean(settled).unwrap_or(1.0).max(1.0);
    if tested.garbage > 0 {
        report
            .warnings
            .push(format!("{} packets were no PDU of the test, and were passed over", tested.garbage));
    }
    let course = parts.iter().scan((0.0, 0.0), |(at, bits), part| {
        *at += f64::from(part.micros) / 1e6;
        *bits += rate(part, tested.ipv6).0 as f64 * f64::from(part.micros) / 1e6;
        Some((*at, *bits))
    });
    // The search of type C falls back by itself, and any does where much is lost.
    let held = tested.algorithm == Algorithm::B && least <= LOSSY;
    let bucket = bucket(&course.collect::<Vec<_>>()).filter(|_| held);
    let (limit, reason) = if least > LOSSY {
        (Limit::Unstable, format!("{:.0} % was lost at the least: the search does not rise", least * 100.0))
    } else if let Some(bucket) = bucket {
        (Limit::TokenBucket, bucket.reason("IP packets"))
    } else if let Some(why) = unstopped {
        (Limit::SenderLimited, why.to_owned())
    } else if settled.len() >= 3 && variation > 0.25 {
        (
            Limit::Unstable,
            format!("the rate of sub-intervals varied by {:.0} % about its mean", variation * 100.0),
        )
    } else {
        let lost = loss * 100.0;
        (Limit::Link, format!("the search met {lost:.2} % loss, and delays up to {queue} over the least"))
    };
    report.limited(limit, reason)
}
