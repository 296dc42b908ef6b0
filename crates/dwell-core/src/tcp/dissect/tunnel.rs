//! Tunnels: GRE, and those over UDP.

use super::layer::{Carried, Layer, Next};
use super::rest::Rest;
use super::{Datagram, Passing, Skipped, bridged};
use crate::tcp::Endpoint;
use crate::unit::Nanos;

/// Generic routing encapsulation (RFC 2784, 2890), and its version 1 of PPTP (RFC 2637).
pub(super) fn gre(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let (bits, protocol) = (rest.u16(0)?, rest.u16(2)?);
    let word = |bit: u16| if bits & bit == 0 { 0 } else { 4 };
    match bits & 7 {
        // Source routes were never used, and were withdrawn.
        0 if bits & 0x4000 != 0 => Err(Skipped::NotIp),
        0 => {
            let numbered = bits & 0x1000 != 0;
            let rest = rest.behind(4 + word(0x8000) + word(0x2000) + word(0x1000))?;
            match protocol {
                // The first kind of ERSPAN has no header of its own, and no numbers.
                bridged::MIRRORED if !numbered => Ok((Layer::Ethernet, rest)),
                other => Ok((Layer::Type(other), rest)),
            }
        }
        // Without a number it acknowledges, and carries nothing.
        1 if protocol == bridged::PPP && bits & 0x1000 != 0 => {
            Ok((Layer::Ppp, rest.behind(8 + word(0x1000) + word(0x0080))?))
        }
        _ => Err(Skipped::NotIp),
    }
}

/// A datagram, or what it carries if it is a tunnel's.
pub(super) fn datagram<'a>(at: Nanos, ends: &Carried, rest: Rest<'a>) -> Result<Next<'a>, Skipped> {
    let (source, destination) = (rest.u16(0)?, rest.u16(2)?);
    let told = usize::from(rest.u16(4)?);
    // None is told of what is larger than its field.
    let length = if told == 0 || ends.in_part { rest.length } else { told };
    let payload = rest.only(length).behind(8)?;
    if let Some((layer, inner)) = within(source, destination, payload) {
        return Ok(Next::Within(layer, inner));
    }
    Ok(Next::Found(Passing::Datagram(Datagram {
        at,
        from: Endpoint { address: ends.from, port: source },
        to: Endpoint { address: ends.to, port: destination },
        payload: payload.bytes,
        length: payload.length as u32,
    })))
}

/// What a datagram to a tunnel's port carries; `None` where it does not look like that tunnel's.
fn within(source: u16, destination: u16, rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    match (source, destination) {
        (_, 4789 | 4790 | 8472) => vxlan(rest),
        (_, 6081) => geneve(rest),
        (_, 6635) => Some((Layer::Type(bridged::MPLS), rest)),
        (2152, _) | (_, 2152) => gtp(rest),
        (1701, _) | (_, 1701) => l2tp(rest),
        (3544, _) | (_, 3544) => teredo(rest),
        _ => None,
    }
}

/// VXLAN (RFC 7348), and its extension to other protocols than Ethernet.
fn vxlan(rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    let bits = rest.u8(0).ok()?;
    let layer = match bits & 0x0c {
        0x08 => Layer::Ethernet,
        0x0c => bridged::numbered(rest.u8(3).ok()?).ok()?,
        _ => return None,
    };
    Some((layer, rest.behind(8).ok()?))
}

/// Geneve (RFC 8926).
fn geneve(rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    let first = rest.u8(0).ok()?;
    let layer = Layer::Type(rest.u16(2).ok()?);
    (first >> 6 == 0).then_some((layer, rest.behind(8 + usize::from(first & 0x3f) * 4).ok()?))
}

/// What mobile networks carry users' packets in (GTP-U of version 1).
fn gtp(rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    let bits = rest.u8(0).ok()?;
    if bits & 0xf0 != 0x30 || rest.u8(1).ok()? != 0xff {
        return None;
    }
    if bits & 0x07 == 0 {
        return Some((Layer::Ip, rest.behind(8).ok()?));
    }
    let mut more = if bits & 0x04 == 0 { 0 } else { rest.u8(11).ok()? };
    let mut rest = rest.behind(12).ok()?;
    while more != 0 {
        // In units of four bytes, the last of which names the next extension.
        let length = usize::from(rest.u8(0).ok()?) * 4;
        more = rest.u8(length.checked_sub(1)?).ok()?;
        rest = rest.behind(length).ok()?;
    }
    Some((Layer::Ip, rest))
}

/// Data of L2TP's version 2 (RFC 2661), which is PPP.
fn l2tp(rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    let bits = rest.u16(0).ok()?;
    if bits & 0x8007 != 2 {
        return None;
    }
    let field = |bit: u16, size: usize| if bits & bit == 0 { 0 } else { size };
    let mut header = 6 + field(0x4000, 2) + field(0x0800, 4);
    if bits & 0x0200 != 0 {
        header += 2 + usize::from(rest.u16(header).ok()?);
    }
    Some((Layer::Ppp, rest.behind(header).ok()?))
}

/// IPv6 through NATs (RFC 4380), behind who authenticated it and where it came from.
fn teredo(mut rest: Rest<'_>) -> Option<(Layer, Rest<'_>)> {
    if rest.u16(0).ok()? == 1 {
        let (client, value) = (rest.u8(2).ok()?, rest.u8(3).ok()?);
        rest = rest.behind(13 + usize::from(client) + usize::from(value)).ok()?;
    }
    if rest.u16(0).ok()? == 0 {
        rest = rest.behind(8).ok()?;
    }
    (rest.u8(0).ok()? >> 4 == 6).then_some((Layer::Ip, rest))
}
