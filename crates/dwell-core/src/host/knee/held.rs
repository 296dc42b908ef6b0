//! What a break says under interrupt coalescence: a period must never be reported as a stage.

use super::{Fit, Knee, Regimes};
use crate::asleep;
use crate::nic::{Coalesced, Kind};
use crate::report::{Finding, Quantity, Report, Side, Unit};
use crate::unit::Nanos;

/// A break further than this factor beyond the period is not the period's.
const BEYOND: f64 = 1.1;
/// A flat gap below this share of a throttle's period is not the throttle's.
const SERVICE: f64 = 0.5;
/// A gap that grows by this share of the stage at the break has jumped.
const JUMP: f64 = 0.2;
/// Nats by which z must decide who waited before a break counts as the program's, where nothing else tells.
const BY_PROGRAM: f64 = 3.0;

impl Knee {
    /// The report with every figure that may be a timer's, and not the program's, turned into a bound.
    pub(super) fn unless_held(&self, report: Report, fit: &Fit) -> Report {
        let Some((longest, reason)) = self.may_be_held(&report, fit) else { return report };
        let bound = |finding: &Finding| match finding {
            Finding::Value { high, .. } => Some(*high),
            Finding::Bound { bound, side: Side::Upper, .. } => Some(*bound),
            _ => None,
        };
        let at_most = |finding: Finding| match bound(&finding) {
            Some(high) => Finding::at_most(high.max(longest), Unit::Ns, &reason),
            None => finding,
        };
        let stage = at_most(report.finding(Quantity::ApplicationStage));
        let service = at_most(report.finding(Quantity::ServiceTime));
        [Quantity::PptHeading, Quantity::PptTrailing]
            .into_iter()
            .fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(&reason)))
            .with(Quantity::ApplicationStage, stage)
            .with(Quantity::ServiceTime, service)
    }

    /// The report with the stage turned into a bound where the receiver's core slept: what it takes to wake is in the break.
    pub(super) fn unless_asleep(&self, report: Report) -> Report {
        let stage = report.finding(Quantity::ApplicationStage);
        match (asleep::lateness(self.taken.clone()), &stage) {
            (Some(late), Finding::Value { high, .. }) => {
                let bound = Finding::at_most(*high, Unit::Ns, asleep::reason(late));
                report.with(Quantity::ApplicationStage, bound)
            }
            _ => report,
        }
    }

    /// For how long packets may have been held back, and why that cannot be told from the program; `None` where
    /// the stage stands clear of it.
    fn may_be_held(&self, report: &Report, fit: &Fit) -> Option<(f64, String)> {
        let stage = report.finding(Quantity::ApplicationStage).estimate();
        // A throttle that is longer than the stage makes no packet wait for the program: what looks flat then is the
        // level of the throttle, and there is no jump at its end.
        let service = report.finding(Quantity::ServiceTime).estimate();
        let jumps = stage.zip(service).is_some_and(|(stage, service)| stage - service > JUMP * stage);
        match self.coalescence {
            Some(Coalesced { kind: Kind::None, period }) => {
                let unseen = period.as_f64();
                let reason =
                    format!("coalescence of up to {period} would not have shown, and looks the same");
                stage.filter(|stage| *stage < unseen).map(|_| (0.0, reason))
            }
            Some(Coalesced { kind, period }) => {
                let held = period.as_f64();
                let reason = format!(
                    "the receiver coalesces interrupts ({kind}) and holds packets for up to {period}, which hides \
                     any shorter stage"
                );
                let beyond = stage.is_some_and(|stage| stage > BEYOND * held);
                // Only a flat level well below the period is surely a service time, and no level of the throttle.
                let waits = service.is_some_and(|service| service < SERVICE * held);
                (!(beyond && (kind == Kind::Hold || (jumps && waits)))).then_some((held, reason))
            }
            None => {
                let Regimes::Both(found) = &fit.regimes else { return None };
                let reason = format!(
                    "a program that takes so long, or a receiver that holds packets for {}: the pairs do not tell \
                     which, and whether it coalesces is not known",
                    Nanos::from_f64(found.stage.value)
                );
                (found.by_program < BY_PROGRAM || !jumps).then_some((0.0, reason))
            }
        }
    }
}
