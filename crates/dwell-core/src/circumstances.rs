//! Under which circumstances a run was made: an unexplained figure is worthless in this field.

use crate::stats::quantile::median;
use crate::train::{Direction, Observation};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one host told of itself; a `None` is a thing that could not be read there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Version of Dwell.
    pub dwell: String,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model.
    pub processor: Option<String>,
    /// Cores on line.
    pub cores: Option<u32>,
    /// CPU frequency governor of the measuring core.
    pub governor: Option<String>,
    /// Driver and deepest allowed state of CPU idling.
    pub idle: Option<String>,
    /// Clock source.
    pub clock_source: Option<String>,
    /// Whether the clock is kept by somebody (NTP, PTP), as the kernel tells.
    pub clock_synchronised: Option<bool>,
    /// Network interface of the probes.
    pub interface: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its offloads by the names of ethtool, on or off.
    pub offloads: BTreeMap<String, bool>,
    /// Its coalescing parameters by the names of `ethtool -c`.
    pub coalescing: BTreeMap<String, u64>,
    /// Which stamps it proved able to take: `application`, `kernel`, `hardware`.
    pub stamps: Vec<String>,
    /// Core that the measuring thread was pinned to.
    pub pinned_core: Option<u32>,
    /// Whether the measuring thread had real-time priority.
    pub real_time: bool,
}

/// Both hosts, and what stood between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The world: `simulator`, `lab`, `live` or `record`.
    pub world: String,
    /// The host that probes.
    pub sender: HostFacts,
    /// The host under test.
    pub receiver: HostFacts,
    /// Idle time before a probe, as it really was at the median: a sleeping core costs more than a busy one.
    pub idle_before_probe: Option<Nanos>,
    /// Anything else that a reader should know, by name.
    pub notes: BTreeMap<String, String>,
}

impl Circumstances {
    /// Notes the idle time before a probe, as the stamps of a run's trains show it, one after another.
    pub fn note_idle<'a>(&mut self, observations: impl IntoIterator<Item = &'a Observation>) {
        let forward =
            observations.into_iter().filter(|observation| observation.direction == Direction::Forward);
        let ends: Vec<(Nanos, Nanos)> = forward
            .filter_map(|observation| Some((observation.fates.first()?, observation.fates.last()?)))
            .map(|(first, last)| (first.sent.application, last.sent.application))
            .collect();
        let pauses: Vec<f64> = ends.windows(2).map(|pair| (pair[1].0 - pair[0].1).as_f64()).collect();
        self.idle_before_probe = median(&pauses).map(Nanos::from_f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Fate, Packet, Stamps};
    use crate::unit::Bytes;

    #[test]
    fn idle_time_is_from_the_last_packet_to_the_next_trains_first() {
        let fate = |at| Fate {
            packet: Packet { size: Bytes(72), hold: Nanos::ZERO },
            sent: Stamps { application: Nanos(at), kernel: None, hardware: None },
            arrival: None,
        };
        let train = |at| Observation {
            direction: Direction::Forward,
            fates: vec![fate(at), fate(at + 30)],
            overflowed: 0,
        };
        let mut circumstances = Circumstances::default();
        circumstances.note_idle(&[train(0), train(1_030), train(2_060)]);
        assert_eq!(circumstances.idle_before_probe, Some(Nanos(1_000)));
        circumstances.note_idle(&[train(0)]);
        assert_eq!(circumstances.idle_before_probe, None);
    }
}
