//! From captured frames to segments: every link type and every tunnel that a probe meets.
//!
//! What counts is the innermost TCP segment: of a frame that a tunnel carries, the ends inside the tunnel. Lengths are
//! those of the IP header, so that what a link adds to short frames is no payload; where that header tells none (large
//! segments, captured before the NIC cuts them), the frame's own. Of a packet in fragments the first has the headers,
//! and the payload is that of the fragment.

mod bridged;
mod icmp;
mod ip;
mod layer;
mod link;
mod midstream;
mod ppp;
mod rest;
mod skipped;
mod tcp;
mod tunnel;
mod wireless;

pub use midstream::midstream;
pub use skipped::{Skipped, Tally};

use super::{Endpoint, Segment, Unreachable};
use crate::capture::Captured;
use crate::unit::Nanos;
use layer::{Layer, Next};
use rest::Rest;

/// What passed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Passing<'a> {
    /// A segment of TCP.
    Segment(Segment),
    /// Word that one was refused.
    Unreachable(Unreachable),
    /// A datagram of UDP that is no tunnel.
    Datagram(Datagram<'a>),
}

/// A datagram of UDP.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// When it passed, since the epoch of the probe's clock.
    pub at: Nanos,
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it is for.
    pub to: Endpoint,
    /// What was captured of its payload.
    pub payload: &'a [u8],
    /// Bytes of payload by its headers, however few of them were captured.
    pub length: u32,
}

/// Headers in headers, at most. Two VLAN tags, MPLS and a tunnel or two make ten.
const DEEPEST: usize = 24;

/// What a frame carries.
///
/// # Errors
/// Why it is of no use.
pub fn dissect<'a>(captured: &Captured<'a>) -> Result<Passing<'a>, Skipped> {
    let at = Nanos(i64::try_from(captured.at).map_err(|_| Skipped::Time)?);
    let rest = Rest::of(captured.bytes, captured.length as usize);
    innermost(at, captured, rest).map_err(|reason| match reason {
        // Nothing was cut off: the frame itself ends too early.
        Skipped::CutShort if captured.bytes.len() >= captured.length as usize => Skipped::Malformed,
        other => other,
    })
}

fn innermost<'a>(at: Nanos, captured: &Captured<'a>, rest: Rest<'a>) -> Result<Passing<'a>, Skipped> {
    let (mut layer, mut rest) = (Layer::Link(captured.link), rest);
    for _ in 0..DEEPEST {
        match layer.next(at, rest)? {
            Next::Within(inner, behind) => (layer, rest) = (inner, behind),
            Next::Found(passing) => return Ok(passing),
        }
    }
    Err(Skipped::TooDeep)
}
