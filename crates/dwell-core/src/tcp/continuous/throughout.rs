//! Of TCP and QUIC together, interval by interval.

use super::super::FlowHash;
use super::flows::{Beside, Flows, Place, State};
use super::interval::Intervals;
use super::sample::Trip;
use super::{Continuous, Datagram, FlowLimits, Quic, RoundTrips, Segment};
use crate::unit::Nanos;
use serde::Serialize;
use std::cmp::Ordering;

/// Round trips throughout connections, the shortest of each interval.
#[derive(Debug)]
pub struct Throughout {
    tcp: Continuous,
    quic: Quic,
    intervals: Intervals,
    samples: u64,
}

/// What became of the samples.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// Those that are told of.
    pub samples: u64,
    /// Flows that were forgotten for others, TCP's and QUIC's, though they were not silent for long.
    pub forgotten_flows: u64,
    /// TCP's acknowledgments that told nothing: what they answer may have been sent before its connection was seen.
    pub unproven: u64,
}

impl Throughout {
    /// One that has seen nothing, with intervals of so much packet time.
    ///
    /// # Panics
    /// If that is no time at all.
    #[must_use]
    pub fn new(limits: FlowLimits, every: Nanos) -> Self {
        let (tcp, quic) = (Continuous::new(limits), Quic::new(limits));
        Self { tcp, quic, intervals: Intervals::new(every), samples: 0 }
    }

    /// The clock that stamps packets was set: what is under way gives no sample.
    pub const fn clock_stepped(&mut self) {
        self.tcp.flows.clock_stepped();
        self.quic.flows.clock_stepped();
    }

    /// Shows a segment of this flow.
    pub fn see(&mut self, flow: FlowHash, segment: &Segment) {
        let mut heard = Heard { is_early: self.reach(segment.at), samples: 0, early: Vec::new() };
        self.tcp.see_beside(flow, segment, &mut |trip, beside| heard.take(trip, beside));
        self.heard(segment.at, heard, |this| &mut this.tcp.flows);
    }

    /// Shows a datagram of this flow.
    pub fn see_datagram(&mut self, flow: FlowHash, datagram: &Datagram<'_>) {
        let mut heard = Heard { is_early: self.reach(datagram.at), samples: 0, early: Vec::new() };
        self.quic.see_beside(flow, datagram, &mut |trip, beside| heard.take(trip, beside));
        self.heard(datagram.at, heard, |this| &mut this.quic.flows);
    }

    /// After one packet of a flow of these.
    fn heard<T: State>(&mut self, at: Nanos, heard: Heard, of: fn(&mut Self) -> &mut Flows<T>) {
        self.samples += heard.samples;
        if !heard.early.is_empty() {
            self.go_back(at, heard.early, of);
        }
        if let Some(parted) = of(self).parted() {
            self.intervals.tell(parted);
        }
    }

    /// Ends the interval if this time lies behind it; tells whether it lies before it.
    fn reach(&mut self, at: Nanos) -> bool {
        match self.intervals.place(at) {
            Ordering::Equal => {}
            Ordering::Greater => self.end_before(at),
            Ordering::Less => return true,
        }
        false
    }

    /// Samples of an interval before the one that is not over end this one too: then a clock was set back, or packets are out
    /// of order, and an interval is told of in two parts, each true.
    #[cold]
    fn go_back<T: State>(
        &mut self,
        at: Nanos,
        early: Vec<(Trip, Place)>,
        of: fn(&mut Self) -> &mut Flows<T>,
    ) {
        self.end_before(at);
        let mut heard = Heard { is_early: false, samples: 0, early: Vec::new() };
        for (trip, place) in early {
            heard.take(trip, &mut of(self).beside(place));
        }
        self.samples += heard.samples;
    }

    /// The interval is over, and the next is that of this time.
    fn end_before(&mut self, next: Nanos) {
        let mut told = Vec::new();
        self.tcp.flows.part(&mut told);
        self.quic.flows.part(&mut told);
        self.intervals.tell(told);
        self.intervals.open(next);
    }

    /// Nothing passed before this time.
    pub fn pass(&mut self, now: Nanos) {
        self.reach(now);
    }

    /// No more comes: the interval that is not over ends too.
    pub fn end(&mut self) {
        self.end_before(Nanos(i64::MIN));
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
        let forgotten_flows = self.tcp.forgotten() + self.quic.forgotten();
        Samples { samples: self.samples, forgotten_flows, unproven: self.tcp.unproven() }
    }
}

/// What one packet tells.
struct Heard {
    /// It lies before the interval that is not over.
    is_early: bool,
    /// Samples with a value.
    samples: u64,
    /// Those that are kept for the interval that they lie in, and the place of their flow.
    early: Vec<(Trip, Place)>,
}

impl Heard {
    #[inline]
    fn take(&mut self, trip: Trip, beside: &mut Beside<'_>) {
        match trip.value.value() {
            Some(_) if self.is_early => self.early.push((trip, beside.place)),
            Some(value) => {
                beside.add(&trip, value);
                self.samples += 1;
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Endpoint, Half, Options, TcpFlags};
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    /// Round trips from clients of several ports to one server, all of whose flows fall together.
    struct Trips {
        throughout: Throughout,
        sequence: u32,
    }

    impl Trips {
        fn new(flows: usize) -> Self {
            let limits = FlowLimits { flows, ..FlowLimits::default() };
            Self { throughout: Throughout::new(limits, Nanos::from_secs(1)), sequence: 0 }
        }

        /// One from this port that ends at this time: of a connection that begins, a byte, and its acknowledgment.
        fn pass(&mut self, at_ms: i64, port: u16, us: i64) {
            let end = |last, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port };
            self.sequence += 1;
            let data = Segment {
                at: Nanos::from_millis(at_ms) - Nanos::from_micros(us),
                from: end(2, port),
                to: end(1, 443),
                flags: TcpFlags::ACK,
                sequence: self.sequence,
                acknowledgment: 9,
                payload: 1,
                options: Options::default(),
            };
            let syn = Segment { flags: TcpFlags::SYN, sequence: self.sequence - 1, payload: 0, ..data };
            let opened = Segment {
                from: data.to,
                to: data.from,
                flags: TcpFlags::SYN.with(TcpFlags::ACK),
                sequence: 8,
                acknowledgment: self.sequence,
                payload: 0,
                ..data
            };
            let (sequence, acknowledgment) = (9, self.sequence + 1);
            let answer = Segment {
                at: Nanos::from_millis(at_ms),
                from: data.to,
                to: data.from,
                sequence,
                acknowledgment,
                payload: 0,
                ..data
            };
            [syn, opened, data, answer].iter().for_each(|segment| self.throughout.see(FlowHash(7), segment));
        }

        fn told(&mut self) -> Vec<(i64, u16, Half, i64, u64)> {
            let short = |told: RoundTrips| {
                assert_eq!((told.to.port, told.until - told.from), (443, Nanos::from_secs(1)));
                let from = told.from.0 / 1_000_000;
                (from, told.other.port, told.least, told.mean.0 / 1_000, told.samples)
            };
            self.throughout.take().map(short).collect()
        }
    }

    fn exact(us: i64) -> Half {
        Half::Exact(Nanos::from_micros(us))
    }

    #[test]
    fn the_shortest_of_each_interval_and_connection_is_told_once() {
        let mut trips = Trips::new(8);
        for (at, port, us) in [(1_200, 7, 30), (1_300, 6, 50), (1_999, 7, 10), (1_400, 7, 20)] {
            trips.pass(at, port, us);
        }
        assert_eq!(trips.told(), []);
        trips.pass(2_000, 7, 99);
        assert_eq!(trips.told(), [(1_000, 7, exact(10), 20, 3), (1_000, 6, exact(50), 50, 1)]);
        trips.throughout.pass(Nanos::from_millis(2_999));
        assert_eq!(trips.told(), []);
        trips.throughout.pass(Nanos::from_millis(3_000));
        assert_eq!(trips.told(), [(2_000, 7, exact(99), 99, 1)]);
        trips.throughout.end();
        assert_eq!(trips.told(), []);
        assert_eq!(trips.throughout.samples(), Samples { samples: 5, forgotten_flows: 0, unproven: 0 });
    }

    #[test]
    fn what_an_interval_has_of_a_flow_that_is_forgotten_is_told() {
        let mut trips = Trips::new(4);
        (0..6).for_each(|port| trips.pass(i64::from(port), port, 30));
        trips.pass(9, 0, 20);
        assert_eq!(trips.throughout.tcp.flows.heard(), 4);
        trips.throughout.end();
        let mut told = trips.told();
        told.sort_unstable_by_key(|told| (told.1, told.3));
        let one = |port, us| (0, port, exact(us), us, 1);
        assert_eq!(
            told,
            [one(0, 20), one(0, 30), one(1, 30), one(2, 30), one(3, 30), one(4, 30), one(5, 30)]
        );
        assert_eq!(trips.throughout.samples(), Samples { samples: 7, forgotten_flows: 3, unproven: 0 });
    }

    #[test]
    fn of_many_that_are_forgotten_what_the_interval_has_is_told_before_its_end() {
        let (mut trips, mut early) = (Trips::new(4), Vec::new());
        for port in 0..10_000 {
            trips.pass(1, port, 30);
            early.extend(trips.told());
        }
        // All but the last few thousands.
        assert!((5_000..10_000).contains(&early.len()), "{}", early.len());
        trips.throughout.end();
        early.extend(trips.told());
        early.sort_unstable_by_key(|told| told.1);
        assert!(early.iter().map(|told| told.1).eq(0..10_000));
        assert_eq!(
            trips.throughout.samples(),
            Samples { samples: 10_000, forgotten_flows: 9_996, unproven: 0 }
        );
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut trips = Trips::new(8);
        [9_000, -500, 9_100].into_iter().for_each(|at| trips.pass(at, 7, 30));
        trips.throughout.end();
        let from: Vec<i64> = trips.told().iter().map(|told| told.0).collect();
        assert_eq!(from, [9_000, -1_000, 9_000]);
    }
}
