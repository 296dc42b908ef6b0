//! Wi-Fi, and what receivers put in front of its frames.

use super::Skipped;
use super::layer::Layer;
use super::rest::Rest;

/// Radiotap: its flags say whether the header behind it is padded, and whether the frame came in damaged.
pub(super) fn radiotap(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    let length = usize::from(u16::from_le_bytes(rest.array(2)?));
    let present = u32::from_le_bytes(rest.array(4)?);
    let mut at = 8;
    let mut word = present;
    while word & 0x8000_0000 != 0 {
        word = u32::from_le_bytes(rest.array(at)?);
        at += 4;
    }
    if present & 1 != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if present & 2 != 0 { rest.u8(at)? } else { 0 };
    let frame = rest.behind(length.max(8))?;
    match flags {
        _ if flags & 0x40 != 0 => Err(Skipped::Malformed),
        _ if flags & 0x20 != 0 => wifi(frame, 4),
        _ => Ok((Layer::Wifi, frame)),
    }
}

/// The header of Prism cards, or that of the same link type by AVS.
pub(super) fn prism(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    if rest.u32(0)? & 0xffff_f000 == 0x8021_1000 {
        return avs(rest);
    }
    let length = u32::from_le_bytes(rest.array(4)?);
    Ok((Layer::Wifi, rest.behind(length.max(8) as usize)?))
}

/// AVS: its length follows its version.
pub(super) fn avs(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Skipped> {
    Ok((Layer::Wifi, rest.behind(rest.u32(4)?.max(8) as usize)?))
}

/// A frame of Wi-Fi, whose header is padded to a multiple of `padded` bytes.
pub(super) fn wifi(rest: Rest<'_>, padded: usize) -> Result<(Layer, Rest<'_>), Skipped> {
    let (kind, bits) = (rest.u8(0)?, rest.u8(1)?);
    // Of data, version 0; those without data have bit 6 of their kind set.
    if kind & 0x0f != 0x08 || kind & 0x40 != 0 {
        return Err(Skipped::NotIp);
    }
    if bits & 0x40 != 0 {
        return Err(Skipped::Encrypted);
    }
    if rest.u8(22)? & 0x0f != 0 {
        return Err(Skipped::Fragment);
    }
    let mut header = if bits & 0x03 == 0x03 { 30 } else { 24 };
    if kind & 0x80 != 0 {
        if rest.u8(header)? & 0x80 != 0 {
            return Err(Skipped::Aggregated);
        }
        header += 2;
        if bits & 0x80 != 0 {
            header += 4;
        }
    }
    Ok((Layer::Llc, rest.behind(header.next_multiple_of(padded))?))
}
