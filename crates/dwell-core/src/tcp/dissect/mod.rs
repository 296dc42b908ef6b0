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
mod ppp;
mod rest;
mod skipped;
mod straight;
mod tcp;
mod tunnel;
mod wireless;

pub use skipped::{Skipped, Tally};
pub use straight::Straight;

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
    match Straight::of(captured) {
        Some(straight) => straight.segment().map(Passing::Segment),
        None => walked(captured),
    }
}

/// The same by a walk through the layers.
fn walked<'a>(captured: &Captured<'a>) -> Result<Passing<'a>, Skipped> {
    let rest = Rest::of(captured.bytes, captured.length as usize);
    innermost(time(captured.at)?, captured, rest).map_err(|reason| settled(reason, &rest))
}

#[inline]
fn time(at: i128) -> Result<Nanos, Skipped> {
    i64::try_from(at).map(Nanos).map_err(|_| Skipped::Time)
}

/// Why a frame is of no use, if that is why its headers could not be read.
fn settled(reason: Skipped, frame: &Rest<'_>) -> Skipped {
    match reason {
        // Nothing was cut off: the frame itself ends too early.
        Skipped::CutShort if frame.bytes.len() >= frame.length => Skipped::Malformed,
        other => other,
    }
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

#[cfg(test)]
mod tests {
    use super::{Straight, walked};
    use crate::capture::{Captured, LinkType};
    use crate::tcp::Passing;
    use proptest::prelude::*;

    /// Headers of TCP in IP as they are most often, and what may be wrong with them.
    fn frame(link: i32, tags: usize, v6: bool) -> Vec<u8> {
        let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
        let mut bytes = match link {
            1 => [2; 12].to_vec(),
            113 => [0; 14].to_vec(),
            _ => Vec::new(),
        };
        if link == 1 {
            (0..tags).for_each(|_| bytes.extend([0x81, 0, 0, 5]));
        }
        if link != 101 {
            bytes.extend(kind);
        }
        if link == 276 {
            bytes.extend([0; 18]);
        }
        if v6 {
            bytes.extend([0x60, 0, 0, 0, 0, 32, 6, 64]);
            bytes.extend([1; 32]);
        } else {
            bytes.extend([0x45, 0, 0, 52, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        bytes.extend([0, 80, 1, 187, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x12, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        bytes
    }

    proptest! {
        // Each takes a microsecond or two, and what is nearly usual is seldom.
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// Whatever is changed in a frame, and wherever it is cut: the straight way and the walk say the same.
        #[test]
        fn the_straight_way_leads_where_the_walk_does(
            link in prop::sample::select(vec![1, 12, 101, 113, 276]), tags in 0..4_usize, v6: bool,
            damage in prop::collection::vec((0..100_usize, any::<u8>()), 0..3),
            kept in 0..120_usize, padding in 0..9_usize, more in 0..90_u32, at in prop_oneof![Just(5), any::<i128>()],
            other_link in prop_oneof![3 => Just(None), 1 => prop::sample::select(vec![0, 1, 12, 101, 113, 276]).prop_map(Some)],
            other_kind in prop_oneof![3 => Just(None), 1 => prop::sample::select(vec![[8, 0], [0x86, 0xdd], [8, 6]]).prop_map(Some)],
        ) {
            let mut bytes = frame(if link == 12 { 101 } else { link }, tags, v6);
            bytes.resize(bytes.len() + padding, 0);
            let length = bytes.len() as u32 + more;
            bytes.truncate(kept);
            damage.into_iter().for_each(|(at, with)| { if let Some(byte) = bytes.get_mut(at) { *byte = with } });
            // What looks like a frame of another link, or says that it carries something else.
            if let (Some(kind), Some(place)) = (other_kind, bytes.get_mut(12..14)) {
                place.copy_from_slice(&kind);
            }
            let link = LinkType(other_link.unwrap_or(link));
            let captured = Captured { at, link, bytes: &bytes, length };
            if let Some(straight) = Straight::of(&captured) {
                prop_assert_eq!(straight.segment().map(Passing::Segment), walked(&captured));
            }
        }
    }

    #[test]
    fn the_usual_frame_goes_straight() {
        for (link, tags, v6) in [(1, 0, false), (1, 2, true), (101, 0, true), (113, 0, false), (276, 0, true)]
        {
            let bytes = frame(link, tags, v6);
            let captured =
                Captured { at: 5, link: LinkType(link), bytes: &bytes, length: bytes.len() as u32 };
            let straight = Straight::of(&captured).expect("straight");
            assert!(!straight.is_midstream());
            assert!(straight.segment().expect("a segment").options.timestamps.is_some());
        }
    }
}
