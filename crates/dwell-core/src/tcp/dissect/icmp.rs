//! Word that a segment was refused.

use super::Skipped;
use super::ip;
use super::layer::Carried;
use super::rest::Rest;
use crate::tcp::{Endpoint, Unreachable};
use crate::unit::Nanos;

/// ICMP of version 4: the destination is unreachable. That a packet was too large (code 4) refuses nothing.
pub(super) fn v4(at: Nanos, rest: Rest<'_>) -> Result<Unreachable, Skipped> {
    match (rest.u8(0)?, rest.u8(1)?) {
        (3, 4) => Err(Skipped::NotTcp),
        (3, _) => quoted(at, rest.behind(8)?, ip::v4),
        _ => Err(Skipped::NotTcp),
    }
}

/// ICMP of version 6.
pub(super) fn v6(at: Nanos, rest: Rest<'_>) -> Result<Unreachable, Skipped> {
    match rest.u8(0)? {
        1 => quoted(at, rest.behind(8)?, ip::v6),
        _ => Err(Skipped::NotTcp),
    }
}

type Reader = for<'a> fn(Rest<'a>) -> Result<(Carried, Rest<'a>), Skipped>;

/// What a message quotes: an IP header and at least 8 bytes, which are the ports and the sequence number.
fn quoted(at: Nanos, rest: Rest<'_>, read: Reader) -> Result<Unreachable, Skipped> {
    let (Carried { from, to, protocol: 6, .. }, rest) = read(rest)? else {
        return Err(Skipped::NotTcp);
    };
    Ok(Unreachable {
        at,
        from: Endpoint { address: from, port: rest.u16(0)? },
        to: Endpoint { address: to, port: rest.u16(2)? },
        sequence: rest.u32(4)?,
    })
}
