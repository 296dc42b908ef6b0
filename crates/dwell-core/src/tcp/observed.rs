//! From packets to handshakes.

use super::continuous::{FlowLimits, RoundTrips, Samples, Throughout};
use super::dissect::{Passing, Skipped, Straight, Tally, dissect};
use super::segment::Segment;
use super::tracker::{Counts, Limits, Tracker};
use super::{FlowHash, Handshake};
use crate::capture::{Captured, LinkType};
use crate::unit::Nanos;
use std::collections::BTreeSet;

/// A tracker, and what looks into packets for it: the same for captures and for live interfaces.
#[derive(Debug)]
pub struct Observed {
    tracker: Tracker,
    packets: u64,
    skipped: Tally,
    unknown_links: BTreeSet<LinkType>,
    throughout: Option<Throughout>,
}

/// What became of the packets, and of the handshakes in them.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// All of them.
    pub packets: u64,
    /// Those of no use, by reason.
    pub skipped: Tally,
    /// The links whose frames are not known here, by pcap's registry.
    pub unknown_links: BTreeSet<LinkType>,
    /// What became of the segments.
    pub counts: Counts,
    /// What became of the samples throughout connections, where those were asked for.
    pub samples: Option<Samples>,
}

impl Observed {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            tracker: Tracker::new(limits),
            packets: 0,
            skipped: Tally::default(),
            unknown_links: BTreeSet::new(),
            throughout: None,
        }
    }

    /// Round trips throughout connections too, the shortest of each interval of so much packet time.
    #[must_use]
    pub fn throughout(self, limits: FlowLimits, every: Nanos) -> Self {
        Self { throughout: Some(Throughout::new(limits, every)), ..self }
    }

    /// Shows a packet. Most belong to connections whose handshakes are over, and cost a look at their headers.
    #[inline]
    pub fn see(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        self.packets += 1;
        if let Ok(at) = i64::try_from(captured.at) {
            let is_set_back = self.tracker.see_time(Nanos(at));
            if let Some(throughout) = self.throughout.as_mut().filter(|_| is_set_back) {
                throughout.clock_stepped();
            }
        }
        let Some(straight) = Straight::of(captured) else {
            return self.look(*captured, take);
        };
        let matters = !straight.is_midstream() || self.is_pending(&straight);
        if matters || self.throughout.is_some() {
            self.follow(straight, matters, take);
        }
    }

    /// The clock that stamps packets was set, whichever way, between the last that was shown and the next: who captures live
    /// knows, and packets need not show it.
    pub fn clock_stepped(&mut self) {
        self.tracker.clock_stepped();
        if let Some(throughout) = &mut self.throughout {
            throughout.clock_stepped();
        }
    }

    #[inline(always)]
    fn is_pending(&self, straight: &Straight<'_>) -> bool {
        self.tracker.pending(straight.glance(self.tracker.seed()))
    }

    #[inline(never)]
    fn follow(&mut self, straight: Straight<'_>, matters: bool, take: &mut dyn FnMut(Handshake)) {
        // Looked at where it lies: it takes as long to move it as to make it.
        match &straight.segment() {
            Ok(segment) => self.segment(straight.flow(self.tracker.seed()), segment, matters, take),
            Err(reason) => self.skipped.count(*reason),
        }
    }

    fn segment(&mut self, flow: FlowHash, segment: &Segment, matters: bool, take: &mut dyn FnMut(Handshake)) {
        if let Some(throughout) = &mut self.throughout {
            throughout.see(flow, segment);
        }
        if matters {
            self.tracker.see_of(flow, segment, take);
        } else {
            self.tracker.pass(segment.at, take);
        }
    }

    #[inline(never)]
    fn look(&mut self, captured: Captured<'_>, take: &mut dyn FnMut(Handshake)) {
        match dissect(&captured) {
            Ok(Passing::Segment(segment)) => {
                let matters = self.tracker.may_matter(&segment);
                let flow = self.tracker.seed().of(&segment.from, &segment.to);
                self.segment(flow, &segment, matters, take);
            }
            Ok(Passing::Unreachable(unreachable)) => self.tracker.refused(&unreachable, take),
            Ok(Passing::Datagram(datagram)) => {
                if let Some(throughout) = &mut self.throughout {
                    let flow = self.tracker.seed().of(&datagram.from, &datagram.to);
                    throughout.see_datagram(flow, &datagram);
                }
            }
            Err(reason) => {
                self.skipped.count(reason);
                if reason == Skipped::UnknownLink {
                    self.unknown_links.insert(captured.link);
                }
            }
        }
    }

    /// Nothing passed before this time.
    pub fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Handshake)) {
        self.tracker.pass(now, take);
        if let Some(throughout) = &mut self.throughout {
            throughout.pass(now);
        }
    }

    /// The round trips throughout connections of intervals that are over, each once; `None` where none is over, as
    /// nearly always.
    #[inline]
    pub fn round_trips(&mut self) -> Option<impl Iterator<Item = RoundTrips>> {
        self.throughout.as_mut().filter(|throughout| throughout.has_more()).map(Throughout::take)
    }

    /// The same of the interval that is not over: no more packets come.
    pub fn last_round_trips(&mut self) -> impl Iterator<Item = RoundTrips> {
        if let Some(throughout) = &mut self.throughout {
            throughout.end();
        }
        self.round_trips().into_iter().flatten()
    }

    /// No more packets come.
    pub fn finish(mut self, take: &mut impl FnMut(Handshake)) -> Seen {
        self.tracker.finish(take);
        let samples = self.throughout.as_ref().map(Throughout::samples);
        let Self { packets, skipped, unknown_links, tracker, .. } = self;
        Seen { packets, skipped, unknown_links, counts: *tracker.counts(), samples }
    }
}
