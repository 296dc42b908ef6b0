//! The difference of two halves.

use crate::tcp::Half;
use crate::unit::Nanos;

/// What the difference of two halves says of the section between their probes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// Nothing.
    Unknown,
    /// So long.
    Exact(Nanos),
    /// So long or shorter.
    AtMost(Nanos),
    /// So long or longer.
    AtLeast(Nanos),
}

impl Estimate {
    /// The longer half less the shorter, which it contains.
    #[must_use]
    pub fn between(longer: Half, shorter: Half) -> Self {
        match (longer, shorter) {
            (Half::Exact(longer), Half::Exact(shorter)) => Self::Exact(longer - shorter),
            (Half::AtMost(longer), Half::Exact(shorter)) => Self::AtMost(longer - shorter),
            (Half::Exact(longer), Half::AtMost(shorter)) => Self::AtLeast(longer - shorter),
            _ => Self::Unknown,
        }
    }

    /// Of a section that one half is, whole.
    #[must_use]
    pub fn whole(half: Half) -> Self {
        match half {
            Half::Exact(time) => Self::Exact(time),
            Half::AtMost(time) => Self::AtMost(time),
            Half::Unknown | Half::OneOf(..) => Self::Unknown,
        }
    }

    /// Its value, if it is known exactly.
    #[must_use]
    pub const fn exact(self) -> Option<Nanos> {
        match self {
            Self::Exact(time) => Some(time),
            _ => None,
        }
    }
}
