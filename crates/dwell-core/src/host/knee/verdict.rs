//! From the fit to findings: a value, a bound with its reason, or why there is neither.

use super::{Fit, Knee, Regimes};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::quantile::{quantile, quantile_interval, sorted};
use crate::unit::Nanos;

/// A bound from the ends of the sweep is taken this far inside it: single pairs at the very end may have been
/// disturbed.
const INSIDE: f64 = 0.05;

/// The share of late pairs from which on the heading packets' own waiting can no longer be told from A.
const TOO_BUSY: f64 = 0.7;

/// The same where it is not known whether the receiver coalesces interrupts: what a heading packet waited lies on the
/// axis of the program, and so hides a timer sooner.
const TOO_BUSY_FOR_TIMERS: f64 = 0.3;

fn nanos(estimate: Estimate) -> Finding {
    Finding::nanos(estimate.value, estimate.low, estimate.high)
}

fn micros(ns: f64) -> String {
    Nanos::from_f64(ns).to_string()
}

impl Knee {
    /// What application stamps tell.
    pub(super) fn application_report(&self, fit: &Fit) -> Report {
        let report = Report::new("knee", Vantage::Application);
        let all = |report: Report, reason: &str| {
            [
                Quantity::ApplicationStage,
                Quantity::PptHeading,
                Quantity::PptTrailing,
                Quantity::ServiceTime,
                Quantity::DifferentialPpt,
            ]
            .into_iter()
            .fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(reason)))
        };
        let kernel = "a remote gap does not see it: both packets of a pair pay it alike";
        let report = report.with(Quantity::KernelStage, Finding::unmeasurable(kernel));
        let holds: Vec<f64> = self.samples.iter().map(|s| s.dispersion).collect();
        match &fit.regimes {
            Regimes::Unclear => all(report, &self.why_unclear()),
            Regimes::NoneWaited => {
                let smallest = self.smallest_delivered().unwrap_or(0.0);
                let reason = format!(
                    "no trailing packet had to wait, not even {} after the heading one, the smallest dispersion \
                     that this path delivers",
                    micros(smallest)
                );
                let gaps: Vec<f64> = self.samples.iter().map(|s| s.gap).collect();
                let least = quantile(&gaps, INSIDE).unwrap_or(0.0);
                all(report, &reason)
                    .with(Quantity::ApplicationStage, Finding::at_most(smallest, Unit::Ns, &reason))
                    .with(Quantity::ServiceTime, Finding::at_most(least, Unit::Ns, &reason))
                    .with(Quantity::DifferentialPpt, self.differential_alone())
            }
            Regimes::AllWaited => {
                let largest = quantile(&holds, 1.0 - INSIDE).unwrap_or(0.0);
                let reason = format!(
                    "every trailing packet had to wait, even {} after the heading one, the largest dispersion tried",
                    micros(largest)
                );
                let gaps = sorted(&self.samples.iter().map(|s| s.gap).collect::<Vec<_>>());
                let at = |p| quantile(&gaps, p).unwrap_or(0.0);
                all(report, &reason)
                    .with(Quantity::ApplicationStage, Finding::at_least(largest, Unit::Ns, &reason))
                    .with(Quantity::PptHeading, Finding::at_least(largest, Unit::Ns, &reason))
                    .with(Quantity::ServiceTime, Finding::nanos(at(0.5), at(0.25), at(0.75)))
            }
            Regimes::Both(found) => {
                let stage = found.stage;
                let lower = "PPT_h = K + A, and the kernel stage K cannot be seen from afar";
                // No packet is through before it comes.
                let heading = stage.low.max(0.0);
                let trailing = found.differential.map(|d| (stage.low + d.low).max(0.0));
                let report = report
                    .with(Quantity::PptHeading, Finding::at_least(heading, Unit::Ns, lower))
                    .with(Quantity::ServiceTime, nanos(found.service))
                    .with(
                        Quantity::PptTrailing,
                        trailing.map_or_else(
                            || Finding::unmeasurable("too few trailing packets came after the program slept"),
                            |low| Finding::at_least(low, Unit::Ns, lower),
                        ),
                    )
                    .with(
                        Quantity::DifferentialPpt,
                        found.differential.map_or_else(
                            || Finding::unmeasurable("too few trailing packets came after the program slept"),
                            nanos,
                        ),
                    );
                let too_busy = if self.coalescence.is_some() { TOO_BUSY } else { TOO_BUSY_FOR_TIMERS };
                if found.late > too_busy {
                    let reason = format!(
                        "{:.0} % of the trailing packets came late: hardly a packet crosses this path without \
                         waiting, so the heading packets' own waiting cannot be told from the host's",
                        found.late * 100.0
                    );
                    let high = found.stage_quantile(0.5) + (found.delay.value - found.delay.low);
                    return report
                        .with(Quantity::ApplicationStage, Finding::at_most(high, Unit::Ns, &reason))
                        .with(Quantity::PptHeading, Finding::unmeasurable(&reason))
                        .with(Quantity::PptTrailing, Finding::unmeasurable(reason));
                }
                let floor = self.floor.as_f64();
                if stage.value < floor {
                    let reason = format!(
                        "below {}, the smallest dispersion that the path delivers; pairs that came closer were \
                         pushed together by cross traffic, which leaves no figure",
                        micros(floor)
                    );
                    let bound = Finding::at_most(stage.high.max(floor), Unit::Ns, reason);
                    return report.with(Quantity::ApplicationStage, bound);
                }
                report.with(Quantity::ApplicationStage, nanos(stage))
            }
        }
    }

    /// What capture stamps tell: they are taken before the socket queue, so the stage that the sweep finds, or
    /// bounds, is the kernel's.
    pub(super) fn capture_report(&self, fit: &Fit) -> Report {
        let before = "capture stamps are taken before the packet reaches the program";
        let seen = self.unless_held(self.application_report(fit), fit);
        let mut report = Report::new("knee", Vantage::Capture)
            .with(Quantity::KernelStage, seen.finding(Quantity::ApplicationStage));
        for quantity in [Quantity::ApplicationStage, Quantity::PptHeading, Quantity::PptTrailing] {
            report = report.with(quantity, Finding::unmeasurable(before));
        }
        for quantity in [Quantity::ServiceTime, Quantity::DifferentialPpt] {
            report = report.with(quantity, seen.finding(quantity));
        }
        report
    }

    /// The smallest dispersion that reached the host under test, where every pair is a lone one: G = x + dPPT holds
    /// for all of them, so the pairs with the largest x give dPPT, and those with the smallest give x at the
    /// receiver, however close together they left the sender.
    fn smallest_delivered(&self) -> Option<f64> {
        let x = |p| quantile(&self.samples.iter().map(|s| s.dispersion).collect::<Vec<_>>(), p);
        let (near, far) = (x(0.5)?, x(0.85)?);
        let spread: Vec<f64> =
            self.samples.iter().filter(|s| s.dispersion >= far).map(|s| s.gap - s.dispersion).collect();
        let gaps: Vec<f64> = self.samples.iter().filter(|s| s.dispersion <= near).map(|s| s.gap).collect();
        Some((quantile(&gaps, 0.5)? - quantile(&spread, 0.5)?).max(x(INSIDE)?))
    }

    /// dPPT where every pair is a lone one.
    fn differential_alone(&self) -> Finding {
        let values = sorted(&self.samples.iter().map(|s| s.gap - s.dispersion).collect::<Vec<_>>());
        match quantile_interval(&values, 0.5) {
            Some(estimate) => nanos(estimate),
            None => Finding::unmeasurable(self.why_unclear()),
        }
    }

    fn why_unclear(&self) -> String {
        match (self.seen, self.samples.len()) {
            (0, _) => "no pairs of equal packets were sent".to_owned(),
            (seen, 0) if self.lost == seen => {
                format!("all {seen} pairs were lost or came without their partner")
            }
            (_, 0) if self.unstamped > 0 => {
                "the receiver's kernel gave no time stamps; use application stamps".to_owned()
            }
            (seen, used) => {
                format!("only {used} of {seen} pairs arrived whole and in order, too few for a break")
            }
        }
    }

    /// The doubts that a reader should know.
    pub(super) fn with_doubts(&self, mut report: Report, fit: &Fit) -> Report {
        let mut doubt = |text: String| report.warnings.push(text);
        if let Regimes::Both(found) = &fit.regimes
            && found.late > super::fit::FREE
        {
            doubt(format!(
                "cross traffic: {:.0} % of the trailing packets near the break came late; the interval says what \
                 that leaves uncertain",
                found.late * 100.0
            ));
        }
        if self.lost * 10 > self.seen {
            doubt(format!("{} of {} pairs lost a packet and were left out", self.lost, self.seen));
        }
        if self.disturbed * 10 > self.seen {
            doubt(format!(
                "{} of {} pairs were reordered or duplicated and were left out",
                self.disturbed, self.seen
            ));
        }
        for step in &fit.steps {
            doubt(format!(
                "a clock stepped by {} during the run; only the longest stretch without a step was used",
                micros(*step)
            ));
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::KneeConfig;
    use crate::host::knee::Break;
    use crate::train::PathFacts;
    use crate::unit::Bytes;

    #[test]
    fn no_packet_is_kept_for_less_than_nothing() {
        let around = |value: f64| Estimate { value, low: value - 6_000.0, high: value + 6_000.0 };
        let found = Break {
            delay: around(1_000.0),
            stage: around(300.0),
            stages: vec![300.0],
            service: around(6_000.0),
            differential: Some(around(-7_000.0)),
            late: 0.1,
            waited: 100,
            by_program: 50.0,
        };
        let regimes = Regimes::Both(Box::new(found));
        let fit = Fit { skew: None, steps: Vec::new(), used: 300, regimes };
        let facts = PathFacts {
            max_size: Bytes(1_526),
            min_size: Bytes(72),
            resolution: Nanos(1),
            end_link: None,
            narrow_link: None,
            coalescence: None,
        };
        let report = Knee::new(KneeConfig::default(), &facts).application_report(&fit);
        for quantity in [Quantity::PptHeading, Quantity::PptTrailing] {
            let told = report.finding(quantity);
            assert!(matches!(told, Finding::Bound { bound: 0.0, .. }), "{quantity:?}: {told:?}");
        }
    }
}
