//! What became of the packets of a run, by reason.

use dwell_core::tcp::Seen;
use dwell_net::capture::RingCounts;

/// What became of the packets of a run, by reason.
#[derive(Default)]
pub(super) struct Account {
    /// By each who read.
    pub(super) seen: Vec<Seen>,
    /// Live.
    pub(super) live: Option<Live>,
    /// What is wrong with the captures.
    pub(super) remarks: Vec<String>,
}

/// What became of them in the kernel.
pub(super) struct Live {
    pub(super) counts: RingCounts,
    /// Why the kernel runs no filter, if so.
    pub(super) unfiltered: Option<String>,
    pub(super) seconds: f64,
    /// Why it ended before it was to.
    pub(super) ended: Option<String>,
}
