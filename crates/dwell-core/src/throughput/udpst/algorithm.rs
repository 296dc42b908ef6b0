//! By which algorithm the rate is searched.

use serde::{Deserialize, Serialize};

/// How the rate is moved.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Fast steps of fixed length until there was trouble, then slow ones.
    #[default]
    B,
    /// Multiply, and try again.
    C,
}

impl Algorithm {
    /// On the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::B => 0,
            Self::C => 1,
        }
    }

    /// From the wire.
    #[must_use]
    pub const fn of(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::B),
            1 => Some(Self::C),
            _ => None,
        }
    }
}
