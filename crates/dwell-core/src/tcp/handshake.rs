//! What one probe saw of one connection's handshake.

use super::{ConnectionKey, Endpoint, Flags, Half, IsnKey, Quality};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// What one probe saw of one connection's handshake.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Who opened it.
    pub client: Endpoint,
    /// Who was asked.
    pub server: Endpoint,
    /// The client's initial sequence number.
    pub isn_client: u32,
    /// The server's; `None` when nothing seen here tells it.
    pub isn_server: Option<u32>,
    /// When the first of its segments passed that was seen here, since the epoch of the probe's clock.
    pub first_at: Nanos,
    /// When its (first) SYN passed; `None` when none was seen here.
    pub syn_at: Option<Nanos>,
    /// `S`: from the probe to the server and back (papers/003: t_synack - t_syn). Of a refused one, until the refusal.
    pub server_half: Half,
    /// `C`: from the probe to the client and back (papers/003: t_ack - t_synack).
    pub client_half: Half,
    /// From client to server and back. The sum of the halves, or, where one direction alone was seen, from SYN to ACK.
    pub total: Half,
    /// How it ended.
    pub ending: Ending,
    /// SYNs seen, with their repetitions.
    pub syns: u16,
    /// SYN/ACKs seen, with their repetitions.
    pub syn_acks: u16,
    /// What was peculiar about it.
    pub flags: Flags,
}

/// How a handshake ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The client acknowledged the server's SYN.
    Established,
    /// By an RST, or an ICMP message.
    Refused,
    /// The rest never passed, or was given up.
    Unfinished,
}

impl Ending {
    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::Refused => "refused",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Handshake {
    /// How far its figures can be trusted.
    #[must_use]
    pub fn quality(&self) -> Quality {
        match (self.ending, self.server_half, self.client_half) {
            (Ending::Refused, ..) => Quality::Refused,
            (Ending::Unfinished, ..) => Quality::Unfinished,
            (_, Half::OneOf(..), _) | (_, _, Half::OneOf(..)) => Quality::Ambiguous,
            (_, Half::Unknown, Half::Unknown) if self.total != Half::Unknown => Quality::TotalOnly,
            (_, Half::Unknown, _) | (_, _, Half::Unknown) => Quality::Unfinished,
            (_, Half::AtMost(_), _) | (_, _, Half::AtMost(_)) => Quality::UpperBound,
            (_, Half::Exact(_), Half::Exact(_)) => Quality::Exact,
        }
    }

    /// What names this connection wherever it passes unchanged.
    #[must_use]
    pub fn key(&self) -> ConnectionKey {
        ConnectionKey::of(self)
    }

    /// What names it where addresses and ports are rewritten; `None` without the server's number.
    #[must_use]
    pub fn isn_key(&self) -> Option<IsnKey> {
        IsnKey::of(self)
    }
}
