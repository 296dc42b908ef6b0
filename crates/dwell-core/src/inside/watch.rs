//! A run of watching: what is known before it starts, and when it is over.

use super::event::{HookCost, Losses, Missing};
use super::settings::Settings;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// What is known of a run before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The interface that is watched; `None`: all.
    pub interface: Option<String>,
    /// How packets are seen: `ebpf`, at the kernel's tracepoints, or `stamps`, by the stamps of Dwell's own probes.
    pub observer: String,
    /// Points that cannot be seen here.
    pub missing: Vec<Missing>,
    /// The host's settings.
    pub settings: Settings,
}

/// What is known of it in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// How long it watched.
    #[serde(rename = "span_ns")]
    pub span: Nanos,
    /// Why it ended before it was to; `None`: it did not.
    pub ended: Option<String>,
    /// Packets whose journeys are not told.
    pub losses: Losses,
    /// What watching cost, where that was asked for.
    pub overhead: Option<Overhead>,
}

/// What watching cost the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// In the kernel, hook by hook.
    pub hooks: Vec<HookCost>,
    /// CPU time of Dwell's own threads, which takes the counting and showing in.
    #[serde(rename = "user_ns")]
    pub user: Nanos,
}

impl Overhead {
    /// CPU time of all hooks; `None`: there were none, and the kernel keeps no account of what else it does.
    #[must_use]
    pub fn kernel(&self) -> Option<Nanos> {
        (!self.hooks.is_empty()).then(|| self.hooks.iter().map(|hook| hook.time).sum())
    }
}
