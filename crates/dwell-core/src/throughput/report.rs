//! What is told of a run of TCP connections.

use super::transfer::Transfer;
use super::verdict::{shares, steady_rates, verdict};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::bootstrap;
use crate::stats::quantile::{mean, quantile_interval, sorted};
use crate::unit::Nanos;

/// The name of the method.
pub const NAME: &str = "tcp";

const RESAMPLES: usize = 2_000;

/// What a run that is too short for an interval of its own is cut into.
const PART: Nanos = Nanos::from_millis(100);

/// Reports on a run: the rate at which the receiving program read, over the whole run as everyone counts it, with the
/// interval that its one-second sub-intervals give; the same in IP packets; round trips; the share sent again.
#[must_use]
pub fn report(run: &Transfer) -> Report {
    let mut report = Report { verdict: Some(verdict(run)), ..Report::new(NAME, Vantage::Application) };
    let goodput = goodput(run);
    let layers = (run.connection.segment.0 + run.connection.headers.0) as f64
        / (run.connection.segment.0 as f64).max(1.0);
    let ip = match &goodput {
        Finding::Value { value, low, high, unit } if run.connection.segment.0 > 0 => {
            Finding::value(value * layers, low * layers, high * layers, *unit)
        }
        Finding::Value { .. } => Finding::unmeasurable("the kernel does not tell the size of a segment"),
        other => other.clone(),
    };
    let span = run.span().as_f64();
    report = report
        .with(Quantity::Throughput, goodput)
        .with(Quantity::IpThroughput, ip)
        .with(Quantity::AveragingTime, Finding::nanos(span, span, span))
        .with(Quantity::RoundTrip, round_trip(run));
    let last = run.sender.last().map(|sample| sample.connections.as_slice()).unwrap_or_default();
    if let Some(least) = last.iter().map(|one| one.min_rtt).filter(|rtt| *rtt > Nanos::ZERO).min() {
        let least = least.as_f64();
        let told = Finding::at_most(least, Unit::Ns, "the least that the sender's kernel saw");
        report = report.with(Quantity::RoundTripMinimum, told);
    }
    if let Some(shares) = shares(run) {
        let share = shares.retransmitted;
        report = report.with(Quantity::Retransmitted, Finding::value(share, share, share, Unit::Ratio));
    }
    if run.span() < run.asked / 2 {
        let (span, asked) = (run.span(), run.asked);
        report.warnings.push(format!("the run ended after {span} of {asked}; measure again"));
    }
    report
}

fn goodput(run: &Transfer) -> Finding {
    let seconds = run.span().as_secs_f64();
    if seconds <= 0.0 || run.received().0 == 0 {
        return Finding::unmeasurable("no data arrived");
    }
    let value = run.received().bits() as f64 / seconds;
    let rates = steady_rates(run);
    let spread = bootstrap::interval(&rates, RESAMPLES, 1, mean);
    let factor = bootstrap::small_sample_factor(rates.len());
    match spread.filter(|_| factor.is_finite()) {
        Some(spread) => {
            let spread = spread.widened(factor);
            Finding::value(value, spread.low, spread.high, Unit::Bps)
        }
        // Too short for an interval of its own: nothing better is known than what the parts of it show.
        None => {
            let all: Vec<f64> = run.intervals(PART).iter().map(|part| part.rate.0 as f64).collect();
            if all.len() < 2 {
                let (span, part) = (run.span(), PART);
                return Finding::unmeasurable(format!(
                    "the run lasted {span}, and no two parts of {part} make a rate"
                ));
            }
            let (low, high) =
                all.iter().fold((value, value), |(low, high), rate| (low.min(*rate), high.max(*rate)));
            Finding::value(value, low, high, Unit::Bps)
        }
    }
}

fn round_trip(run: &Transfer) -> Finding {
    let rtts: Vec<f64> = run.rtts(Nanos::ZERO, Nanos::MAX).collect();
    match quantile_interval(&sorted(&rtts), 0.5) {
        Some(median) => Finding::nanos(median.value, median.low, median.high),
        None => Finding::unmeasurable("the sender's kernel told no round trip"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::transfer::{Connection, HostLoad, Receiver, ReceiverSample};
    use super::*;
    use crate::train::Direction;
    use crate::unit::Bytes;

    #[test]
    fn a_packet_is_no_rate() {
        let told = |millis: i64| {
            let looks = (1..=8).map(|part| Nanos::from_micros(millis * 125 * part));
            let received = |at: Nanos| Bytes((at.as_secs_f64() * 1e7) as u64);
            let sample = |at| ReceiverSample {
                at,
                host: HostLoad::default(),
                connections: vec![Receiver { received: received(at), ..Receiver::default() }],
            };
            let run = Transfer {
                direction: Direction::Forward,
                asked: Nanos::from_millis(millis),
                autotuned: false,
                connection: Connection::default(),
                sender: Vec::new(),
                receiver: looks.map(sample).collect(),
            };
            report(&run).finding(Quantity::Throughput)
        };
        let Finding::Unmeasurable { reason } = told(1) else { panic!("{:?}", told(1)) };
        assert!(reason.contains("1.0 ms"), "{reason}");
        assert!((told(500).estimate().unwrap() / 80e6 - 1.0).abs() < 0.02, "{:?}", told(500));
    }
}
