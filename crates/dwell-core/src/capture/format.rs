//! Which format a capture has.

use super::erf::Erf;
use super::pcap::Pcap;
use super::pcapng::{Pcapng, Plain};
use super::record::Record;
use super::snoop::Snoop;
use super::{Captured, ReadError};

/// A format, with what it has said of the packets that follow.
#[derive(Debug)]
pub(super) enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
    Erf(Erf),
}

/// A format whose packets are read one behind the other, as long as they are what nearly all are.
#[derive(Copy, Clone, Debug)]
pub(super) enum Usual {
    Pcap(Pcap),
    Pcapng(Plain),
}

impl Usual {
    /// The packet that `bytes` begin with, if it is such a one, and what is behind it.
    #[inline(always)]
    pub(super) fn packet<'a>(&self, bytes: &'a [u8]) -> Option<(Captured<'a>, &'a [u8])> {
        match self {
            Self::Pcap(pcap) => pcap.usual().packet(bytes),
            Self::Pcapng(plain) => plain.packet(bytes),
        }
    }
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

    /// What most packets that follow are, if they can be read so.
    pub(super) fn usual(&self) -> Option<Usual> {
        match self {
            Self::Pcap(pcap) => (pcap.usual() == *pcap).then_some(Usual::Pcap(*pcap)),
            Self::Pcapng(pcapng) => pcapng.plain().map(Usual::Pcapng),
            Self::Snoop(_) | Self::Erf(_) => None,
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
