//! One part of the check: bursts of packets, and what the engine asked of each.

use super::narrowest::narrowest;
use super::nic;
use crate::error::LabError;
use crate::lane::Carried;
use crate::salvo::{self, Calls, Shot};
use crate::testbed::Testbed;
use dwell_core::{BitRate, Bytes, Direction, Nanos};
use dwell_sim::nic::NicSpec;
use dwell_sim::{LabNic, LinkSpec, Scenario};

/// The longest that one part may take.
const LONGEST: Nanos = Nanos::from_secs(3);

/// What one part of the check sent, with what the engine asked of each packet, where there is an engine.
pub(super) struct Part {
    pub(super) shots: Vec<(Shot, Option<Carried>)>,
}

impl Part {
    pub(super) fn run(testbed: &Testbed, bursts: &[Vec<Bytes>], ground: Ground) -> Result<Self, LabError> {
        let bytes = bursts.iter().map(|burst| burst.iter().copied().sum::<Bytes>()).max().unwrap_or_default();
        // Twice what a burst takes, so that each finds the queues as if nothing of ours had been before.
        let taken = ground.rate.map_or(Nanos::ZERO, |rate| rate.time_for(bytes));
        let period = (taken * 2).max(Nanos::from_millis(2)) + ground.rest;
        let count = i64::try_from(bursts.len()).unwrap_or(i64::MAX);
        let affordable = (LONGEST.0 / period.0.max(1)).clamp(4, count) as usize;
        testbed.write_down(true);
        let patience = ground.delay * 2 + taken * 4 + ground.rest;
        let shots = salvo::fire(testbed, &bursts[..affordable], Calls::One, period, patience)?;
        let mut asked: Vec<Carried> = testbed.write_down(false);
        asked.retain(|frame| frame.direction == Direction::Forward);
        asked.sort_by_key(|frame| frame.entered);
        if let Some(nic) = ground.kernels_nic {
            nic::as_modelled(nic, &mut asked);
        }
        Ok(Self { shots: paired(shots, &asked) })
    }

    /// Burst by burst of `length`.
    pub(super) fn bursts(&self, length: usize) -> impl Iterator<Item = &[(Shot, Option<Carried>)]> {
        self.shots.chunks_exact(length)
    }
}

/// Puts to each shot what the engine asked of it: frames enter the engine in the order of sending.
fn paired(shots: Vec<Shot>, asked: &[Carried]) -> Vec<(Shot, Option<Carried>)> {
    let mut rest = asked.iter();
    let pair = |shot: Shot| (shot, rest.find(|frame| frame.size == shot.size).copied());
    shots.into_iter().map(pair).collect()
}

/// What is known of the path before anything is sent.
#[derive(Copy, Clone, Debug)]
pub(super) struct Ground {
    /// Of the large packets.
    pub(super) size: Bytes,
    pub(super) rate: Option<BitRate>,
    delay: Nanos,
    /// How long the receiver's NIC may hold a packet, or the kernel's go on polling.
    rest: Nanos,
    /// The NIC whose work the kernel does.
    kernels_nic: Option<NicSpec>,
}

impl Ground {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let links = &scenario.links;
        let size = scenario.max_size().min(Bytes(1502));
        let nic = scenario.destination.nic;
        Self {
            size,
            rate: narrowest(links).and_then(|(_, link)| link.rate),
            delay: empty_path(links, size),
            rest: nic::rest(nic),
            kernels_nic: (scenario.lab.nic == LabNic::Kernel).then_some(nic),
        }
    }
}

/// Time from the first bit's start to the last bit's arrival of a packet that finds every queue empty, on the longest way.
pub(super) fn empty_path(links: &[LinkSpec], size: Bytes) -> Nanos {
    links
        .iter()
        .map(|link| {
            let sent = link.rate.map_or(Nanos::ZERO, |rate| rate.time_for(link.framing.padded(size)));
            sent + link.propagations().1
        })
        .sum()
}
