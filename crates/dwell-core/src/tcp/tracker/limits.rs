//! How much a tracker keeps, and for how long.

use crate::unit::Nanos;

/// How much a tracker keeps, and for how long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Handshakes in progress at most, of 256 bytes each. Of those just finished as many are known, or up to twice as many
    /// (a power of two), of 32 bytes each and some 20 of what finds them, and twice as many SYNs or more that had to give way, of 24 bytes
    /// each; and for each 64 to 128 bytes of what tells which flows gave way for good.
    pub handshakes: usize,
    /// So long after its last segment, in packet time, an unfinished one is given up (papers/003: 2 minutes).
    pub patience: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Self { handshakes: 131_072, patience: Nanos::from_secs(120) }
    }
}
