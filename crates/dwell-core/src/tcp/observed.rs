//! From packets to handshakes.

use super::Handshake;
use super::dissect::{Passing, Tally, dissect, midstream};
use super::tracker::{Counts, Limits, Tracker};
use crate::capture::Captured;
use crate::unit::Nanos;

/// A tracker, and what looks into packets for it: the same for captures and for live interfaces.
#[derive(Debug)]
pub struct Observed {
    tracker: Tracker,
    packets: u64,
    skipped: Tally,
}

/// What became of the packets, and of the handshakes in them.
#[derive(Copy, Clone, Debug, Default)]
pub struct Seen {
    /// All of them.
    pub packets: u64,
    /// Those of no use, by reason.
    pub skipped: Tally,
    /// What became of the segments.
    pub counts: Counts,
}

impl Observed {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { tracker: Tracker::new(limits), packets: 0, skipped: Tally::default() }
    }

    /// Shows a packet. Most belong to connections whose handshakes are over, and cost a look at their headers.
    #[inline]
    pub fn see(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        self.packets += 1;
        if midstream(captured).is_some_and(|flow| !self.tracker.pending(flow)) {
            return;
        }
        self.look(captured, take);
    }

    #[inline(never)]
    fn look(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        match dissect(captured) {
            Ok(Passing::Segment(segment)) => self.tracker.see(&segment, take),
            Ok(Passing::Unreachable(unreachable)) => self.tracker.refused(&unreachable, take),
            Ok(Passing::Datagram(_)) => {}
            Err(reason) => self.skipped.count(reason),
        }
    }

    /// Nothing passed before this time.
    pub fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Handshake)) {
        self.tracker.pass(now, take);
    }

    /// No more packets come.
    pub fn finish(mut self, take: &mut impl FnMut(Handshake)) -> Seen {
        self.tracker.finish(take);
        Seen { packets: self.packets, skipped: self.skipped, counts: *self.tracker.counts() }
    }
}
