//! The settings of a host that decide how long packets wait in it.

use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A state that an idle core sleeps in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Its name: `C1`, `C6`.
    pub name: String,
    /// How long leaving it takes, by the kernel's table.
    #[serde(rename = "exit_ns")]
    pub exit: Nanos,
    /// Whether somebody forbade it.
    pub disabled: bool,
}

/// An interrupt of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// Its name: `eth0-rx-0`.
    pub name: String,
    /// The cores that may serve it, as the kernel lists them: `0-3`.
    pub cores: String,
}

/// A receive queue of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveQueue {
    /// Its name: `rx-0`.
    pub name: String,
    /// The cores that its packets are spread to (RPS); none: those of its interrupt.
    pub spread_to: Vec<u32>,
    /// Flows that are steered to their readers' cores (RFS); 0: none.
    pub steered_flows: u64,
}

/// What was read; `None`, and of the interface an empty list: it could not be read, or there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The interface that the following ones are of; `None`: all were watched.
    pub interface: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its coalescing parameters by the names of `ethtool -c`.
    pub coalescing: BTreeMap<String, u64>,
    /// Its offloads by the names of `ethtool -k`.
    pub offloads: BTreeMap<String, bool>,
    /// How long the kernel waits before it polls the interface again or hands on merged packets.
    #[serde(rename = "gro_flush_timeout_ns")]
    pub gro_flush_timeout: Option<Nanos>,
    /// Polls without packets before its interrupts are on again.
    pub napi_defer_hard_irqs: Option<u64>,
    /// Its queueing discipline.
    pub discipline: Option<String>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
    /// Its receive queues.
    pub receive_queues: Vec<ReceiveQueue>,
    /// Flows that the host steers to their readers' cores (RFS) at most; 0: none.
    pub steered_flows: Option<u64>,
    /// How long poll(2) itself asks the driver.
    #[serde(rename = "busy_poll_ns")]
    pub busy_poll: Option<Nanos>,
    /// How long a read itself asks the driver.
    #[serde(rename = "busy_read_ns")]
    pub busy_read: Option<Nanos>,
    /// Room of a socket's queue, unless it asks.
    #[serde(rename = "rmem_default_bytes")]
    pub room_default: Option<Bytes>,
    /// The most that it can ask for.
    #[serde(rename = "rmem_max_bytes")]
    pub room_max: Option<Bytes>,
    /// CPU frequency governor of the first core.
    pub governor: Option<String>,
    /// The states that the first core may sleep in.
    pub idle_states: Vec<IdleState>,
    /// Whether the host runs under a hypervisor, which then decides how its cores sleep.
    pub hypervisor: bool,
}

impl Settings {
    /// How long the interface is set to gather packets before it hands them over; zero: it is not; `None`: that could
    /// not be read.
    #[must_use]
    pub fn gathers(&self) -> Option<Nanos> {
        let micros = self
            .coalescing
            .get("rx-usecs")
            .map(|us| Nanos::from_micros(i64::try_from(*us).unwrap_or(i64::MAX)));
        let deferred = match self.napi_defer_hard_irqs {
            Some(0) => Some(Nanos::ZERO),
            _ => self.gro_flush_timeout,
        };
        micros.max(deferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gathers_packets() {
        let mut settings = Settings::default();
        assert_eq!(settings.gathers(), None);
        settings.coalescing.insert("rx-usecs".into(), 50);
        assert_eq!(settings.gathers(), Some(Nanos::from_micros(50)));
        settings.gro_flush_timeout = Some(Nanos::from_micros(200));
        settings.napi_defer_hard_irqs = Some(0);
        assert_eq!(settings.gathers(), Some(Nanos::from_micros(50)));
        settings.napi_defer_hard_irqs = Some(2);
        assert_eq!(settings.gathers(), Some(Nanos::from_micros(200)));
    }
}
