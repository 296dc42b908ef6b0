//! Of TCP and QUIC together, interval by interval.

use super::super::FlowHash;
use super::interval::Intervals;
use super::{Continuous, Datagram, FlowLimits, Quic, RoundTrips, Segment};
use crate::unit::Nanos;
use serde::Serialize;

/// Directions that one interval tells of, for each flow that is kept: two, by up to three signs each.
const DIRECTIONS: usize = 6;

/// Round trips throughout connections, the shortest of each interval.
#[derive(Debug)]
pub struct Throughout {
    tcp: Continuous,
    quic: Quic,
    intervals: Intervals,
}

/// What became of the samples.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// Those that are told of.
    pub samples: u64,
    /// Not told of, because all places of their interval were taken.
    pub crowded_samples: u64,
    /// Flows that were forgotten for others, TCP's and QUIC's, though they were not silent for long.
    pub forgotten_flows: u64,
}

impl Throughout {
    /// One that has seen nothing, with intervals of so much packet time.
    ///
    /// # Panics
    /// If that is no time at all.
    #[must_use]
    pub fn new(limits: FlowLimits, every: Nanos) -> Self {
        let intervals = Intervals::new(every, limits.flows.saturating_mul(DIRECTIONS));
        Self { tcp: Continuous::new(limits), quic: Quic::new(limits), intervals }
    }

    /// Shows a segment of this flow.
    pub fn see(&mut self, flow: FlowHash, segment: &Segment) {
        let Self { tcp, intervals, .. } = self;
        intervals.pass(segment.at);
        tcp.see(flow, segment, &mut |sample| intervals.add(flow, &sample));
    }

    /// Shows a datagram of this flow.
    pub fn see_datagram(&mut self, flow: FlowHash, datagram: &Datagram<'_>) {
        let Self { quic, intervals, .. } = self;
        intervals.pass(datagram.at);
        quic.see(flow, datagram, &mut |sample| intervals.add(flow, &sample));
    }

    /// Nothing passed before this time.
    pub fn pass(&mut self, now: Nanos) {
        self.intervals.pass(now);
    }

    /// No more comes: the interval that is not over ends too.
    pub fn end(&mut self) {
        self.intervals.end();
    }

    /// Whether an interval is over that was not taken yet.
    #[inline]
    pub(in super::super) const fn has_more(&self) -> bool {
        self.intervals.has_more()
    }

    /// What is told of intervals that are over, each once.
    pub fn take(&mut self) -> impl Iterator<Item = RoundTrips> {
        self.intervals.take()
    }

    /// What became of the samples so far.
    #[must_use]
    pub const fn samples(&self) -> Samples {
        let [samples, crowded_samples] = self.intervals.counts();
        let forgotten_flows = self.tcp.forgotten() + self.quic.forgotten();
        Samples { samples, crowded_samples, forgotten_flows }
    }
}
