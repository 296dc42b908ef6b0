//! The format of Endace's cards: records, and nothing to tell it by but that they are such.

use super::LinkType;
use super::record::{Found, Record};

/// The format has no header, and says nothing of packets to come.
#[derive(Copy, Clone, Debug)]
pub(super) struct Erf;

/// Link type of records with the card's own header.
const LINK: LinkType = LinkType(197);
const HEADER: usize = 16;
/// Kinds of records are numbered up to this.
const LAST_KIND: u8 = 33;
const PADDING: u8 = 48;

impl Erf {
    /// Whether what begins with `start`, or is that and no more, can be nothing else: its records are whole and in order of
    /// time, each with a kind and lengths that there are. One record alone is too little to go by, unless it is the whole file.
    pub(super) fn suits(start: &[u8], is_all: bool) -> bool {
        let (mut bytes, mut last, mut records) = (start, 0, 0);
        while let Record::Packet(found, length) = Self.record(bytes) {
            // A minute backwards, or a year ahead, is no order.
            let ahead = found.at - last;
            if last != 0 && !(-60_000_000_000..31_536_000_000_000_000).contains(&ahead) {
                return false;
            }
            (bytes, last, records) = (&bytes[length..], found.at, records + 1);
        }
        records >= 2 || records == 1 && is_all && bytes.is_empty()
    }

    pub(super) fn record(self, bytes: &[u8]) -> Record {
        let Some(head) = bytes.first_chunk::<HEADER>() else { return Record::Needs(HEADER) };
        let kind = head[8] & 0x7f;
        let length = usize::from(u16::from_be_bytes([head[10], head[11]]));
        if kind == 0 || kind > LAST_KIND && kind != PADDING || length < HEADER {
            return Record::Damaged;
        }
        if bytes.len() < length {
            return Record::Needs(length);
        }
        if kind == PADDING {
            return Record::Other(length);
        }
        // Seconds, and parts of 2^32 of one.
        let [a, b, c, d, e, f, g, h, ..] = *head;
        let time = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let at = i128::from(time >> 32) * 1_000_000_000
            + i128::from(((time & 0xffff_ffff) * 1_000_000_000 + (1 << 31)) >> 32);
        // What passed on the wire, behind this header and, of Ethernet, two bytes of padding.
        let wire = u32::from(u16::from_be_bytes([head[14], head[15]]));
        let ahead = HEADER as u32 + if kind == 2 { 2 } else { 0 };
        Record::Packet(Found { at, link: LINK, from: 0, to: length, length: wire + ahead }, length)
    }
}
