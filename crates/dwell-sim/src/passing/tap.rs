//! What a probe sees.

use dwell_core::Nanos;
use dwell_core::tcp::{Segment, Unreachable};

/// Something that a probe sees, with the time of the probe's own clock.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A segment of TCP.
    Segment(Segment),
    /// An ICMP message about one.
    Unreachable(Unreachable),
}

impl Seen {
    /// When it passed.
    #[must_use]
    pub const fn at(&self) -> Nanos {
        match self {
            Self::Segment(segment) => segment.at,
            Self::Unreachable(message) => message.at,
        }
    }

    /// The segment, if it is one.
    #[must_use]
    pub const fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Segment(segment) => Some(segment),
            Self::Unreachable(_) => None,
        }
    }

    /// The same at another time.
    #[must_use]
    pub(crate) const fn moved(mut self, to: Nanos) -> Self {
        match &mut self {
            Self::Segment(segment) => segment.at = to,
            Self::Unreachable(message) => message.at = to,
        }
        self
    }
}

/// Something that passed a probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Which probe, counted from the clients.
    pub probe: usize,
    /// Of which connection it is.
    pub connection: u32,
    /// What it was.
    pub what: Seen,
}
