//! Where a run's journeys come from: one face for what the kernel tells of everybody's packets, and for what Dwell's own
//! show.

use super::error::ObserverError;
use super::observer::Observer;
use super::own::OwnProbes;
use dwell_core::inside::{Event, HookCost, Losses, Missing};
use std::time::Duration;

/// Where journeys come from.
pub enum Source {
    /// Live traffic, at the kernel's tracepoints.
    Ebpf(Box<Observer>),
    /// Probes of Dwell's own, by the kernel's socket stamps.
    Stamps(Box<OwnProbes>),
}

impl Source {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ebpf(_) => "ebpf",
            Self::Stamps(_) => "stamps",
        }
    }

    /// The points that cannot be seen here, and why.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        match self {
            Self::Ebpf(observer) => observer.missing(),
            Self::Stamps(probes) => probes.missing(),
        }
    }

    /// Tells what happened; returns once something was told, or nothing happened for `timeout`.
    ///
    /// # Errors
    /// When it can no longer be seen.
    pub fn wait(&mut self, timeout: Duration, tell: &mut dyn FnMut(Event)) -> Result<(), ObserverError> {
        match self {
            Self::Ebpf(observer) => observer.wait(timeout, tell),
            Self::Stamps(probes) => probes.wait(timeout, tell),
        }
    }

    /// Packets whose journeys are not told.
    #[must_use]
    pub fn losses(&self) -> Losses {
        match self {
            Self::Ebpf(observer) => observer.losses(),
            Self::Stamps(probes) => probes.losses(),
        }
    }

    /// What the hooks cost by the kernel's own account, since this was first asked; of stamps it keeps none.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn hook_costs(&self) -> Result<Vec<HookCost>, ObserverError> {
        match self {
            Self::Ebpf(observer) => observer.hook_costs(),
            Self::Stamps(_) => Ok(Vec::new()),
        }
    }
}
