//! Under which circumstances a run was made: an unexplained figure is worthless in this field.

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
