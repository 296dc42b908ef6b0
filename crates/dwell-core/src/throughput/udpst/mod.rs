//! `udpst`: the maximum IP-layer capacity of RFC 9097, and the protocol in which the Broadband Forum's open server
//! speaks of it (RFC 9946, UDPSTP, protocol version 20).
//!
//! One end sends load at a row of a table of rates, the other tells every 50 ms what came, and the server moves the row:
//! up while nothing is lost and no queue grows, down where they do ([`search`]). The capacity is the most IP that arrived
//! in one sub-interval ([`account`]). Nothing here sends: the PDUs are bytes, and times come in.

pub mod account;
mod activation;
mod algorithm;
pub mod capacity;
mod load;
pub mod rates;
pub mod search;
mod setup;
mod status;
mod trains;
mod wire;

pub use activation::{Activation, Parameters};
pub use algorithm::Algorithm;
pub use load::Load;
pub use setup::{Answer, Null, Setup};
pub use status::{Status, SubInterval, Trial};
pub use trains::over_trains;
pub use wire::{Auth, Garbage, PROTOCOL, Stamp, sealed_part, set_digest};

/// Port of control, where nobody says otherwise (RFC 9946; servers before release 9 listen on 25000).
pub const PORT: u16 = 24_601;

/// What both ends say of a test under way.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// It goes on.
    #[default]
    Test,
    /// It ends: 1 and 2 on the wire mean the same to who hears it.
    Stop,
}

impl Action {
    const fn code(self) -> u8 {
        match self {
            Self::Test => 0,
            Self::Stop => 2,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Test),
            1 | 2 => Some(Self::Stop),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
