//! The kinds of links that captures are taken of.

use crate::unit::Bytes;
use std::fmt;

/// A link type by its number in the registry of pcap.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub i32);

/// Where the IP packet begins in what was captured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Behind an Ethernet header, VLAN tags and all.
    Ethernet,
    /// Behind so many bytes that tell nothing of use here.
    Bare(usize),
}

impl LinkType {
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);

    /// Bare IP of either version.
    pub const RAW: Self = Self(101);

    /// How its packets begin; `None` for links that are not known here.
    pub(crate) const fn framing(self) -> Option<Framing> {
        Some(match self.0 {
            1 => Framing::Ethernet,
            // Bare IP in its several numbers, BSD's loopback, Linux's cooked capture of both versions.
            12 | 14 | 101 | 228 | 229 => Framing::Bare(0),
            0 | 108 => Framing::Bare(4),
            113 => Framing::Bare(16),
            276 => Framing::Bare(20),
            _ => return None,
        })
    }

    /// What a packet of `length` in the capture takes of an Ethernet wire: the header that the capture holds goes,
    /// and 26 bytes of preamble, header and check sequence come. Of links that are not known, only the length is
    /// used, as if it were Ethernet's.
    #[must_use]
    pub fn on_wire(self, length: u32) -> Bytes {
        let header = match self.framing() {
            Some(Framing::Bare(header)) => header as u32,
            Some(Framing::Ethernet) | None => 14,
        };
        Bytes(u64::from(length.saturating_sub(header).saturating_add(26)))
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("Ethernet"),
            12 | 14 | 101 | 228 | 229 => f.write_str("bare IP"),
            0 | 108 => f.write_str("BSD loopback"),
            113 => f.write_str("Linux cooked"),
            276 => f.write_str("Linux cooked, version 2"),
            105 | 127 => f.write_str("Wi-Fi"),
            number => write!(f, "link type {number}"),
        }
    }
}
