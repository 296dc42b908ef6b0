//! From packets to handshakes.

use dwell_core::Nanos;
use dwell_core::capture::Captured;
use dwell_core::tcp::dissect::Tally;
use dwell_core::tcp::tracker::Counts;
use dwell_core::tcp::{Handshake, Limits, Passing, Tracker, dissect, midstream};

/// A tracker, and what looks into packets for it.
pub(super) struct Observed {
    tracker: Tracker,
    packets: u64,
    skipped: Tally,
}

/// What became of the packets, and of the handshakes in them.
#[derive(Copy, Clone, Default)]
pub(super) struct Seen {
    pub(super) packets: u64,
    pub(super) skipped: Tally,
    pub(super) counts: Counts,
}

impl Observed {
    pub(super) fn new(handshakes: u32) -> Self {
        let limits = Limits { handshakes: handshakes as usize, ..Limits::default() };
        Self { tracker: Tracker::new(limits), packets: 0, skipped: Tally::default() }
    }

    /// Shows a packet.
    #[inline]
    pub(super) fn see(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        self.packets += 1;
        if midstream(captured).is_some_and(|flow| !self.tracker.pending(flow)) {
            return;
        }
        match dissect(captured) {
            Ok(Passing::Segment(segment)) => self.tracker.see(&segment, take),
            Ok(Passing::Unreachable(unreachable)) => self.tracker.refused(&unreachable, take),
            Ok(Passing::Datagram(_)) => {}
            Err(reason) => self.skipped.count(reason),
        }
    }

    /// Nothing passed before this time.
    pub(super) fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Handshake)) {
        self.tracker.pass(now, take);
    }

    /// No more packets come.
    pub(super) fn finish(mut self, take: &mut impl FnMut(Handshake)) -> Seen {
        self.tracker.finish(take);
        Seen { packets: self.packets, skipped: self.skipped, counts: *self.tracker.counts() }
    }
}
