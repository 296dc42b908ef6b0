//! What a link added to the segments of a handshake, by its own stamps: what it was told to, and what it was late.

use crate::lane::Carried;
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::{Passing, Segment, TcpFlags, dissect};
use dwell_core::{Direction, Nanos};

/// What each segment of a handshake took over a link; `None`: it was lost.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    syn: Option<Nanos>,
    syn_ack: Option<Nanos>,
    ack: Option<Nanos>,
}

impl Passed {
    /// Of the frames that a link carried, of one connection; of segments that were repeated, the first counts.
    pub(super) fn of(frames: &[Carried]) -> Self {
        let mut segments: Vec<(Direction, Segment, Option<Nanos>)> = frames
            .iter()
            .filter_map(|frame| {
                let took = frame.arrival.map(|arrival| arrival.asked() + arrival.late - frame.entered);
                Some((frame.direction, segment(frame)?, took))
            })
            .collect();
        segments.sort_by_key(|(_, segment, _)| segment.at);
        let first = |way: Direction, syn: bool, ack: bool| {
            let flags = |segment: &Segment| {
                (segment.flags.has(TcpFlags::SYN), segment.flags.has(TcpFlags::ACK)) == (syn, ack)
            };
            let found = segments.iter().find(|(on, segment, _)| *on == way && flags(segment));
            found.and_then(|(.., took)| *took)
        };
        Self {
            syn: first(Direction::Forward, true, false),
            syn_ack: first(Direction::Reverse, true, true),
            ack: first(Direction::Forward, false, true),
        }
    }

    /// From SYN to SYN/ACK.
    pub(super) fn server_side(&self) -> Option<Nanos> {
        Some(self.syn? + self.syn_ack?)
    }

    /// From SYN/ACK to ACK.
    pub(super) fn client_side(&self) -> Option<Nanos> {
        Some(self.syn_ack? + self.ack?)
    }

    /// The mean of both.
    pub(super) fn both(&self) -> Option<Nanos> {
        Some((self.server_side()? + self.client_side()?) / 2)
    }
}

fn segment(frame: &Carried) -> Option<Segment> {
    let length = u32::try_from(frame.size.0).ok()?;
    let kept = frame.head.len().min(frame.size.0 as usize);
    let captured =
        Captured { at: frame.entered.0.into(), link: LinkType::ETHERNET, bytes: &frame.head[..kept], length };
    match dissect(&captured) {
        Ok(Passing::Segment(segment)) => Some(segment),
        _ => None,
    }
}
