//! How much a tracker keeps, and for how long.

use crate::unit::Nanos;

/// How much a tracker keeps, and for how long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Handshakes at most, those in progress and those just finished. One takes less than 220 bytes.
    pub handshakes: usize,
    /// So long after its last segment, in packet time, an unfinished one is given up (papers/003: 2 minutes).
    pub patience: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Self { handshakes: 196_608, patience: Nanos::from_secs(120) }
    }
}
