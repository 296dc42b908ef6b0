//! Which format a capture has, and where its records begin and end.

use super::erf::Erf;
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::snoop::Snoop;
use super::{LinkType, ReadError};

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
    /// A packet whose time was not recorded, in the first so many bytes.
    Timeless(usize),
    /// So many bytes are needed to tell.
    Needs(usize),
    /// No record.
    Damaged,
}

/// A format, with what it has said of the packets that follow.
#[derive(Debug)]
pub(super) enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
    Erf(Erf),
}

/// Bytes that suffice to tell a format by that has a header, and one that has none.
pub(super) const START: [usize; 2] = [Pcap::HEADER, 1 << 16];

impl Default for Format {
    /// That of a capture that is still to be looked at.
    fn default() -> Self {
        Self::Pcapng(Pcapng::default())
    }
}

impl Format {
    /// The format of what begins with `start`, or is that and no more, and the length of its header.
    pub(super) fn of(start: &[u8], is_all: bool) -> Result<(Self, usize), ReadError> {
        match start {
            [] => Err(ReadError::Empty),
            [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0xfd, b'7', b'z', b'X', ..]
            | [b'B', b'Z', b'h', ..] => Err(ReadError::Compressed),
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => Ok((Self::Pcapng(Pcapng::default()), 0)),
            [b's', b'n', b'o', b'o', b'p', 0, 0, 0, ..] => {
                Snoop::of(start).map(|snoop| (Self::Snoop(snoop), Snoop::HEADER))
            }
            _ => match Pcap::of(start)? {
                Some(pcap) => Ok((Self::Pcap(pcap), Pcap::HEADER)),
                None if Erf::suits(start, is_all) => Ok((Self::Erf(Erf), 0)),
                None => Err(ReadError::NoCapture),
            },
        }
    }

    /// What `bytes` begin with.
    pub(super) fn record(&mut self, bytes: &[u8]) -> Record {
        match self {
            Self::Pcap(pcap) => pcap.record(bytes),
            Self::Pcapng(pcapng) => pcapng.record(bytes),
            Self::Snoop(snoop) => snoop.record(bytes),
            Self::Erf(erf) => erf.record(bytes),
        }
    }
}
