//! A first look at a frame, to pass over what is of no interest.

use crate::capture::Captured;
use crate::tcp::FlowHash;

/// Which connection a frame belongs to that neither opens nor refuses one, if that shows at a first look: TCP without
/// SYN and RST in a whole packet of IPv4 without options or of IPv6, on Ethernet with at most two tags, in Linux's
/// cooked capture or bare. Of all other frames `None`: they take a closer look, by [`dissect`](super::dissect).
///
/// Most frames of a capture are such, and most of them belong to connections whose handshake is over.
#[inline]
#[must_use]
pub fn midstream(captured: &Captured<'_>) -> Option<FlowHash> {
    let bytes = captured.bytes;
    let (kind, packet) = match captured.link.0 {
        1 => tagged(bytes)?,
        113 => (half(bytes, 14)?, bytes.get(16..)?),
        276 => (half(bytes, 0)?, bytes.get(20..)?),
        12 | 101 => (if bytes.first()? >> 4 == 4 { V4 } else { V6 }, bytes),
        _ => return None,
    };
    match kind {
        V4 => v4(packet.first_chunk()?),
        V6 => v6(packet.first_chunk()?),
        _ => None,
    }
}

const V4: u16 = super::ip::V4;
const V6: u16 = super::ip::V6;
/// SYN and RST.
const OF_INTEREST: u8 = 0x06;

#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The type of an Ethernet frame, and what is behind its tags.
#[inline]
fn tagged(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let mut header = 14;
    let mut kind = half(bytes, 12)?;
    while matches!(kind, 0x8100 | 0x88a8) && header < 22 {
        kind = half(bytes, header + 2)?;
        header += 4;
    }
    Some((kind, bytes.get(header..)?))
}

/// IPv4 with 20 bytes of header, and TCP up to its control bits.
#[inline]
fn v4(bytes: &[u8; 34]) -> Option<FlowHash> {
    let plain = bytes[0] == 0x45 && bytes[9] == 6 && bytes[6] & 0x3f == 0 && bytes[7] == 0;
    if !plain || bytes[33] & OF_INTEREST != 0 {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let ports = word(20);
    Some(FlowHash::v4(word(12), (ports >> 16) as u16, word(16), ports as u16))
}

/// IPv6 without extension headers, and TCP up to its control bits.
#[inline]
fn v6(bytes: &[u8; 54]) -> Option<FlowHash> {
    if bytes[0] >> 4 != 6 || bytes[6] != 6 || bytes[53] & OF_INTEREST != 0 {
        return None;
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&bytes[at..at + 16]);
        u128::from_be_bytes(octets)
    };
    let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    Some(FlowHash::v6(address(8), port(40), address(24), port(42)))
}
