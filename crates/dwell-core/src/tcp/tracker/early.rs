//! What passes before it can be judged.

use crate::unit::Nanos;

/// What passes before it can be judged, or what ends a handshake.
#[derive(Copy, Clone, Debug)]
pub(super) struct Early {
    pub(super) at: Nanos,
    /// TSecr.
    pub(super) echo: Option<u32>,
    pub(super) acknowledgment: u32,
    pub(super) what: What,
}

/// What it was.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The client's first ACK, and nothing else.
    Ack,
    /// The client's first ACK with data.
    Data,
    /// A later one of the client's, without data.
    Later,
    /// What the server sends when it has had the ACK.
    Server,
    /// What refuses the SYN.
    Refusal,
    /// The client's RST.
    Reset,
    /// The client's SYN/ACK, in answer to the server's SYN.
    ClientCrosses,
    /// The server's SYN/ACK, where the server sent a SYN too.
    ServerCrosses,
}
