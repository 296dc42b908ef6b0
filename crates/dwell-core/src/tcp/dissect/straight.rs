//! The straight way to a segment, for what most frames are.

use super::rest::Rest;
use super::{Skipped, ip, tcp};
use crate::capture::{Captured, LinkType};
use crate::tcp::{FlowHash, FlowSeed, Glance, Segment};
use crate::unit::Nanos;

/// A frame that needs no walk through its layers: TCP in a whole packet of IPv4 without options or of IPv6 without
/// extension headers, on Ethernet with at most two tags, in Linux's cooked capture or bare, captured up to its control
/// bits.
#[derive(Copy, Clone, Debug)]
pub struct Straight<'a> {
    captured: Captured<'a>,
    /// Bytes of the link's header.
    before: usize,
    packet: Packet<'a>,
    /// The lower eight control bits of TCP.
    control: u8,
}

/// The headers as far as the control bits of TCP.
#[derive(Copy, Clone, Debug)]
enum Packet<'a> {
    V4(&'a [u8; 34]),
    V6(&'a [u8; 54]),
}

/// What is known of headers of version 4 that go this way: version and length, no part of a larger packet, TCP.
const PLAIN_V4: (u8, u8, u8, u8) = (0x45, 0, 0, TCP);

/// And of version 6: the version (what follows it in its byte is not looked at), TCP.
const PLAIN_V6: (u8, u8) = (0x60, TCP);

const TCP: u8 = 6;

/// SYN and RST.
const OF_INTEREST: u8 = 0x06;

#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// The type of an Ethernet frame, and the length of its header with its tags.
#[inline]
fn tagged(bytes: &[u8]) -> Option<(u16, usize)> {
    let mut header = 14;
    let mut kind = half(bytes, 12)?;
    while matches!(kind, 0x8100 | 0x88a8) && header < 22 {
        kind = half(bytes, header + 2)?;
        header += 4;
    }
    Some((kind, header))
}

/// The packet of a frame as nearly all are, Ethernet without tags and IPv4: what is asked of any is asked of these at once.
#[inline(always)]
fn usual<'a>(captured: &Captured<'a>) -> Option<&'a [u8; 34]> {
    let frame: &[u8; 48] = captured.bytes.first_chunk()?;
    let packet: &[u8; 34] = frame.last_chunk()?;
    (captured.link == LinkType::ETHERNET && frame[12..14] == [8, 0] && is_plain_v4(&packet)).then_some(packet)
}

impl<'a> Straight<'a> {
    /// The frame, if it is such a one.
    #[inline(always)]
    #[must_use]
    pub fn of(captured: &Captured<'a>) -> Option<Self> {
        match usual(captured) {
            Some(packet) => Some(Self {
                captured: *captured,
                before: 14,
                packet: Packet::V4(packet),
                control: packet[33],
            }),
            None => Self::of_any(captured),
        }
    }

    #[inline(always)]
    fn of_any(captured: &Captured<'a>) -> Option<Self> {
        let bytes = captured.bytes;
        let (kind, before) = match captured.link.0 {
            1 => tagged(bytes)?,
            113 => (half(bytes, 14)?, 16),
            276 => (half(bytes, 0)?, 20),
            12 | 101 => (if bytes.first()? >> 4 == 4 { ip::V4 } else { ip::V6 }, 0),
            _ => return None,
        };
        let (packet, control) = match kind {
            ip::V4 => {
                let packet = bytes.get(before..)?.first_chunk().filter(is_plain_v4)?;
                (Packet::V4(packet), packet[33])
            }
            ip::V6 => {
                let packet = bytes.get(before..)?.first_chunk().filter(is_plain_v6)?;
                (Packet::V6(packet), packet[53])
            }
            _ => return None,
        };
        Some(Self { captured: *captured, before, packet, control })
    }

    /// Whether it neither opens nor refuses a connection. Most frames of a capture are such, and most of them belong to
    /// connections whose handshake is over.
    #[inline]
    #[must_use]
    pub const fn is_midstream(&self) -> bool {
        self.control & OF_INTEREST == 0
    }

    /// Which way of which connection it goes, at a glance.
    #[inline(always)]
    #[must_use]
    pub fn glance(&self, seed: &FlowSeed) -> Glance {
        match self.packet {
            Packet::V4(packet) => {
                let addresses = u64::from(word(packet, 12)) << 32 | u64::from(word(packet, 16));
                seed.glance_v4(addresses, word(packet, 20))
            }
            Packet::V6(packet) => seed.glance_v6(address(packet, 8), address(packet, 24), word(packet, 40)),
        }
    }

    /// Which connection it belongs to.
    #[inline(always)]
    #[must_use]
    pub fn flow(&self, seed: &FlowSeed) -> FlowHash {
        let ports = |ports: u32| ((ports >> 16) as u16, ports as u16);
        match self.packet {
            Packet::V4(packet) => {
                let (port, other_port) = ports(word(packet, 20));
                seed.v4(word(packet, 12), port, word(packet, 16), other_port)
            }
            Packet::V6(packet) => {
                let (port, other_port) = ports(word(packet, 40));
                seed.v6(address(packet, 8), port, address(packet, 24), other_port)
            }
        }
    }

    /// The segment in it.
    ///
    /// # Errors
    /// Why it is of no use.
    #[inline(always)]
    pub fn segment(&self) -> Result<Segment, Skipped> {
        let at = super::time(self.captured.at)?;
        let frame = Rest::of(self.captured.bytes, self.captured.length as usize);
        self.read(at, frame).map_err(|reason| super::settled(reason, &frame))
    }

    #[inline(always)]
    fn read(&self, at: Nanos, frame: Rest<'_>) -> Result<Segment, Skipped> {
        let rest = frame.behind(self.before)?;
        // Each by itself: an address that may be of either version is slow to move.
        match self.packet {
            Packet::V4(packet) => {
                let mut header = first(packet);
                (header[0], header[6], header[7], header[9]) = PLAIN_V4;
                let (carried, rest) = ip::v4_with(header, rest)?;
                tcp::segment(at, &carried, rest)
            }
            Packet::V6(packet) => {
                let mut header = first(packet);
                (header[0], header[6]) = PLAIN_V6;
                let (carried, rest) = ip::v6_with(header, rest)?;
                tcp::segment(at, &carried, rest)
            }
        }
    }
}

/// The first bytes of headers.
#[inline(always)]
fn first<const N: usize, const ALL: usize>(headers: &[u8; ALL]) -> [u8; N] {
    const { assert!(N <= ALL, "no more than there are") };
    let mut first = [0; N];
    first.copy_from_slice(&headers[..N]);
    first
}

#[inline(always)]
const fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
fn address(bytes: &[u8; 54], at: usize) -> u128 {
    let mut octets = [0; 16];
    octets.copy_from_slice(&bytes[at..at + 16]);
    u128::from_be_bytes(octets)
}

/// Of 20 bytes of header, in one piece, with TCP in it.
#[inline]
fn is_plain_v4(bytes: &&[u8; 34]) -> bool {
    bytes[0] == 0x45 && bytes[9] == 6 && u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff == 0
}

/// Without extension headers, with TCP in it.
#[inline]
fn is_plain_v6(bytes: &&[u8; 54]) -> bool {
    bytes[0] >> 4 == 6 && bytes[6] == 6
}
