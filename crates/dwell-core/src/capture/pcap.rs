//! The format of libpcap, in its several versions.

use super::record::{Found, LARGEST_RECORD, Order, Record, instant};
use super::{Captured, LinkType, ReadError};

/// Bytes of a record that are looked at.
const LOOKED_AT: usize = 16;

/// What the header of a file says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Pcap {
    order: Order,
    link: LinkType,
    /// Nanoseconds in a unit of the second field of times.
    unit: i64,
    /// Bytes of a record's header.
    header: usize,
    /// Before version 2.4 the two lengths of a packet had changed places, or may have.
    may_be_swapped: bool,
}

impl Pcap {
    pub(super) const HEADER: usize = 24;

    /// `None`: not by its first four bytes.
    pub(super) fn of(start: &[u8]) -> Result<Option<Self>, ReadError> {
        let Some(magic) = start.first_chunk().copied() else { return Err(ReadError::NoCapture) };
        let known = [Order::Little, Order::Big].into_iter().find_map(|order| match order.u32(magic) {
            0xa1b2_c3d4 => Some((order, 1_000, 16)),
            0xa1b2_3c4d => Some((order, 1, 16)),
            // Kuznetzov's: the interface, the protocol and the direction follow.
            0xa1b2_cd34 => Some((order, 1_000, 24)),
            _ => None,
        });
        let Some((order, unit, header)) = known else { return Ok(None) };
        let start = start.get(..Self::HEADER).ok_or(ReadError::NoCapture)?;
        let version = (order.u16([start[4], start[5]]), order.u16([start[6], start[7]]));
        // The upper half tells of a check sequence, not of the link.
        let link = LinkType((order.word(start, 20) & 0xffff) as i32);
        // 543 is DG/UX's.
        let may_be_swapped = version < (2, 4) || version.0 == 543;
        Ok(Some(Self { order, link, unit, header, may_be_swapped }))
    }

    /// As nearly all are written: with what is known of those in the place of what was read, so that it is not asked for each packet.
    #[inline(always)]
    pub(super) const fn usual(self) -> Self {
        Self { order: Order::Little, header: LOOKED_AT, may_be_swapped: false, ..self }
    }

    /// The packet that `bytes` begin with, if it is there whole and some of it was kept, and what is behind it.
    #[inline(always)]
    pub(super) fn packet<'a>(&self, bytes: &'a [u8]) -> Option<(Captured<'a>, &'a [u8])> {
        match self.record(bytes) {
            Record::Packet(found, _) if found.from < found.to => {
                Some((found.within(bytes), &bytes[found.to..]))
            }
            _ => None,
        }
    }

    /// What `bytes` begin with.
    #[inline(always)]
    pub(super) fn record(&self, bytes: &[u8]) -> Record {
        // No more than that, even of longer headers: however the bytes come, the same is found.
        let Some(head) = bytes.first_chunk::<LOOKED_AT>() else { return Record::Needs(LOOKED_AT) };
        let word = |at: usize| self.order.word(head, at);
        let (seconds, fraction, mut kept, mut length) = (word(0), word(4), word(8), word(12));
        if self.may_be_swapped {
            (kept, length) = in_order(kept, length);
        }
        let to = self.header + kept as usize;
        if to > LARGEST_RECORD {
            return Record::Damaged;
        }
        if bytes.len() < to {
            return Record::Needs(to);
        }
        let Some(at) = instant(seconds, fraction, self.unit) else { return Record::Timeless(to) };
        Record::Packet(Found { at, link: self.link, from: self.header, to, length }, to)
    }
}

/// The lesser first. Seldom wanted: apart, so that it takes no steps of those who do not want it.
#[cold]
fn in_order(kept: u32, length: u32) -> (u32, u32) {
    (kept.min(length), kept.max(length))
}
