//! What a reader of any format finds in the bytes: records, and the packets in them.

use super::{Captured, LinkType};

/// A record is at most so long.
pub(super) const LARGEST_RECORD: usize = 1 << 24;

/// The order of bytes in a capture, which is that of the machine that wrote it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    #[inline]
    pub(super) const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    #[inline(always)]
    pub(super) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    /// The word that begins at `at` of bytes that are long enough.
    #[inline(always)]
    pub(super) fn word(self, bytes: &[u8], at: usize) -> u32 {
        self.u32([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }
}

/// Where in the bytes a packet was found.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) at: i128,
    pub(super) link: LinkType,
    /// Its first byte.
    pub(super) from: usize,
    /// Behind its last.
    pub(super) to: usize,
    pub(super) length: u32,
}

impl Found {
    /// The packet in the bytes that it was found in.
    #[inline(always)]
    pub(super) fn within(self, bytes: &[u8]) -> Captured<'_> {
        let Self { at, link, from, to, length } = self;
        Captured { at, link, bytes: &bytes[from..to], length }
    }

    /// The same seen from so many bytes before.
    #[inline(always)]
    pub(super) const fn behind(self, bytes: usize) -> Self {
        Self { from: bytes + self.from, to: bytes + self.to, ..self }
    }
}

/// What the next bytes of a capture are.
#[derive(Copy, Clone, Debug)]
pub(super) enum Record {
    /// A packet, in the first so many bytes.
    Packet(Found, usize),
    /// Nothing of interest, in the first so many bytes.
    Other(usize),
    /// A packet whose time was not recorded, or is none, in the first so many bytes.
    Timeless(usize),
    /// So many bytes are needed to tell.
    Needs(usize),
    /// No record.
    Damaged,
}

/// Nanoseconds since the epoch, of whole seconds and a fraction in units of so many nanoseconds. `None` for a second and more: whoever
/// wrote that means another unit, or something else.
#[inline(always)]
pub(super) fn instant(seconds: u32, fraction: u32, unit: i64) -> Option<i128> {
    const SECOND: i64 = 1_000_000_000;
    let within = i64::from(fraction) * unit;
    (within < SECOND).then(|| i128::from(i64::from(seconds) * SECOND + within))
}
