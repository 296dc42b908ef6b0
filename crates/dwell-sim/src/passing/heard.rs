//! What a tap heard of one connection.

use super::net::Sent;
use super::plan::Kind;
use dwell_core::Nanos;
use dwell_core::tcp::{Segment, Timestamps};

/// No host repeats a segment of a handshake sooner (RFC 6298, 2.1).
pub(super) const SOONEST_REPETITION: Nanos = Nanos::from_secs(1);

/// A segment that passed, and its place among those that were sent.
pub(super) struct Passing<'s> {
    pub(super) number: usize,
    pub(super) at: Nanos,
    pub(super) segment: Option<&'s Segment>,
    pub(super) sent: &'s Sent,
}

impl Passing<'_> {
    pub(super) fn is(&self, kind: Kind) -> bool {
        self.sent.kind == kind
    }

    pub(super) fn stamps(&self) -> Option<Timestamps> {
        self.segment?.options.timestamps
    }

    pub(super) fn acknowledges(&self) -> Option<u32> {
        Some(self.segment?.acknowledgment)
    }
}

/// So long after the client's first segment a reader may wait where something was repeated, or is missing. A handshake
/// of three segments, each once, is over with the third, be it an ACK or an RST.
pub(super) const WAIT: Nanos = Nanos::from_millis(200);
