//! From packets to handshakes.

use super::continuous::{FlowLimits, RoundTrips, Samples, Throughout};
use super::dissect::{Passing, Straight, Tally, dissect};
use super::segment::Segment;
use super::tracker::{Counts, Limits, Tracker};
use super::{FlowHash, Handshake};
use crate::capture::Captured;
use crate::unit::Nanos;

/// So many packets are looked at together.
const TOGETHER: usize = 16;

/// A tracker, and what looks into packets for it: the same for captures and for live interfaces.
#[derive(Debug)]
pub struct Observed {
    tracker: Tracker,
    packets: u64,
    skipped: Tally,
    throughout: Option<Throughout>,
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
    /// What became of the samples throughout connections, where those were asked for.
    pub samples: Option<Samples>,
}

impl Observed {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { tracker: Tracker::new(limits), packets: 0, skipped: Tally::default(), throughout: None }
    }

    /// Round trips throughout connections too, the shortest of each interval of so much packet time.
    #[must_use]
    pub fn throughout(self, limits: FlowLimits, every: Nanos) -> Self {
        Self { throughout: Some(Throughout::new(limits, every)), ..self }
    }

    /// Shows a packet.
    pub fn see(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        self.see_all(std::slice::from_ref(captured), take);
    }

    /// Shows packets that come one after the other. Most belong to connections whose handshakes are over, and cost a
    /// look at their headers. What the others need of the tables is asked of memory for several at once, so that the
    /// processor waits once for all.
    pub fn see_all(&mut self, packets: &[Captured<'_>], take: &mut impl FnMut(Handshake)) {
        self.packets += packets.len() as u64;
        for packets in packets.chunks(TOGETHER) {
            let mut straights = [None; TOGETHER];
            for (straight, packet) in straights.iter_mut().zip(packets) {
                *straight = Straight::of(packet).map(|way| (way, way.flow(self.tracker.seed())));
            }
            let wanted = self.of_interest(&straights[..packets.len()]);
            let flows = ones(wanted).filter_map(|at| straights[at]).map(|(_, flow)| flow);
            flows.clone().for_each(|flow| self.tracker.foresee(flow));
            flows.for_each(|flow| self.tracker.foresee_found(flow));
            for at in ones(wanted) {
                match straights[at] {
                    Some((straight, flow)) => self.go_straight(&straight, flow, take),
                    None => self.look(&packets[at], take),
                }
            }
        }
    }

    /// Which of these may matter, a bit for each.
    #[inline]
    fn of_interest(&self, straights: &[Option<(Straight<'_>, FlowHash)>]) -> u32 {
        if self.throughout.is_some() {
            return u32::MAX >> (u32::BITS as usize - straights.len());
        }
        // By the lowest bits of their hashes, the flows of which one of these packets may begin a handshake.
        let (mut wanted, mut begun) = (0, 0_u64);
        for (at, straight) in straights.iter().enumerate() {
            let is_wanted = if let Some((straight, flow)) = straight {
                let (begins, low) = (!straight.is_midstream(), flow.0 % u64::BITS);
                begun |= u64::from(begins) << low;
                begun >> low & 1 != 0 || self.tracker.pending(*flow)
            } else {
                begun = u64::MAX;
                true
            };
            wanted |= u32::from(is_wanted) << at;
        }
        wanted
    }

    #[inline]
    fn go_straight(&mut self, straight: &Straight<'_>, flow: FlowHash, take: &mut impl FnMut(Handshake)) {
        if self.throughout.is_some() || !straight.is_midstream() || self.tracker.pending(flow) {
            match straight.segment() {
                Ok(segment) => self.segment(flow, &segment, take),
                Err(reason) => self.skipped.count(reason),
            }
        }
    }

    fn segment(&mut self, flow: FlowHash, segment: &Segment, take: &mut impl FnMut(Handshake)) {
        if let Some(throughout) = &mut self.throughout {
            throughout.see(segment);
        }
        self.tracker.see_of(flow, segment, take);
    }

    #[inline(never)]
    fn look(&mut self, captured: &Captured<'_>, take: &mut impl FnMut(Handshake)) {
        match dissect(captured) {
            Ok(Passing::Segment(segment)) => {
                let flow = self.tracker.seed().of(&segment.from, &segment.to);
                self.segment(flow, &segment, take);
            }
            Ok(Passing::Unreachable(unreachable)) => self.tracker.refused(&unreachable, take),
            Ok(Passing::Datagram(datagram)) => {
                if let Some(throughout) = &mut self.throughout {
                    throughout.see_datagram(&datagram);
                }
            }
            Err(reason) => self.skipped.count(reason),
        }
    }

    /// Nothing passed before this time.
    pub fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Handshake)) {
        self.tracker.pass(now, take);
        if let Some(throughout) = &mut self.throughout {
            throughout.pass(now);
        }
    }

    /// The round trips throughout connections of intervals that are over, each once.
    #[inline]
    pub fn round_trips(&mut self) -> impl Iterator<Item = RoundTrips> {
        self.throughout.iter_mut().flat_map(Throughout::take)
    }

    /// The same of the interval that is not over: no more packets come.
    pub fn last_round_trips(&mut self) -> impl Iterator<Item = RoundTrips> {
        if let Some(throughout) = &mut self.throughout {
            throughout.end();
        }
        self.round_trips()
    }

    /// No more packets come.
    pub fn finish(mut self, take: &mut impl FnMut(Handshake)) -> Seen {
        self.tracker.finish(take);
        let samples = self.throughout.as_ref().map(Throughout::samples);
        Seen { packets: self.packets, skipped: self.skipped, counts: *self.tracker.counts(), samples }
    }
}

/// The places of the bits that are set, in ascending order.
fn ones(mut bits: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}
