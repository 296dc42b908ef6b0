//! The link's own header, by pcap's registry of link types.

use super::layer::Layer;
use super::rest::Rest;
use super::{Skipped, wireless};
use crate::capture::LinkType;

/// What follows the header of `link`.
pub(super) fn first(link: LinkType, rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    Ok(match link.0 {
        1 => (Layer::Ethernet, rest),
        // Bare IP in its several numbers.
        12 | 14 | 101 | 228 | 229 => (Layer::Ip, rest),
        // BSD's loopback: the family, whose numbers differ between systems; the packet's own version does not.
        0 | 108 => (Layer::Ip, rest.behind(4)?),
        // Linux's cooked capture of both versions.
        113 => (cooked(rest.u16(14)?), rest.behind(16)?),
        276 => (cooked(rest.u16(0)?), rest.behind(20)?),
        9 | 50 => (Layer::Ppp, rest),
        51 => (Layer::Type(super::bridged::PPPOE), rest),
        // PPP behind a direction, and with the direction in place of its address.
        204 => (Layer::Ppp, rest.behind(1)?),
        166 => (Layer::Ppp, rest.behind(2)?),
        // Cisco's HDLC: address, control, type.
        104 => match rest.u8(0)? {
            0xff => (Layer::Ppp, rest),
            _ => (Layer::Type(rest.u16(2)?), rest.behind(4)?),
        },
        // Frame relay: an address of two bytes, then a network layer's number or LLC's SNAP behind padding.
        107 => frame_relay(rest)?,
        // FDDI: control, two addresses.
        10 => (Layer::Llc, rest.behind(13)?),
        6 => token_ring(rest)?,
        // ATM: LLC.
        11 | 100 => (Layer::Llc, rest),
        105 => (Layer::Wifi, rest),
        127 => wireless::radiotap(rest)?,
        119 => wireless::prism(rest)?,
        163 => wireless::avs(rest)?,
        // Per-packet information: a header that names the link within.
        192 => {
            let length = usize::from(u16::from_le_bytes(rest.array(2)?));
            (Layer::Link(LinkType(i32::from_le_bytes(rest.array(4)?))), rest.behind(length.max(8))?)
        }
        197 => erf(rest)?,
        _ => return Err(Skipped::UnknownLink),
    })
}

/// The protocol of a cooked capture is a type of Ethernet, or one of Linux's own small numbers.
const fn cooked(protocol: u16) -> Layer {
    match protocol {
        1 | 4 => Layer::Llc,
        other => Layer::Type(other),
    }
}

fn frame_relay(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let rest = rest.behind(2)?;
    if rest.u8(0)? != 3 {
        // Cisco's own: a type of Ethernet.
        return Ok((Layer::Type(rest.u16(0)?), rest.behind(2)?));
    }
    match (rest.u8(1)?, rest.u8(2)?) {
        (0xcc | 0x8e, _) => Ok((Layer::Ip, rest.behind(2)?)),
        (0, 0x80) => super::bridged::snap(rest.behind(3)?),
        (0x80, _) => super::bridged::snap(rest.behind(2)?),
        _ => Err(Skipped::NotIp),
    }
}

fn token_ring(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    // Frames of its own control have no LLC.
    if rest.u8(1)? & 0xc0 != 0x40 {
        return Err(Skipped::NotIp);
    }
    let routed = rest.u8(8)? & 0x80 != 0;
    let route = if routed { usize::from(rest.u8(14)? & 0x1f) } else { 0 };
    Ok((Layer::Llc, rest.behind(14 + route)?))
}

/// A record of an Endace card, of Ethernet or of PPP and Cisco's HDLC.
fn erf(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let kind = rest.u8(8)?;
    let mut behind = rest.behind(16)?;
    let mut more = kind & 0x80 != 0;
    while more {
        more = behind.u8(0)? & 0x80 != 0;
        behind = behind.behind(8)?;
    }
    match kind & 0x7f {
        2 | 11 | 16 | 20 => Ok((Layer::Ethernet, behind.behind(2)?)),
        1 | 17 => Ok((Layer::Link(LinkType(104)), behind)),
        22 | 23 => Ok((Layer::Ip, behind)),
        _ => Err(Skipped::UnknownLink),
    }
}
