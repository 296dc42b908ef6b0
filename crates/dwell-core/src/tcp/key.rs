//! What names a connection at every probe that sees it.

use super::{Endpoint, Handshake};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// A stable hash of a connection's two ends and of the initial sequence numbers of both: the same at every probe, on
/// every machine, in every version.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionKey(pub u64);

/// A stable hash of the two initial sequence numbers alone: what NAT does not change, as a rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IsnKey(pub u64);

impl ConnectionKey {
    /// Of the connection that was opened by this handshake. Without the server's number the key is another one: such a
    /// record joins with none.
    #[must_use]
    pub(crate) fn of(handshake: &Handshake) -> Self {
        let mut hasher = SipHasher24::new();
        let end = |hasher: &mut SipHasher24, end: &Endpoint| {
            hasher.write(&end.octets());
            hasher.write(&end.port.to_be_bytes());
        };
        end(&mut hasher, &handshake.client);
        end(&mut hasher, &handshake.server);
        hasher.write(&handshake.isn_client.to_be_bytes());
        if let Some(isn) = handshake.isn_server {
            hasher.write(&isn.to_be_bytes());
        }
        Self(hasher.finish())
    }
}

impl IsnKey {
    pub(crate) fn of(handshake: &Handshake) -> Option<Self> {
        Some(Self::of_pair(handshake.isn_client, handshake.isn_server?))
    }

    /// Of the client's number and the server's.
    #[must_use]
    pub fn of_pair(isn_client: u32, isn_server: u32) -> Self {
        let mut hasher = SipHasher24::new();
        hasher.write(&isn_client.to_be_bytes());
        hasher.write(&isn_server.to_be_bytes());
        Self(hasher.finish())
    }
}
