//! The format of Solaris' snoop (RFC 1761), in which all numbers are big endian.

use super::record::{Found, LARGEST_RECORD, Order, Record, instant};
use super::{LinkType, ReadError};

/// What the header of a file says.
#[derive(Copy, Clone, Debug)]
pub(super) struct Snoop {
    link: LinkType,
}

impl Snoop {
    pub(super) const HEADER: usize = 16;
    const RECORD: usize = 24;

    pub(super) fn of(start: &[u8]) -> Result<Self, ReadError> {
        let start = start.get(..Self::HEADER).ok_or(ReadError::NoCapture)?;
        let link = match Order::Big.word(start, 12) {
            0 | 4 => LinkType::ETHERNET,
            2 => LinkType(6),
            8 => LinkType(10),
            // None of pcap's numbers is negative.
            other => LinkType(-(other as u16 as i32) - 1),
        };
        Ok(Self { link })
    }

    pub(super) fn record(self, bytes: &[u8]) -> Record {
        let Some(head) = bytes.first_chunk::<{ Self::RECORD }>() else { return Record::Needs(Self::RECORD) };
        let word = |at: usize| Order::Big.word(head, at);
        let (length, kept, whole) = (word(0), word(4) as usize, word(8) as usize);
        let to = Self::RECORD + kept;
        if whole > LARGEST_RECORD || to > whole {
            return Record::Damaged;
        }
        if bytes.len() < whole {
            return Record::Needs(whole);
        }
        let Some(at) = instant(word(16), word(20), 1_000) else { return Record::Timeless(whole) };
        Record::Packet(Found { at, link: self.link, from: Self::RECORD, to, length }, whole)
    }
}
