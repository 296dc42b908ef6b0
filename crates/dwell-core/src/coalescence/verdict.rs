//! What the trains of a run prove.

use super::{Behaviour, Coalescence, Fit, QUANTITIES, SHORTEST, Sample, fit, long};
use crate::asleep;
use crate::nic::{Coalesced, Kind};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::histogram::half_sample_mode;
use crate::unit::Nanos;

/// Nats by which a part of a run must prefer its own behaviour to the other part's before a change is believed.
const PREFERS: f64 = 50.0;
/// So busy a path tells no change.
const TOO_WILD: f64 = 0.4;
/// The share of gaps changed by cross traffic from which on nothing can be ruled out.
const TOO_BUSY: f64 = 0.55;
/// Where periods up to this would not show, 'no coalescence' says nothing: NICs are set to tens of microseconds.
const NOTHING_TO_SAY: f64 = 60_000.0;
/// Two halves of a run whose periods differ by more than this share saw a change.
const CHANGED: f64 = 0.2;
/// A period at a high rate that is longer than the one after a rest by this factor follows the rate.
const ADAPTS: f64 = 1.25;
/// A trailing packet may be held for so many polls of a deferring kernel, as far as the sweep of a pair goes.
const POLLS_OF_A_PAIR: u32 = 12;

impl Coalescence {
    /// All findings.
    pub(super) fn verdict(&self) -> Report {
        let mut report = Report::new("coalescence", self.vantage());
        if self.lost * 10 > self.trains {
            let doubt = format!("{} of {} trains lost a packet and were left out", self.lost, self.trains);
            report.warnings.push(doubt);
        }
        let Some(fit) = self.fit() else { return nothing(report, &self.too_few()) };
        if self.pause_too_short() {
            let reason = format!(
                "packets were held even over the {} between trains: the period is as long or longer",
                self.pause
            );
            return nothing(report, &reason)
                .with(Quantity::CoalescencePresent, Finding::flag(true))
                .with(Quantity::CoalescencePeriod, Finding::at_least(self.reach.as_f64(), Unit::Ns, reason));
        }
        if self.reach_too_short() {
            let reason = format!(
                "packets as far apart as {} came together: the period is as long or longer",
                self.reach
            );
            return nothing(report, &reason)
                .with(Quantity::CoalescencePresent, Finding::flag(true))
                .with(Quantity::CoalescencePeriod, Finding::at_least(self.reach.as_f64(), Unit::Ns, reason));
        }
        if let Some(late) = self.asleep() {
            return nothing(report, &asleep::reason(late));
        }
        if let Some([early, late]) = self.changed() {
            let told = |fit: &Fit| match fit.period {
                None => "no coalescence".to_owned(),
                Some(period) => format!("{} of {}", fit.behaviour.kind(), Nanos::from_f64(period.value)),
            };
            let reason = format!(
                "the settings changed during the run, from {} to {}: run it again",
                told(&early),
                told(&late)
            );
            report.warnings.push(reason.clone());
            return nothing(report, &reason).with(Quantity::CoalescencePresent, Finding::flag(true));
        }
        self.explained(report, &fit)
    }

    fn too_few(&self) -> String {
        match (self.trains, self.samples().len()) {
            (0, _) => "no trains of three packets were sent".to_owned(),
            (trains, 0) if self.lost == trains => format!("all {trains} trains lost a packet"),
            (trains, used) => format!("only {used} of {trains} trains arrived whole and in order"),
        }
    }

    fn changed(&self) -> Option<[Fit; 2]> {
        let samples = self.counted();
        let (first, last) = (samples.first()?.at, samples.last()?.at);
        let (whole, known) = self.explained_with()?;
        let split = |share: f64| {
            let border = first + share * (last - first);
            let place = samples.iter().position(|sample| sample.at > border)?;
            let (early, late) = samples.split_at(place);
            let fits = [Fit::of(early, known)?, Fit::of(late, known)?];
            let [one, other] = &fits;
            if one.wild.max(other.wild) > TOO_WILD {
                return None;
            }
            let apart = match (one.period, other.period) {
                (Some(one), Some(other)) => {
                    (one.value - other.value).abs() > CHANGED * one.value.max(other.value)
                }
                (one, other) => one.is_some() != other.is_some(),
            };
            // Each side must be explained far better by its own behaviour than by the other side's.
            let prefers = |samples: &[Sample], own: &Fit, other: &Fit| {
                let log = |fit: &Fit| fit::log_likelihood(samples, known, fit.behaviour);
                Some(log(own)? > log(other)? + PREFERS)
            };
            // What explains all of the run as well as that leaves no change to believe in.
            let differs = prefers(early, one, &whole)? || prefers(late, other, &whole)?;
            let sure = differs && prefers(early, one, other)? && prefers(late, other, one)?;
            ((apart || one.behaviour.kind() != other.behaviour.kind()) && sure).then_some(fits)
        };
        [0.3, 0.5, 0.7].into_iter().find_map(split)
    }

    /// By how much the receiver's core was late to take the first packet of a train. (Of replies it is a part of the fit.)
    fn asleep(&self) -> Option<f64> {
        if self.vantage() != Vantage::Capture || self.config.replies {
            return None;
        }
        asleep::lateness(self.samples().iter().map(|sample| (sample.dispersion, sample.gap)).collect())
    }

    /// What other methods must know; `None` where the run did not tell.
    #[must_use]
    pub fn coalesced(&self) -> Option<Coalesced> {
        let fit = self.fit()?;
        let untold = self.changed().is_some() || self.pause_too_short() || self.reach_too_short();
        if untold || self.asleep().is_some() {
            return None;
        }
        if let Some(fast) = self.adapts(&fit) {
            return Some(Coalesced { kind: Kind::Adaptive, period: Nanos::from_f64(fast.high) });
        }
        match (self.vantage(), fit.behaviour) {
            (Vantage::Application, Behaviour::Hold(_) | Behaviour::None) => None,
            (_, Behaviour::None) if fit.wild > TOO_BUSY => None,
            (_, Behaviour::None) => {
                Some(Coalesced { kind: Kind::None, period: Nanos::from_f64(self.unseen_hold(fit.rest)) })
            }
            (_, behaviour) => {
                let polls = if let Behaviour::Deferred { polls, .. } = behaviour { polls } else { 1 };
                let longest = behaviour.period() * f64::from(polls.min(POLLS_OF_A_PAIR));
                Some(Coalesced { kind: behaviour.kind(), period: Nanos::from_f64(longest) })
            }
        }
    }

    /// The period at a high packet rate, if it is longer than that after a rest. On application stamps the program's own
    /// pace would be in it. (And a hold's batches come late by the wait for the next packet, which would look as a
    /// longer period.)
    fn adapts(&self, fit: &Fit) -> Option<Estimate> {
        let behaviour = fit.behaviour;
        if self.vantage() != Vantage::Capture || matches!(behaviour.kind(), Kind::Hold | Kind::Deferred) {
            return None;
        }
        let batches = |together| long::batch_period(&self.seen().long, together, self.resolution.as_f64());
        let late = || self.config.replies.then(|| batches(long::TOGETHER_IF_LATE)).flatten();
        let fast = batches(long::TOGETHER).or_else(late)?;
        // What the first reply of a short train hides, long trains show; and what shows in both is not hidden.
        let hidden = if behaviour == Behaviour::None { fit.rest } else { 0.0 };
        (fast.low > (ADAPTS * behaviour.period()).max(self.unseen_hold(hidden))).then_some(fast)
    }

    /// How close together packets came to the receiver, where nothing held them back.
    fn closest(&self) -> f64 {
        if self.config.replies {
            return self.least().max(self.least_sent());
        }
        let bursts: Vec<f64> = self.samples().iter().filter_map(|sample| Some(sample.next?.1)).collect();
        half_sample_mode(&bursts).unwrap_or(0.0).max(self.least())
    }

    /// The longest period that may not have shown: behind the first packet of a train two more must fit into it, as
    /// close as bursts came. What comes while the first reply is late shows nothing.
    fn bound(&self, fit: &Fit) -> f64 {
        2.4 * self.closest() + 1.2 * fit.rest + 4.0 * self.resolution.as_f64() + SHORTEST
    }

    /// The longest hold that may not have shown: one packet more must fit into it. (A throttle that did not show is
    /// no danger to others: it makes no packet wait for the program.) First replies are late by `rest`.
    fn unseen_hold(&self, rest: f64) -> f64 {
        (1.25 * (self.closest() + rest) + 3.0 * self.resolution.as_f64()).max(SHORTEST)
    }

    /// The findings of a run that tells something.
    fn explained(&self, report: Report, fit: &Fit) -> Report {
        let kernel = self.vantage() == Vantage::Capture;
        let (bound, hold_bound) = (self.bound(fit), self.unseen_hold(fit.rest));
        let too_short = |bound: f64| {
            let bound = Nanos::from_f64(bound);
            format!("a shorter one would not show: the path and the stamps resolve no more than {bound}")
        };
        let (unseen, unseen_hold) = (too_short(bound), too_short(hold_bound));
        // What adapts to the rate may be as short as that after a rest, and shows in long trains alone.
        let rate_bound = bound.max(long::unseen(&self.seen().long));
        let adapts = self.adapts(fit);
        match (fit.behaviour, fit.period, adapts) {
            (behaviour, _, Some(fast)) => {
                // A throttle shows in short trains only if two packets fit into its period behind the first, or behind its
                // reply where that is late.
                let shows = 2.4 * self.least() + 1.2 * fit.rest + 4.0 * self.resolution.as_f64() + SHORTEST;
                let hidden = behaviour == Behaviour::None && fast.value < shows;
                let (kind, period, hold) = if hidden {
                    let reason = "hold, throttle or adaptive: its period is too short for the path to tell";
                    // What a hold's batches are apart is longer, by the wait for the next packet.
                    let bound = Finding::at_most(fast.high, Unit::Ns, reason);
                    (Finding::unmeasurable(reason), bound.clone(), bound)
                } else {
                    let period = Finding::nanos(fast.value, fast.low, fast.high);
                    (Finding::kind(Kind::Adaptive), period, Finding::nanos(0.0, 0.0, 0.0))
                };
                report
                    .with(Quantity::CoalescencePresent, Finding::flag(true))
                    .with(Quantity::CoalescenceKind, kind)
                    .with(Quantity::CoalescencePeriod, period)
                    .with(Quantity::NicHold, hold)
            }
            (Behaviour::None, ..) if kernel && fit.wild > TOO_BUSY => {
                let share = 100.0 * fit.wild;
                nothing(
                    report,
                    &format!("cross traffic changed {share:.0} % of the gaps; repeat when it is quieter"),
                )
            }
            (Behaviour::None, ..) if kernel && bound > NOTHING_TO_SAY => nothing(report, &unseen)
                .with(Quantity::CoalescencePeriod, Finding::at_most(bound, Unit::Ns, &unseen))
                .with(Quantity::NicHold, Finding::at_most(hold_bound, Unit::Ns, unseen_hold)),
            (Behaviour::None, ..) | (_, None, _) if kernel => report
                .with(Quantity::CoalescencePresent, Finding::flag(false))
                .with(Quantity::CoalescenceKind, Finding::kind(Kind::None))
                .with(
                    Quantity::CoalescencePeriod,
                    Finding::at_most(rate_bound, Unit::Ns, too_short(rate_bound)),
                )
                .with(Quantity::NicHold, Finding::at_most(hold_bound, Unit::Ns, unseen_hold)),
            (Behaviour::None | Behaviour::Hold(_), ..) | (_, None, _) if !kernel => {
                let reason = "without the receiving kernel's stamps a hold cannot be told from a program that takes \
                              as long to wake up";
                let longest = fit.period.map_or(bound, |period| period.high);
                nothing(report, reason)
                    .with(Quantity::CoalescencePeriod, Finding::at_most(longest, Unit::Ns, reason))
            }
            (_, None, _) => nothing(report, "no period was found"),
            (behaviour, Some(period), _) => {
                let Estimate { value, low, high } = period;
                let hold = match behaviour.kind() {
                    Kind::Hold => Finding::nanos(value, low, high),
                    // A packet after a rest interrupts at once.
                    _ => Finding::nanos(0.0, 0.0, 0.0),
                };
                report
                    .with(Quantity::CoalescencePresent, Finding::flag(true))
                    .with(Quantity::CoalescenceKind, Finding::kind(behaviour.kind()))
                    .with(Quantity::CoalescencePeriod, Finding::nanos(value, low, high))
                    .with(Quantity::NicHold, hold)
            }
        }
    }
}

/// Every quantity with a reason why it cannot be had.
fn nothing(report: Report, reason: &str) -> Report {
    QUANTITIES
        .into_iter()
        .fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(reason)))
}
