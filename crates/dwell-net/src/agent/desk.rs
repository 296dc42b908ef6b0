//! What an agent and its sessions share.

use super::config::AgentConfig;
use crate::hellos::Hellos;
use crate::prober::Placement;
use crate::throughput::Arrivals;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How an agent is run, and which of its sessions wait for what.
pub(crate) struct Desk {
    config: AgentConfig,
    hellos: Mutex<Hellos>,
    arrivals: Mutex<Arrivals>,
}

impl Desk {
    pub(super) fn new(config: AgentConfig) -> Self {
        Self { config, hellos: Mutex::default(), arrivals: Mutex::default() }
    }

    /// How it is run.
    pub(crate) const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// How receiving threads are to run.
    pub(crate) const fn placement(&self) -> Placement {
        Placement { core: self.config.core, real_time: self.config.real_time }
    }

    /// Which sessions wait for TCP connections.
    pub(crate) fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which sessions wait for their hello packet.
    pub(crate) fn hellos(&self) -> MutexGuard<'_, Hellos> {
        self.hellos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
