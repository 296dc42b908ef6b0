//! Ethernet and what stands between it and IP: tags, labels, logical link control.

use super::layer::Layer;
use super::rest::Rest;
use super::{Skipped, ip};

/// MPLS.
pub(super) const MPLS: u16 = 0x8847;
/// A session of PPP over Ethernet.
pub(super) const PPPOE: u16 = 0x8864;
/// Ethernet within.
pub(super) const ETHERNET: u16 = 0x6558;
/// A mirrored frame (ERSPAN), of the second kind.
pub(super) const MIRRORED: u16 = 0x88be;
/// PPP in GRE.
pub(super) const PPP: u16 = 0x880b;

pub(super) fn ethernet(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    Ok((type_or_length(rest.u16(12)?), rest.behind(14)?))
}

/// Up to 1500 it is a length, and LLC follows.
const fn type_or_length(number: u16) -> Layer {
    if number <= 1500 { Layer::Llc } else { Layer::Type(number) }
}

/// What Ethernet's type `number` names.
pub(super) fn typed(number: u16, rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    match number {
        ip::V4 => ip::v4(rest).map(Layer::carried),
        ip::V6 => ip::v6(rest).map(Layer::carried),
        // Tags of VLANs (IEEE 802.1Q, 802.1ad, and numbers used before that); Cisco's VN-Tag has two bytes more.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => Ok((type_or_length(rest.u16(2)?), rest.behind(4)?)),
        0x8926 => Ok((type_or_length(rest.u16(4)?), rest.behind(6)?)),
        // Provider backbone bridging: an instance's tag, then the customer's frame.
        0x88e7 => Ok((Layer::Ethernet, rest.behind(4)?)),
        MPLS | 0x8848 => mpls(rest),
        PPPOE => match rest.u16(0)? {
            0x1100 => Ok((Layer::Ppp, rest.behind(6)?)),
            _ => Err(Skipped::Malformed),
        },
        ETHERNET => Ok((Layer::Ethernet, rest)),
        MIRRORED => Ok((Layer::Ethernet, rest.behind(8)?)),
        // The third kind of ERSPAN: 12 bytes, and 8 more where the last bit says so.
        0x22eb => Ok((Layer::Ethernet, rest.behind(if rest.u8(11)? & 1 == 0 { 12 } else { 20 })?)),
        PPP => Ok((Layer::Ppp, rest)),
        0x894f => service(rest),
        0x8870 => Ok((Layer::Llc, rest)),
        _ => Err(Skipped::NotIp),
    }
}

/// Labels to the last one. What follows is not told: IP shows by its version, and a frame of Ethernet by its type, with
/// a control word ahead of it or without (RFC 4385).
fn mpls(mut rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    loop {
        let last = rest.u8(2)? & 1 != 0;
        rest = rest.behind(4)?;
        if last {
            break;
        }
    }
    match rest.u8(0)? >> 4 {
        4 | 6 => Ok((Layer::Ip, rest)),
        0 if matches!(rest.u16(16)?, ip::V4 | ip::V6 | 0x8100 | 0x88a8) => {
            Ok((Layer::Ethernet, rest.behind(4)?))
        }
        // An associated channel: no data.
        1 => Err(Skipped::NotIp),
        _ => Ok((Layer::Ethernet, rest)),
    }
}

/// A service function's header (RFC 8300).
fn service(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let length = usize::from(rest.u8(1)? & 0x3f) * 4;
    Ok((numbered(rest.u8(3)?)?, rest.behind(length.max(8))?))
}

/// The protocols of service headers, and of VXLAN's extension, by their common numbers.
pub(super) const fn numbered(protocol: u8) -> Result<Layer, Skipped> {
    match protocol {
        1 => Ok(Layer::Type(ip::V4)),
        2 => Ok(Layer::Type(ip::V6)),
        3 => Ok(Layer::Ethernet),
        _ => Err(Skipped::NotIp),
    }
}

/// Logical link control.
pub(super) fn llc(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    match rest.array(0)? {
        [0xaa, 0xaa, 0x03] => snap(rest.behind(3)?),
        [0x06, 0x06, 0x03] => Ok((Layer::Ip, rest.behind(3)?)),
        // ISO's: a network layer's number follows.
        [0xfe, 0xfe, 0x03] if matches!(rest.u8(3)?, 0xcc | 0x8e) => Ok((Layer::Ip, rest.behind(4)?)),
        _ => Err(Skipped::NotIp),
    }
}

/// Whose numbers follow, and one of them.
pub(super) fn snap(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let number = rest.u16(3)?;
    match rest.array(0)? {
        [0, 0, 0] | [0, 0, 0xf8] => Ok((Layer::Type(number), rest.behind(5)?)),
        // Bridged Ethernet (RFC 2684), behind two bytes of padding.
        [0, 0x80, 0xc2] if matches!(number, 1 | 7) => Ok((Layer::Ethernet, rest.behind(7)?)),
        _ => Err(Skipped::NotIp),
    }
}
