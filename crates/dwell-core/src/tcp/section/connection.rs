//! A connection as several probes saw it.

use crate::tcp::{Endpoint, Flag, Flags, Half, Handshake, IsnKey, Quality};
use crate::unit::Nanos;

/// Who spoke with whom: what the key of a connection is made of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Who opened it.
    pub client: Endpoint,
    /// Who was asked.
    pub server: Endpoint,
    /// The client's initial sequence number.
    pub isn_client: u32,
    /// The server's.
    pub isn_server: u32,
}

impl Ends {
    /// Of a handshake; `None` without the server's number: such a one joins with no other.
    #[must_use]
    pub fn of(handshake: &Handshake) -> Option<Self> {
        let Handshake { client, server, isn_client, isn_server, .. } = *handshake;
        Some(Self { client, server, isn_client, isn_server: isn_server? })
    }

    /// What names the connection where addresses are rewritten.
    #[must_use]
    pub fn isn_key(&self) -> IsnKey {
        IsnKey::of_pair(self.isn_client, self.isn_server)
    }
}

/// What one probe saw of a connection, as far as sections need it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Which probe, by its place in a list of them.
    pub probe: usize,
    /// `S`, unless it is ambiguous: then it is withheld, and [`Self::quality`] says so.
    pub server: Half,
    /// `C`, likewise.
    pub client: Half,
    /// How far its record can be trusted.
    pub quality: Quality,
    /// What was peculiar about it.
    pub flags: Flags,
    /// SYN/ACKs that it saw.
    pub syn_acks: u16,
}

impl Sight {
    /// Of a probe's record.
    #[must_use]
    pub fn of(probe: usize, handshake: &Handshake) -> Self {
        let certain = |half| if matches!(half, Half::OneOf(..)) { Half::Unknown } else { half };
        Self {
            probe,
            server: certain(handshake.server_half),
            client: certain(handshake.client_half),
            quality: handshake.quality(),
            flags: handshake.flags,
            syn_acks: handshake.syn_acks,
        }
    }
}

/// A connection, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Who spoke with whom; where NAT is between the probes, each end as the probe next to it has it.
    pub ends: Ends,
    /// When it was seen first, by the clock of whoever says earliest.
    pub first_at: Nanos,
    /// What was seen, in the order of the list of probes; no probe twice.
    pub sights: Vec<Sight>,
}

impl Connection {
    /// What this probe saw of it.
    #[must_use]
    pub fn by(&self, probe: usize) -> Option<&Sight> {
        self.sights.iter().find(|sight| sight.probe == probe)
    }

    /// Whether both ends sent a SYN: then neither is the client.
    pub(super) fn both_opened(&self) -> bool {
        self.sights.iter().any(|sight| sight.flags.has(Flag::SimultaneousOpen))
    }
}
