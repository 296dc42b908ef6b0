//! Where a packet's time goes: the parts of one apparent one-way delay, from the sending program's stamp to the
//! receiving program's, as one waterfall.
//!
//! ```text
//! OWD' = sender host + path + end link + receiver's NIC (IC) + receiver's kernel (K) + receiver's application (A)
//! ```
//!
//! Where the receiver's kernel stamps, the path is what lies between both kernels' stamps of the same packets, without the
//! end link and what its NIC held: no host's noise is in it. Elsewhere it is what the other parts leave of the whole. A
//! part of which only a bound is known counts as nothing in that, and widens the path's interval by its bound.
//!
//! Each figure is the median of its own measurement, and medians of parts sum to the median of the whole only as nearly as
//! each part varies by itself.

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
    /// PPT_dst = K + A by the receiver's kernel's stamps, where it gave them: known where its two parts are not.
    receiver: Option<Estimate>,
}

/// What takes most of the time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Dominant<'a> {
    /// One part.
    Part(&'a Part),
    /// The receiving host: its kernel and its application together, which are not told apart so far.
    Receiver(Estimate),
}

impl Dominant<'_> {
    /// How long it takes.
    #[must_use]
    pub fn finding(&self) -> Finding {
        match self {
            Self::Part(part) => part.finding.clone(),
            Self::Receiver(time) => nanos(*time),
        }
    }
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

/// The longest that it can be; `None` where only another part's figure tells.
fn longest(finding: &Finding) -> Option<f64> {
    match finding {
        Finding::Value { high, .. } => Some(*high),
        Finding::Bound { bound, side: Side::Upper, .. } => Some(*bound),
        Finding::Bound { side: Side::Lower, .. } => Some(f64::INFINITY),
        Finding::Unmeasurable { .. } => None,
    }
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
    } else if rest.high <= 0.0 {
        Finding::unmeasurable(
            "the application stage took longer than kernel and application together when those were stamped: the host does not keep still",
        )
    } else {
        let reason = "the kernel's stamp and the start of the application stage cannot be told apart";
        Finding::at_most(rest.high, Unit::Ns, reason)
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
        let path = match stamped {
            Some(_) => Self::between(&delay.finding(Quantity::OneWayDelay), &end_link, &nic),
            None => rest(&whole, &[&sender, &end_link, &nic, &application]),
        };
        let mut start = 0.0;
        let mut parts: Vec<Part> = [
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
        })
        .into();
        // The program's stamp ends the whole: what a bound leaves open stands before the application.
        if let (Some(whole), [.., kernel, last]) = (whole.estimate(), &mut parts[..])
            && let (Finding::Bound { .. }, Some(length)) = (&kernel.finding, last.finding.estimate())
        {
            last.start = last.start.max(whole - length);
        }
        Self { parts, whole, receiver: stamped }
    }

    /// The path's share of what lies between both kernels' stamps. What the NIC holds is off that already, but as a value
    /// without its interval.
    fn between(wire: &Finding, end_link: &Finding, nic: &Finding) -> Finding {
        let held = nic.estimate().unwrap_or(0.0);
        match estimate(wire) {
            Some(Estimate { value, low, high }) => {
                let with_hold = Estimate { value: value + held, low: low + held, high: high + held };
                rest(&nanos(with_hold), &[end_link, nic])
            }
            None => wire.clone(),
        }
    }

    /// A part that is told as longer than the whole: they were measured one after another, by other packets or stamps, and do not agree.
    #[must_use]
    pub fn contradiction(&self) -> Option<&Part> {
        let whole = self.whole.estimate()?;
        self.parts.iter().find(|part| part.finding.estimate().is_some_and(|found| found > whole))
    }

    /// What takes most of the time, and its share of the whole: a part of which the interval says that it is longer than
    /// any other part can be, or else the receiving host. `None` as well where there is a [contradiction](Self::contradiction).
    #[must_use]
    pub fn dominant(&self) -> Option<(Dominant<'_>, f64)> {
        let whole = self.whole.estimate().filter(|whole| *whole > 0.0 && self.contradiction().is_none())?;
        let passes = |low: f64, others: &mut dyn Iterator<Item = &Part>| {
            others.filter_map(|other| longest(&other.finding)).all(|other| low > other)
        };
        let part = self.parts.iter().find(|part| {
            let others = &mut self.parts.iter().filter(|other| other.quantity != part.quantity);
            estimate(&part.finding).is_some_and(|found| passes(found.low, others))
        });
        if let Some(part) = part {
            return Some((Dominant::Part(part), part.finding.estimate()? / whole));
        }
        let inside = [Quantity::KernelStage, Quantity::ApplicationStage];
        let others = &mut self.parts.iter().filter(|part| !inside.contains(&part.quantity));
        let receiver =
            self.receiver.filter(|receiver| receiver.value <= whole && passes(receiver.low, others))?;
        Some((Dominant::Receiver(receiver), receiver.value / whole))
    }
}

/// What the other parts leave of a whole. No part is shorter than nothing.
fn rest(whole: &Finding, others: &[&Finding]) -> Finding {
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
    if rest.value > 0.0 {
        Finding::nanos(rest.value, rest.low.max(0.0), rest.high)
    } else if rest.high <= 0.0 {
        Finding::unmeasurable("the other parts took longer than all of it: the hosts do not keep still")
    } else {
        Finding::at_most(rest.high, Unit::Ns, "the other parts leave nothing of it")
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

    /// Of 100 us the sender's kernel takes 4; the receiver's stamps, where there are any, leave the wire what its NIC did
    /// not hold of the rest.
    fn delay(receiver: Option<f64>, held: f64) -> Report {
        let report = Report::new("one-way-delay", Vantage::Capture)
            .with(Quantity::ApparentOneWayDelay, value(100e3))
            .with(Quantity::SenderHost, value(4e3));
        match receiver {
            Some(stamped) => report
                .with(Quantity::PptHeading, value(stamped))
                .with(Quantity::OneWayDelay, value(96e3 - stamped - held)),
            None => report,
        }
    }

    fn knee(stage: Finding) -> Report {
        Report::new("knee", Vantage::Application).with(Quantity::ApplicationStage, stage)
    }

    fn sum(waterfall: &Waterfall) -> f64 {
        waterfall.parts.iter().filter_map(|part| part.finding.estimate()).sum()
    }

    fn part<'a>(found: Option<(Dominant<'a>, f64)>) -> (Option<Quantity>, Option<f64>) {
        let quantity = found.and_then(|(dominant, _)| match dominant {
            Dominant::Part(part) => Some(part.quantity),
            Dominant::Receiver(_) => None,
        });
        (quantity, found.map(|(_, share)| share))
    }

    #[test]
    fn the_parts_sum_to_the_whole() {
        let waterfall =
            Waterfall::new(&knee(value(60e3)), &delay(Some(63e3), 0.0), &mbps(100.0), &value(0.0), SIZE);
        assert!((sum(&waterfall) - 100e3).abs() < 1e-6);
        // 100 - 4 - 5.76 (72 B at 100 Mb/s) - 3 - 60.
        let path = waterfall.parts[1].finding.estimate().unwrap();
        assert!((path - 27_240.0).abs() < 1e-6, "{path}");
        assert_eq!(part(waterfall.dominant()), (Some(Quantity::ApplicationStage), Some(0.6)));
        assert_eq!(waterfall.parts[5].start, 40e3);
    }

    #[test]
    fn what_the_nic_holds_is_its_own_part() {
        let (knee, delay) = (knee(value(20e3)), delay(Some(23e3), 50e3));
        let held = Waterfall::new(&knee, &delay, &mbps(100.0), &value(50e3), SIZE);
        assert!((sum(&held) - 100e3).abs() < 1e-6);
        assert_eq!(part(held.dominant()), (Some(Quantity::NicHold), Some(0.5)));
    }

    #[test]
    fn a_restless_receiver_is_not_the_path_s() {
        // The whole and the receiver vary by the same noise, which the stamps of both kernels keep out of the path.
        let noisy = |at: f64| Finding::nanos(at, at - 280e3, at + 90e3);
        let delay = Report::new("one-way-delay", Vantage::Capture)
            .with(Quantity::ApparentOneWayDelay, noisy(502e3))
            .with(Quantity::SenderHost, value(13e3))
            .with(Quantity::PptHeading, noisy(440e3))
            .with(Quantity::OneWayDelay, Finding::nanos(65e3, 25e3, 102e3));
        let stage = knee(Finding::nanos(121e3, 91e3, 374e3));
        let waterfall = Waterfall::new(&stage, &delay, &mbps(100.0), &value(0.0), SIZE);
        let Finding::Value { low, high, .. } = waterfall.parts[1].finding else { panic!("{waterfall:?}") };
        assert!((19e3..25e3).contains(&low) && (96e3..103e3).contains(&high), "{low} to {high}");
        assert!(matches!(waterfall.parts[4].finding, Finding::Bound { .. }));
        let Some((Dominant::Receiver(time), _)) = waterfall.dominant() else { panic!("{waterfall:?}") };
        assert_eq!(time.value, 440e3);
        assert_eq!(waterfall.parts[5].start, 502e3 - 121e3);
        assert!(
            matches!(
                kernel(&knee(value(90e3)), Some(Estimate { value: 80e3, low: 79e3, high: 81e3 })),
                Finding::Unmeasurable { .. }
            ),
            "no kernel takes less than nothing"
        );
    }

    #[test]
    fn what_intervals_do_not_tell_apart_dominates_nothing() {
        let wide = Finding::nanos(60e3, 20e3, 80e3);
        let waterfall = Waterfall::new(&knee(wide), &delay(None, 0.0), &mbps(100.0), &value(0.0), SIZE);
        assert_eq!(waterfall.dominant(), None);
        let Finding::Value { low, .. } = waterfall.parts[1].finding else { panic!("{waterfall:?}") };
        assert!(low >= 0.0);
    }

    #[test]
    fn a_part_that_is_longer_than_the_whole_dominates_nothing() {
        let waterfall =
            Waterfall::new(&knee(value(130e3)), &delay(Some(8e3), 0.0), &mbps(100.0), &value(0.0), SIZE);
        assert_eq!(waterfall.contradiction().unwrap().quantity, Quantity::ApplicationStage);
        assert_eq!(waterfall.dominant(), None);
        let agrees = Waterfall::new(&knee(value(60e3)), &delay(None, 0.0), &unknown(), &unknown(), SIZE);
        assert_eq!(agrees.contradiction(), None);
    }

    #[test]
    fn a_bound_widens_the_path() {
        let bound = Finding::at_most(67_200.0, Unit::Ns, "smallest dispersion");
        let waterfall = Waterfall::new(&knee(bound), &delay(None, 0.0), &unknown(), &unknown(), SIZE);
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
        assert_eq!(waterfall.dominant(), None);
        assert!(matches!(waterfall.parts[1].finding, Finding::Unmeasurable { .. }));
    }
}
