//! A record as both back ends keep it: numbers, the two ends in one text of bytes, and marks.

use super::Span;
use dwell_core::Nanos;
use dwell_core::tcp::section::{Ends, Sight};
use dwell_core::tcp::{Endpoint, Flags, Half, Handshake, Quality};
use std::net::{IpAddr, Ipv6Addr};

/// How many bytes the ends take: two addresses as IPv6, each with its port, and both initial sequence numbers, in the
/// order of the network.
pub(super) const ENDS: usize = 44;

/// What stands where a time is not known.
const UNKNOWN: i64 = -1;

/// A record, column by column.
pub(super) struct Row {
    pub(super) key: i64,
    /// 0 where the server's number is not known: nothing joins such a record.
    pub(super) isn_key: i64,
    pub(super) ends: [u8; ENDS],
    pub(super) first_at: i64,
    pub(super) syn_at: i64,
    /// What is known of it, bit by bit; never 0, so that a probe which saw nothing stands out.
    pub(super) marks: i64,
    pub(super) flags: i64,
    pub(super) server: [i64; 2],
    pub(super) client: [i64; 2],
    pub(super) total: [i64; 2],
    pub(super) syns: u16,
    pub(super) syn_acks: u16,
}

impl Row {
    pub(super) fn of(record: &Handshake) -> Self {
        let (server, client, total) = (record.server_half, record.client_half, record.total);
        let marks = 1
            | kind(server) << 1
            | kind(client) << 3
            | kind(total) << 5
            | (record.quality() as i64) << 7
            | i64::from(record.syn_acks.min(COUNTED)) << 10;
        Self {
            key: record.key().0 as i64,
            isn_key: record.isn_key().map_or(0, |key| key.0 as i64),
            ends: pack(record),
            first_at: record.first_at.0,
            syn_at: record.syn_at.map_or(UNKNOWN, |at| at.0),
            marks,
            flags: record.flags.bits().into(),
            server: times(server),
            client: times(client),
            total: times(total),
            syns: record.syns,
            syn_acks: record.syn_acks,
        }
    }
}

fn kind(half: Half) -> i64 {
    match half {
        Half::Unknown => 0,
        Half::Exact(_) => 1,
        Half::AtMost(_) => 2,
        Half::OneOf(..) => 3,
    }
}

fn times(half: Half) -> [i64; 2] {
    match half {
        Half::Unknown => [UNKNOWN; 2],
        Half::Exact(time) | Half::AtMost(time) => [time.0, UNKNOWN],
        Half::OneOf(one, two) => [one.0, two.0],
    }
}

/// So many SYN/ACKs are counted in the marks.
const COUNTED: u16 = 0x3ff;

/// Marks are less than this. A time of an hour and marks are one number of 63 bits, as are such a time and flags.
pub(super) const MARKS: i64 = 1 << 20;

/// Flags are less than this.
pub(super) const FLAGS: i64 = 1 << 20;

/// What a probe saw, out of its server half with marks and its client half with flags, each time above the other and
/// one more than it is; `None` where it saw nothing, or what this version does not know.
pub(super) fn sight(probe: usize, server: i64, client: i64) -> Option<Sight> {
    if server <= 0 || client < 0 {
        return None;
    }
    let (server, marks) = (server / MARKS - 1, server % MARKS);
    let (client, flags) = (client / FLAGS - 1, client % FLAGS);
    let half = |shift: u32, time: i64| match marks >> shift & 3 {
        1 => Half::Exact(Nanos(time)),
        2 => Half::AtMost(Nanos(time)),
        // One of two is withheld.
        _ => Half::Unknown,
    };
    Some(Sight {
        probe,
        server: half(1, server),
        client: half(3, client),
        quality: *Quality::ALL.get((marks >> 7 & 7) as usize)?,
        flags: Flags::from_bits(u32::try_from(flags).ok()?)?,
        syn_acks: u16::try_from(marks >> 10).ok()?,
    })
}

/// Records without the server's number that begin in a span, each once: a condition and what they are grouped by.
pub(super) fn lone(span: Span) -> String {
    let (from, until) = (span.from.0.max(-i64::MAX), span.until.0);
    format!("isn_key = 0 AND first_at >= {from} AND first_at < {until} GROUP BY key, probe, first_at")
}

fn pack(record: &Handshake) -> [u8; ENDS] {
    let mut bytes = [0; ENDS];
    bytes[..16].copy_from_slice(&record.client.octets());
    bytes[16..18].copy_from_slice(&record.client.port.to_be_bytes());
    bytes[18..34].copy_from_slice(&record.server.octets());
    bytes[34..36].copy_from_slice(&record.server.port.to_be_bytes());
    bytes[36..40].copy_from_slice(&record.isn_client.to_be_bytes());
    bytes[40..].copy_from_slice(&record.isn_server.unwrap_or(0).to_be_bytes());
    bytes
}

/// The ends out of their bytes; `None` when these are too few or too many.
pub(super) fn ends(bytes: &[u8]) -> Option<Ends> {
    let bytes: &[u8; ENDS] = bytes.try_into().ok()?;
    let endpoint = |at: usize| {
        let octets: [u8; 16] = bytes[at..at + 16].try_into().ok()?;
        let address: IpAddr = Ipv6Addr::from(octets).to_canonical();
        Some(Endpoint { address, port: u16::from_be_bytes([bytes[at + 16], bytes[at + 17]]) })
    };
    let number = |at: usize| Some(u32::from_be_bytes(bytes[at..at + 4].try_into().ok()?));
    Some(Ends {
        client: endpoint(0)?,
        server: endpoint(18)?,
        isn_client: number(36)?,
        isn_server: number(40)?,
    })
}
