//! PPP.

use super::layer::Layer;
use super::rest::Rest;
use super::{Skipped, bridged, ip};

/// A frame of PPP: address and control, which both ends may have agreed to leave out, then a protocol, of which the
/// upper byte may be left out where it is zero (RFC 1661, 6.5 and 6.6).
pub(super) fn ppp(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let rest = match (rest.u8(0)?, rest.u8(1)?) {
        (0xff, 0x03) => rest.behind(2)?,
        // Cisco's HDLC on a link that is said to be PPP's.
        (0x0f | 0x8f, 0) => return Ok((Layer::Type(rest.u16(2)?), rest.behind(4)?)),
        _ => rest,
    };
    let first = rest.u8(0)?;
    let (protocol, header) = if first & 1 == 1 { (u16::from(first), 1) } else { (rest.u16(0)?, 2) };
    let layer = match protocol {
        0x21 => Layer::Type(ip::V4),
        0x57 => Layer::Type(ip::V6),
        0x281 => Layer::Type(bridged::MPLS),
        _ => return Err(Skipped::NotIp),
    };
    Ok((layer, rest.behind(header)?))
}
