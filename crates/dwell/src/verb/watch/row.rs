//! A connection as every output tells it.

use dwell_core::tcp::{Ending, Flags, Half, Handshake, Quality};
use serde::{Serialize, Serializer};
use std::net::IpAddr;

/// A connection as every output tells it: what is not known is `None`.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) probe: &'a str,
    pub(super) client: IpAddr,
    pub(super) client_port: u16,
    pub(super) server: IpAddr,
    pub(super) server_port: u16,
    pub(super) isn_client: u32,
    pub(super) isn_server: Option<u32>,
    pub(super) t_syn_ns: Option<i64>,
    pub(super) server_half_ns: Option<i64>,
    pub(super) client_half_ns: Option<i64>,
    pub(super) rtt_ns: Option<i64>,
    pub(super) quality: Quality,
    pub(super) flags: Flags,
    pub(super) ending: Ending,
    pub(super) t_first_ns: i64,
    pub(super) syns: u16,
    pub(super) syn_acks: u16,
    pub(super) server_half_quality: Sure,
    pub(super) client_half_quality: Sure,
    pub(super) rtt_quality: Sure,
    pub(super) server_half_candidates_ns: Option<[i64; 2]>,
    pub(super) client_half_candidates_ns: Option<[i64; 2]>,
    pub(super) rtt_candidates_ns: Option<[i64; 2]>,
}

/// How sure a half is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    Exact,
    AtMost,
    OneOf,
    Unknown,
}

impl Sure {
    pub(super) const fn of(half: Half) -> Self {
        match half {
            Half::Exact(_) => Self::Exact,
            Half::AtMost(_) => Self::AtMost,
            Half::OneOf(..) => Self::OneOf,
            Half::Unknown => Self::Unknown,
        }
    }

    /// Its name in every output.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtMost => "at-most",
            Self::OneOf => "one-of",
            Self::Unknown => "unknown",
        }
    }
}

impl Serialize for Sure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

fn value(half: Half) -> Option<i64> {
    half.value().map(|value| value.0)
}

const fn candidates(half: Half) -> Option<[i64; 2]> {
    match half {
        Half::OneOf(one, other) => Some([one.0, other.0]),
        _ => None,
    }
}

impl<'a> Row<'a> {
    /// Of a handshake seen at `probe`.
    pub(super) fn of(probe: &'a str, handshake: &Handshake) -> Self {
        let Handshake { client, server, server_half, client_half, total, .. } = *handshake;
        Self {
            probe,
            client: client.address,
            client_port: client.port,
            server: server.address,
            server_port: server.port,
            isn_client: handshake.isn_client,
            isn_server: handshake.isn_server,
            t_syn_ns: handshake.syn_at.map(|at| at.0),
            server_half_ns: value(server_half),
            client_half_ns: value(client_half),
            rtt_ns: value(total),
            quality: handshake.quality(),
            flags: handshake.flags,
            ending: handshake.ending,
            t_first_ns: handshake.first_at.0,
            syns: handshake.syns,
            syn_acks: handshake.syn_acks,
            server_half_quality: Sure::of(server_half),
            client_half_quality: Sure::of(client_half),
            rtt_quality: Sure::of(total),
            server_half_candidates_ns: candidates(server_half),
            client_half_candidates_ns: candidates(client_half),
            rtt_candidates_ns: candidates(total),
        }
    }
}
