//! How a NIC hands packets on: the kinds of interrupt coalescence, as an observer can tell them apart.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a NIC, or the kernel above it, gathers packets before it hands them on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Each packet is handed on at once.
    None,
    /// The first packet starts a timer; all that came are handed on when it runs out.
    Hold,
    /// The first packet is handed on at once, the next ones when a period is over.
    Throttle,
    /// A throttle whose period follows the packet rate.
    Adaptive,
    /// A throttle that goes on polling for several periods after the last packet (deferred NAPI interrupts).
    Deferred,
}

impl Kind {
    /// Every kind; a finding of [`Unit::Kind`](crate::Unit::Kind) is a place in here.
    pub const ALL: [Self; 5] = [Self::None, Self::Hold, Self::Throttle, Self::Adaptive, Self::Deferred];

    /// The name in JSON and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hold => "hold",
            Self::Throttle => "throttle",
            Self::Adaptive => "adaptive",
            Self::Deferred => "deferred",
        }
    }

    /// Its place in [`Kind::ALL`], as findings carry it.
    #[must_use]
    pub fn code(self) -> f64 {
        f64::from(self as u8)
    }

    /// The kind at a place in [`Kind::ALL`].
    #[must_use]
    pub fn of_code(code: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What other methods must know of coalescence: how long a packet of a pair may be held after a rest.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalesced {
    /// How.
    pub kind: Kind,
    /// At most so long; of [`Kind::None`] what could not be seen, because it would be too short.
    pub period: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_places() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.code(), place as f64);
            assert_eq!(Kind::of_code(kind.code()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(Kind::of_code(5.0), None);
    }
}
