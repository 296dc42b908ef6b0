//! What is said on the control channel about connections for data.

use crate::protocol::{Limits, Refusal};
use dwell_core::throughput::{Connection, ReceiverSample, SenderSample};
use dwell_core::{Bytes, Direction, Nanos};
use serde::{Deserialize, Serialize};

/// Connections that are about to be opened, and what is to happen on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What each begins with.
    pub token: [u8; 16],
    /// Which way the data goes.
    pub direction: Direction,
    /// How many.
    pub connections: u32,
    /// How long the receiver counts, from the first byte on.
    pub duration: Nanos,
    /// Congestion control of the sender; `None`: its host's own choice.
    pub congestion: Option<String>,
    /// Whether the receiver sizes its window by SOBAS.
    pub autotune: bool,
    /// The window that the receiver offers from the beginning; `None`: its kernel's own choice.
    pub window: Option<Bytes>,
}

/// What one end saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Side {
    /// The sending end.
    Sender {
        /// Look by look.
        samples: Vec<SenderSample>,
        /// What the connections were.
        connection: Connection,
    },
    /// The receiving end.
    Receiver {
        /// Look by look.
        samples: Vec<ReceiverSample>,
    },
}

impl Order {
    /// Whether an agent with these limits does it.
    ///
    /// # Errors
    /// Says which limit it passes.
    pub fn admitted(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.connections == 0 || self.duration <= Nanos::ZERO {
            return Err(Refusal::Nonsense("no connections, or no time for them".to_owned()));
        }
        if self.connections > limits.streams {
            let (asked, most) = (self.connections, limits.streams);
            return Err(Refusal::Load(format!("{asked} TCP connections at a time; at most {most}")));
        }
        if self.duration > limits.fleet_duration {
            let (asked, most) = (self.duration, limits.fleet_duration);
            return Err(Refusal::Load(format!("TCP connections for {asked}; at most {most}")));
        }
        Ok(())
    }
}
