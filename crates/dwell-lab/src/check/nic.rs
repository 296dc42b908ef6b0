//! What the NIC of a lab's destination does to packets, against what it should do.

use super::delivered::{Delivered, Spread, against};
use super::part::{Ground, Part};
use crate::error::LabError;
use crate::lane::{Arrival, Carried};
use crate::nic_stage::has_nic;
use crate::salvo::{SMALLEST, Shot};
use crate::testbed::Testbed;
use dwell_core::Nanos;
use dwell_core::nic::Kind;
use dwell_sim::Scenario;
use dwell_sim::nic::{Nic, NicSpec};
use serde::{Deserialize, Serialize};

/// Bursts that are sent to it, and packets of each: enough for several periods, or a full batch.
const BURSTS: usize = 40;
const BURST: usize = 30;

/// Nine in ten packets may be held wrongly by this share of the period, or by this time; and as wide may a batch be.
const WITHIN: f64 = 0.1;
const FLOOR: Nanos = Nanos(5_000);

/// A receiver's NIC in a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NicCheck {
    /// Its kind of coalescence.
    pub kind: Kind,
    /// The longest time that it holds a packet.
    pub period: Option<Nanos>,
    /// How long it held packets, by the kernel's stamp.
    pub held: Delivered,
    /// Nine in ten packets were held this much too long or too short at most.
    pub error_p90: Nanos,
    /// Batches of several packets that were to come at once.
    pub batches: usize,
    /// Packets of the largest of them: those that waited, and the one that then interrupted. A forwarder that was late brings all that is
    /// overdue at one instant, and then several interrupts follow each other in no time: their packets waited for no other.
    pub largest_batch: usize,
    /// From the first kernel stamp of such a batch to its last.
    pub batch_spread: Option<Spread>,
    /// Nine in ten batches are no wider.
    pub batch_spread_p90: Option<Nanos>,
}

impl NicCheck {
    /// Sends bursts through `testbed`; `None` where the destination has no NIC, or nothing arrived.
    pub(crate) fn of(testbed: &Testbed, scenario: &Scenario) -> Result<Option<Self>, LabError> {
        Ok(Self::told(scenario.destination.nic, bursts(testbed, scenario)?.shots.iter()))
    }

    /// Whether a method that looks for what this NIC does can be judged in this lab: it does what is asked of it.
    #[must_use]
    pub fn carried(&self) -> bool {
        let allowed = FLOOR.as_f64().max(WITHIN * self.period.unwrap_or(Nanos::ZERO).as_f64());
        let (off, widest) = (self.off(), self.widest());
        [off.abs(), self.error_p90, widest].iter().all(|time| time.as_f64() <= allowed)
    }

    /// The figures behind [`Self::carried`].
    #[must_use]
    pub fn reason(&self) -> String {
        format!(
            "held wrongly by {} at the median, {} in one of ten; batches of up to {} packets, {} wide",
            self.off(),
            self.error_p90,
            self.largest_batch,
            self.widest()
        )
    }

    fn off(&self) -> Nanos {
        self.held.error.map_or(Nanos::ZERO, |error| error.median)
    }

    fn widest(&self) -> Nanos {
        self.batch_spread_p90.unwrap_or(Nanos::ZERO)
    }

    /// Of a NIC that is to do as `spec` says; `None` where nothing arrived.
    pub(super) fn told<'a>(
        spec: NicSpec,
        shots: impl Iterator<Item = &'a (Shot, Option<Carried>)>,
    ) -> Option<Self> {
        let seen: Vec<(Nanos, Arrival)> =
            shots.filter_map(|(shot, asked)| Some((shot.came?, (*asked)?.arrival?))).collect();
        let times = |(came, Arrival { reached, handed, .. }): &(Nanos, Arrival)| {
            (*came - *reached, Some(*handed - *reached))
        };
        let batches: Vec<&[(Nanos, Arrival)]> = seen
            .chunk_by(|(_, before), (_, after)| before.handed == after.handed)
            .filter(|batch| batch.len() > 1)
            .collect();
        let spread = |batch: &&[(Nanos, Arrival)]| {
            let came = batch.iter().map(|(came, _)| *came);
            Some(came.clone().max()? - came.min()?)
        };
        let spreads: Vec<Nanos> = batches.iter().filter_map(spread).collect();
        Some(Self {
            kind: spec.kind(),
            period: spec.period(),
            held: against(&seen.iter().map(times).collect::<Vec<_>>())?,
            error_p90: p90(seen.iter().map(|(came, asked)| (*came - asked.handed).abs()))?,
            batches: batches.len(),
            largest_batch: batches.iter().map(|batch| gathered(batch)).max().unwrap_or(0),
            batch_spread: Spread::of(spreads.iter().copied()),
            batch_spread_p90: p90(spreads.iter().copied()),
        })
    }
}

/// What comes of bursts for the destination's NIC; of none where it has no NIC.
pub(super) fn bursts(testbed: &Testbed, scenario: &Scenario) -> Result<Part, LabError> {
    match has_nic(&scenario.destination) {
        true => Part::run(testbed, &vec![vec![SMALLEST; BURST]; BURSTS], Ground::of(scenario)),
        false => Ok(Part { shots: Vec::new() }),
    }
}

/// Packets of what was handed over at one instant that waited for each other.
fn gathered(batch: &[(Nanos, Arrival)]) -> usize {
    let waited = batch.iter().filter(|(_, asked)| asked.reached < asked.handed).count();
    waited + usize::from(waited < batch.len())
}

fn p90(times: impl Iterator<Item = Nanos>) -> Option<Nanos> {
    let mut sorted: Vec<Nanos> = times.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() * 9 / 10).copied()
}

/// After how long such a NIC is at rest.
pub(super) fn rest(nic: NicSpec) -> Nanos {
    let polls = if let NicSpec::Deferred { polls, .. } = nic { i64::from(polls) } else { 0 };
    nic.period().unwrap_or(Nanos::ZERO) * (polls + 2)
}

/// Asks of `frames`, which come in order, what a NIC like this does: the forwarder that wrote them down had none.
pub(super) fn as_modelled(nic: NicSpec, frames: &mut [Carried]) {
    let mut machine = Nic::new(nic, None);
    for (frame, key) in frames.iter().zip(0..) {
        if let Some(Arrival { reached, .. }) = frame.arrival {
            machine.arrives(reached, key);
        }
    }
    let mut deliveries = Vec::new();
    machine.deliver(Nanos::MAX, &mut deliveries);
    for delivery in deliveries {
        let frame = usize::try_from(delivery.key).ok().and_then(|key| frames.get_mut(key));
        if let Some(arrival) = frame.and_then(|frame| frame.arrival.as_mut()) {
            arrival.handed = delivery.delivered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::{Bytes, Direction};

    fn frame(reached: i64) -> Carried {
        let (reached, waited) = (Nanos(reached), Nanos::ZERO);
        Carried {
            direction: Direction::Forward,
            head: [0; 128],
            size: Bytes(72),
            entered: reached,
            arrival: Some(Arrival { due: reached, reached, handed: reached, waited, late: Nanos::ZERO }),
        }
    }

    #[test]
    fn what_was_held_is_told_batch_by_batch() {
        let spec = NicSpec::Hold { period: Nanos(100_000), frames: None };
        let mut frames = [frame(1_000_000), frame(1_030_000), frame(1_500_000)];
        as_modelled(spec, &mut frames);
        let came = [1_102_000, 1_102_500, 1_601_000];
        let shots: Vec<(Shot, Option<Carried>)> = came
            .into_iter()
            .zip(frames)
            .map(|(came, frame)| (Shot { came: Some(Nanos(came)), ..Shot::default() }, Some(frame)))
            .collect();
        let check = NicCheck::told(spec, shots.iter()).unwrap();
        assert_eq!((check.kind, check.period), (Kind::Hold, Some(Nanos(100_000))));
        assert_eq!((check.batches, check.largest_batch), (1, 2));
        assert_eq!(check.batch_spread.unwrap().median, Nanos(500));
        assert_eq!(check.held.asked.unwrap().median, Nanos(100_000));
        assert_eq!(check.held.error.unwrap().median, Nanos(2_000));
        assert_eq!(check.error_p90, Nanos(2_500));
        assert!(check.carried() && check.reason().starts_with("held wrongly by 2"), "{}", check.reason());
        assert_eq!(NicCheck::told(spec, [].iter()), None);
        // Late by more than a tenth of the period: what comes of it is not what was asked for.
        let late: Vec<(Shot, Option<Carried>)> = shots
            .iter()
            .map(|(shot, frame)| (Shot { came: shot.came.map(|came| came + Nanos(9_000)), ..*shot }, *frame))
            .collect();
        assert!(!NicCheck::told(spec, late.iter()).unwrap().carried());
    }

    #[test]
    fn what_a_late_forwarder_brings_at_once_is_no_larger_batch() {
        // Two wait, and seven that were overdue come at once: three interrupts of three each, at one instant.
        let reached = [1_000_000, 1_010_000].into_iter().chain([1_020_000; 7]);
        let mut frames: Vec<Carried> = reached.map(frame).collect();
        let spec = NicSpec::Hold { period: Nanos(100_000), frames: Some(3) };
        as_modelled(spec, &mut frames);
        let shot = Shot { came: Some(Nanos(1_021_000)), ..Shot::default() };
        let shots: Vec<_> = frames.into_iter().map(|frame| (shot, Some(frame))).collect();
        let check = NicCheck::told(spec, shots.iter()).unwrap();
        assert_eq!((check.batches, check.largest_batch), (1, 3));
    }

    #[test]
    fn a_deferring_kernel_rests_when_it_has_polled_in_vain() {
        assert_eq!(rest(NicSpec::Deferred { period: Nanos(50), polls: 3 }), Nanos(250));
        assert_eq!(rest(NicSpec::None), Nanos::ZERO);
    }
}
