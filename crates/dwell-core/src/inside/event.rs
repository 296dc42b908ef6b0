//! What an observer of a host's inside tells: journeys, drops, what it could not see, and what it cost itself.

use super::journey::{Flow, Journey};
use super::stage::{Point, Way};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A packet that the host itself dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// When, on the clock of the journeys.
    pub at: Nanos,
    /// Which way it was going.
    pub way: Way,
    /// Whose packet, where its headers could be read.
    pub flow: Option<Flow>,
    /// The kernel's reason, in its own name: `SOCKET_RCVBUFF`, `QDISC_DROP`.
    pub reason: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A packet passed through.
    Journey(Box<Journey>),
    /// A packet was dropped.
    Dropped(Dropped),
}

/// A point that cannot be seen here, told before measuring starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Which.
    pub point: Point,
    /// Why, and what would help.
    pub reason: String,
}

/// Packets whose journeys are not told, by the reason. Nothing is lost without being counted here.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Journeys that found no room on their way to this process.
    pub buffer_full: u64,
    /// Packets under way that were forgotten because another took their place in the table.
    pub table_full: u64,
    /// Reads whose packet could not be told: it was read before its queueing was seen, or by one of several
    /// readers. Of Dwell's own probes: those whose stamps did not all come.
    pub unmatched: u64,
    /// Runs of a program that the kernel left out, for an interrupt came while it ran on that core: what each would
    /// have told is not known, a packet or one point of it, so these are no packets.
    #[serde(default)]
    pub skipped_runs: u64,
}

impl Losses {
    /// All packets of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.buffer_full + self.table_full + self.unmatched
    }
}

/// What one hook cost by the kernel's own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCost {
    /// Name of the hook.
    pub hook: String,
    /// The way that it serves; `None`: all.
    pub way: Option<Way>,
    /// How often it ran.
    pub runs: u64,
    /// For how long altogether.
    pub time: Nanos,
}
