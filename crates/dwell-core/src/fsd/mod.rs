//! `fsd`: how long a router takes to make an ICMP time-exceeded message, beyond what it takes to forward a packet, as
//! published by Govindan and Paxson, 'Estimating Router ICMP Generation Delays', PAM 2002: the fast-path/slow-path
//! discriminator.
//!
//! Towards a destination go two probes: a *direct* one, which reaches it, and a *hop-limited* one, which expires at the
//! router. The source address of both is the destination's, so the router's message travels on to the destination as
//! the direct probe does. One tap on the source's side of the router stamps both probes (`left`), one on the
//! destination's side the direct probe and the message (`arrived`):
//!
//! generation - forwarding = (arrived - left) of the hop-limited - (arrived - left) of the direct.
//!
//! Each bracket holds the offset between the two taps' clocks, so the difference holds none of it; and where all
//! packets are of one size, none of the links' rates.
//!
//! [`Tap`] hears the packets at one place, [`cross()`] brings two places together, [`report`] says what that tells.

mod cross;
mod estimate;
mod probe;
mod tap;

pub use cross::{Crossed, Tally, cross};
pub use estimate::{beyond_fastest, report};
pub use probe::{Exceeded, Marks, Probe};
pub use tap::Tap;

use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Its published name.
pub const NAME: &str = "fsd";

/// The most pairs of one run: each has two of the sequence numbers, the last of which is the scout's.
pub const MOST_PAIRS: u16 = 32_767;

/// A probe from one tap to the other. The two clocks may have nothing to do with each other.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// When it passed the tap on the source's side, on that tap's clock.
    pub left: Nanos,
    /// When it, or what the router made of it, passed the tap on the destination's side, on that tap's clock.
    pub arrived: Nanos,
    /// Its size on the wire where it left.
    pub sent: Bytes,
    /// The size on the wire of what arrived.
    pub received: Bytes,
}

impl Crossing {
    /// From the one tap to the other, the offset between their clocks in it.
    #[must_use]
    pub fn apart(&self) -> Nanos {
        self.arrived - self.left
    }
}

/// A direct probe and the hop-limited one beside it, whichever left first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The one that was forwarded.
    pub direct: Crossing,
    /// The one of which the router made its message.
    pub limited: Crossing,
}
