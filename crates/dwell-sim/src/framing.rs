//! What a link sends around a packet.

use dwell_core::Bytes;
use dwell_core::unit::{ETHERNET_MIN, INTER_FRAME_GAP};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What goes around a packet on a link.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// A frame has at least 64 bytes, 72 with its preamble, and a gap of 12 bytes follows it.
    #[default]
    Ethernet,
    /// The packet alone.
    None,
}

impl Framing {
    /// Bytes from a packet's first bit to its last.
    #[must_use]
    pub fn padded(self, size: Bytes) -> Bytes {
        match self {
            Self::Ethernet => size.max(ETHERNET_MIN),
            Self::None => size,
        }
    }

    /// What must pass between one packet's last bit and the next one's first.
    #[must_use]
    pub fn gap(self) -> Bytes {
        match self {
            Self::Ethernet => INTER_FRAME_GAP,
            Self::None => Bytes(0),
        }
    }

    /// All that a packet takes of the link.
    #[must_use]
    pub fn occupied(self, size: Bytes) -> Bytes {
        self.padded(size) + self.gap()
    }
}
