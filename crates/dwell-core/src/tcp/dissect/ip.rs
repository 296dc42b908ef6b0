//! IP of both versions.

use super::Skipped;
use super::layer::Carried;
use super::rest::Rest;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Ethernet's type of version 4.
pub(super) const V4: u16 = 0x0800;
/// And of version 6.
pub(super) const V6: u16 = 0x86dd;

/// A packet of whichever version it says.
pub(super) fn either(rest: Rest<'_>) -> Result<(Carried, Rest<'_>), Skipped> {
    match rest.u8(0)? >> 4 {
        4 => v4(rest),
        6 => v6(rest),
        _ => Err(Skipped::NotIp),
    }
}

/// A packet of version 4.
pub(super) fn v4(rest: Rest<'_>) -> Result<(Carried, Rest<'_>), Skipped> {
    v4_with(rest.array(0)?, rest)
}

/// A packet of version 4 with this header, of which some may be known: then nothing is asked of that.
#[inline(always)]
pub(super) fn v4_with(bytes: [u8; 20], rest: Rest<'_>) -> Result<(Carried, Rest<'_>), Skipped> {
    let header = usize::from(bytes[0] & 0x0f) * 4;
    let told = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    // None is told of what was captured before the NIC cut it into packets.
    let length = if told == 0 { rest.length } else { told };
    if bytes[0] >> 4 != 4 || header < 20 || length < header {
        return Err(Skipped::Malformed);
    }
    let fragment = u16::from_be_bytes([bytes[6], bytes[7]]);
    if fragment & 0x1fff != 0 {
        return Err(Skipped::Fragment);
    }
    // Each in one piece: what is written byte by byte is slow to read as a whole.
    let address = |at: usize| {
        Ipv4Addr::from_bits(u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
    };
    let carried = Carried {
        from: address(12).into(),
        to: address(16).into(),
        protocol: bytes[9],
        in_part: fragment & 0x2000 != 0,
    };
    Ok((carried, rest.only(length).behind(header)?))
}

/// A packet of version 6, with its extension headers.
pub(super) fn v6(rest: Rest<'_>) -> Result<(Carried, Rest<'_>), Skipped> {
    v6_with(rest.array(0)?, rest)
}

/// A packet of version 6 that begins with this header, of which some may be known: then nothing is asked of that.
#[inline(always)]
pub(super) fn v6_with(bytes: [u8; 40], rest: Rest<'_>) -> Result<(Carried, Rest<'_>), Skipped> {
    if bytes[0] >> 4 != 6 {
        return Err(Skipped::Malformed);
    }
    // None is told of jumbograms, and of what was captured before the NIC cut it into packets.
    let packet = match u16::from_be_bytes([bytes[4], bytes[5]]) {
        0 => rest,
        told => rest.only(40 + usize::from(told)),
    };
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&bytes[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    let mut carried =
        Carried { from: address(8).into(), to: address(24).into(), protocol: bytes[6], in_part: false };
    let mut rest = packet.behind(40)?;
    loop {
        let length = match carried.protocol {
            // Hop by hop, destination, mobility, HIP, shim6.
            0 | 60 | 135 | 139 | 140 => 8 + usize::from(rest.u8(1)?) * 8,
            43 => {
                if let Some(last) = last_stop(rest)? {
                    carried.to = last.into();
                }
                8 + usize::from(rest.u8(1)?) * 8
            }
            44 => {
                let fragment = rest.u16(2)?;
                if fragment & 0xfff8 != 0 {
                    return Err(Skipped::Fragment);
                }
                carried.in_part |= fragment & 1 != 0;
                8
            }
            // Authentication.
            51 => 8 + usize::from(rest.u8(1)?) * 4,
            _ => return Ok((carried, rest)),
        };
        carried.protocol = rest.u8(0)?;
        rest = rest.behind(length)?;
    }
}

/// Whom a packet is for that has stops of its route left: the other end answers from that address.
fn last_stop(rest: Rest<'_>) -> Result<Option<Ipv6Addr>, Skipped> {
    let (length, kind, left) = (usize::from(rest.u8(1)?) * 8, rest.u8(2)?, rest.u8(3)?);
    if left == 0 || length < 16 {
        return Ok(None);
    }
    match kind {
        // Source routing and mobility: the last of the list.
        0 | 2 => rest.array(8 + (length / 16 - 1) * 16).map(|octets: [u8; 16]| Some(octets.into())),
        // Segment routing: the list is backwards.
        4 => rest.array(8).map(|octets: [u8; 16]| Some(octets.into())),
        _ => Ok(None),
    }
}
