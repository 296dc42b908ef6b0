//! Where a packet's time goes: the parts of one apparent one-way delay, from the sending program's stamp to the
//! receiving program's, as one waterfall.
//!
//! ```text
//! OWD' = sender host + path + end link + receiver's NIC (IC) + receiver's kernel (K) + receiver's application (A)
//! ```
//!
//! Each part is measured by itself but the path, which is what the others leave of the whole: so the values sum to
//! the whole, and what is not known of another part is the path's uncertainty. A part of which only a bound is
//! known counts as nothing in the sum, and widens the path's interval by its bound.

use crate::report::{Finding, Quantity, Report, Side, Unit};
use crate::stats::Estimate;
use crate::unit::Bytes;

/// One part of the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which.
    pub quantity: Quantity,
    /// Where it begins, in nanoseconds after the sending program's stamp.
    pub start: f64,
    /// How long it is.
    pub finding: Finding,
}

/// The parts in the order in which a packet meets them, and the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Waterfall {
    /// Sender host, path, end link, receiver's NIC, receiver's kernel, receiver's application.
    pub parts: Vec<Part>,
    /// The apparent one-way delay.
    pub whole: Finding,
}

/// A finding's value with its interval.
fn estimate(finding: &Finding) -> Option<Estimate> {
    match finding {
        Finding::Value { value, low, high, .. } => Some(Estimate { value: *value, low: *low, high: *high }),
        _ => None,
    }
}

fn nanos(of: Estimate) -> Finding {
    Finding::nanos(of.value, of.low, of.high)
}

/// `of` less `taken`, whose errors are independent.
fn less(of: Estimate, taken: Estimate) -> Estimate {
    let value = of.value - taken.value;
    Estimate {
        value,
        low: value - (of.value - of.low).hypot(taken.high - taken.value),
        high: value + (of.high - of.value).hypot(taken.value - taken.low),
    }
}

/// The application stage: the knee's, or where that has no value the kernel's stamps against the program's, or the
/// bound that is left.
fn application(knee: &Report, stamped: Option<Estimate>) -> Finding {
    let found = knee.finding(Quantity::ApplicationStage);
    match (&found, stamped) {
        (Finding::Value { .. }, _) | (_, None) => found,
        (_, Some(stamped)) => nanos(stamped),
    }
}

/// How long `size` takes on a link of that capacity: the faster, the shorter.
fn serialisation(capacity: &Finding, size: Bytes) -> Finding {
    let time = |bps: f64| size.bits() as f64 * 1e9 / bps;
    match capacity {
        Finding::Value { value, low, high, .. } if *low > 0.0 => {
            Finding::nanos(time(*value), time(*high), time(*low))
        }
        Finding::Bound { bound, side: Side::Lower, reason, .. } if *bound > 0.0 => {
            Finding::at_most(time(*bound), Unit::Ns, reason)
        }
        _ => Finding::unmeasurable("the end link's capacity is not known: contained in the path"),
    }
}

/// What the receiver's kernel adds after its own stamp: the rest of the time between its stamp and the program's
/// when the application stage is taken off. What it takes before its stamp is a part of the path here.
fn kernel(knee: &Report, stamped: Option<Estimate>) -> Finding {
    let Some(stamped) = stamped else {
        return Finding::unmeasurable("the receiver's kernel gave no time stamps: contained in the path");
    };
    let Some(stage) = estimate(&knee.finding(Quantity::ApplicationStage)) else {
        return Finding::unmeasurable(
            "without the application stage apart: contained in the application's part",
        );
    };
    let rest = less(stamped, stage);
    if rest.low > 0.0 {
        nanos(rest)
    } else {
        let reason = "the kernel's stamp and the start of the application stage cannot be told apart";
        Finding::at_most(rest.high.max(0.0), Unit::Ns, reason)
    }
}

impl Waterfall {
    /// From what the knee and the one-way delay found on a path with packets of `size`, from the end link's capacity,
    /// and from how long the receiver's NIC holds a lone packet.
    #[must_use]
    pub fn new(knee: &Report, delay: &Report, capacity: &Finding, hold: &Finding, size: Bytes) -> Self {
        let whole = delay.finding(Quantity::ApparentOneWayDelay);
        let stamped = estimate(&delay.finding(Quantity::PptHeading));
        let sender = match delay.finding(Quantity::SenderHost) {
            found @ Finding::Value { .. } => found,
            _ => Finding::unmeasurable("this host's kernel gave no transmit stamps: contained in the path"),
        };
        let end_link = serialisation(capacity, size);
        let (kernel, application) = (kernel(knee, stamped), application(knee, stamped));
        let nic = match hold {
            Finding::Unmeasurable { reason } => {
                Finding::unmeasurable(format!("{reason}: contained in the path"))
            }
            known => known.clone(),
        };
        let path = Self::remainder(&whole, [&sender, &end_link, &nic, &kernel, &application]);
        let mut start = 0.0;
        let parts = [
            (Quantity::SenderHost, sender),
            (Quantity::Path, path),
            (Quantity::EndLink, end_link),
            (Quantity::NicHold, nic),
            (Quantity::KernelStage, kernel),
            (Quantity::ApplicationStage, application),
        ]
        .map(|(quantity, finding)| {
            let part = Part { quantity, start, finding };
            start += part.finding.estimate().unwrap_or(0.0);
            part
        });
        Self { parts: parts.into(), whole }
    }

    /// What the other parts leave of the whole.
    fn remainder(whole: &Finding, others: [&Finding; 5]) -> Finding {
        let Some(mut rest) = estimate(whole) else { return whole.clone() };
        for other in others {
            match other {
                Finding::Value { value, low, high, .. } => {
                    rest = less(rest, Estimate { value: *value, low: *low, high: *high });
                }
                Finding::Bound { bound, side: Side::Upper, .. } => rest.low -= bound,
                Finding::Bound { .. } | Finding::Unmeasurable { .. } => {}
            }
        }
        nanos(rest)
    }

    /// The longest part that is known by value, and its share of the whole.
    #[must_use]
    pub fn dominant(&self) -> Option<(&Part, f64)> {
        let whole = self.whole.estimate().filter(|whole| *whole > 0.0)?;
        let known = self.parts.iter().filter_map(|part| Some((part, part.finding.estimate()?)));
        let (part, length) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((part, length / whole))
    }

    /// Is it the network or the host? The share of the whole that both hosts take, as far as it is known.
    #[must_use]
    pub fn host_share(&self) -> Option<f64> {
        let whole = self.whole.estimate().filter(|whole| *whole > 0.0)?;
        let network = [Quantity::Path, Quantity::EndLink];
        let hosts = self.parts.iter().filter(|part| !network.contains(&part.quantity));
        Some(hosts.filter_map(|part| part.finding.estimate()).sum::<f64>() / whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Vantage;

    const SIZE: Bytes = Bytes(72);

    fn mbps(rate: f64) -> Finding {
        Finding::value(rate * 1e6, rate * 1e6, rate * 1e6, Unit::Bps)
    }

    fn unknown() -> Finding {
        Finding::unmeasurable("not asked")
    }

    fn value(at: f64) -> Finding {
        Finding::nanos(at, at - 500.0, at + 500.0)
    }

    fn delay(receiver: Option<f64>) -> Report {
        let report = Report::new("one-way-delay", Vantage::Capture)
            .with(Quantity::ApparentOneWayDelay, value(100e3))
            .with(Quantity::SenderHost, value(4e3));
        match receiver {
            Some(stamped) => report.with(Quantity::PptHeading, value(stamped)),
            None => report,
        }
    }

    fn knee(stage: Finding) -> Report {
        Report::new("knee", Vantage::Application).with(Quantity::ApplicationStage, stage)
    }

    fn sum(waterfall: &Waterfall) -> f64 {
        waterfall.parts.iter().filter_map(|part| part.finding.estimate()).sum()
    }

    #[test]
    fn the_parts_sum_to_the_whole() {
        let waterfall =
            Waterfall::new(&knee(value(60e3)), &delay(Some(63e3)), &mbps(100.0), &value(0.0), SIZE);
        assert!((sum(&waterfall) - 100e3).abs() < 1e-6);
        // 100 - 4 - 5.76 (72 B at 100 Mb/s) - 3 - 60.
        let path = waterfall.parts[1].finding.estimate().unwrap();
        assert!((path - 27_240.0).abs() < 1e-6, "{path}");
        let (part, share) = waterfall.dominant().unwrap();
        assert_eq!((part.quantity, share), (Quantity::ApplicationStage, 0.6));
        assert!((waterfall.host_share().unwrap() - 0.67).abs() < 1e-9);
        assert_eq!(waterfall.parts[5].start, 40e3);
    }

    #[test]
    fn what_the_nic_holds_is_its_own_part() {
        let held = Waterfall::new(&knee(value(20e3)), &delay(Some(23e3)), &mbps(100.0), &value(50e3), SIZE);
        assert!((sum(&held) - 100e3).abs() < 1e-6);
        let (part, share) = held.dominant().unwrap();
        assert_eq!((part.quantity, share), (Quantity::NicHold, 0.5));
        assert!((held.host_share().unwrap() - 0.77).abs() < 1e-9);
    }

    #[test]
    fn a_bound_widens_the_path() {
        let bound = Finding::at_most(67_200.0, Unit::Ns, "smallest dispersion");
        let waterfall = Waterfall::new(&knee(bound), &delay(None), &unknown(), &unknown(), SIZE);
        let path = &waterfall.parts[1].finding;
        assert_eq!(path.holds(96e3), Some(true));
        assert_eq!(path.holds(29e3), Some(true));
        assert!((sum(&waterfall) - 100e3).abs() < 1e-6);
        assert!(matches!(waterfall.parts[3].finding, Finding::Unmeasurable { .. }));
    }

    #[test]
    fn without_a_whole_there_is_no_path() {
        let nothing = Report::new("one-way-delay", Vantage::Capture);
        let waterfall = Waterfall::new(&knee(value(60e3)), &nothing, &unknown(), &unknown(), SIZE);
        assert_eq!(waterfall.dominant().map(|(part, _)| part.quantity), None);
        assert!(matches!(waterfall.parts[1].finding, Finding::Unmeasurable { .. }));
    }
}
