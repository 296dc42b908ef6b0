//! One packet's way through a host.

use super::stage::{Point, Stage, Way};
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Transport protocol.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Transmission control protocol.
    Tcp,
    /// User datagram protocol.
    Udp,
    /// ICMP of either version of IP.
    Icmp,
    /// Any other, by its number.
    Other(u8),
}

/// Whose packet it is. Ports are 0 where the protocol has none; of ICMP echo the local port is the identifier.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Transport protocol.
    pub protocol: Protocol,
    /// This host's end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

/// The thread that read or sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Process (thread group).
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// It is not in the observer's PID namespace: both numbers are the host's own. (Older records do not tell.)
    #[serde(default)]
    pub outside: bool,
    /// Its name, at most 15 bytes.
    pub name: String,
}

/// What the reader's core did when the reader was given it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Before {
    /// It slept, for so long.
    Idle(Nanos),
    /// It ran this thread.
    Ran(Process),
}

/// The times at the points; `None` where a point was not passed or not seen. One clock (CLOCK_MONOTONIC).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times([Option<Nanos>; Point::COUNT]);

impl Times {
    /// The time at `point`.
    #[must_use]
    pub const fn at(&self, point: Point) -> Option<Nanos> {
        self.0[point.index()]
    }

    /// Notes the time at `point`.
    pub const fn set(&mut self, point: Point, time: Nanos) {
        self.0[point.index()] = Some(time);
    }

    /// The points that were seen, in the order of passing.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = (Point, Nanos)> + '_ {
        Point::ALL.into_iter().filter_map(|point| Some((point, self.at(point)?)))
    }
}

/// One packet's way through the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journey {
    /// Which way.
    pub way: Way,
    /// Whose packet.
    pub flow: Flow,
    /// Index of the interface that it came by or left by, in this host's network namespace.
    pub interface: u32,
    /// IP header and what follows it; of packets that an offload made one, all of them.
    pub size: Bytes,
    /// Packets that an offload made one; 1: none.
    pub segments: u16,
    /// The times at the points.
    pub times: Times,
    /// The kernel's own stamp of the packet (SO_TIMESTAMPNS), brought to the clock of `times`, where it has one.
    pub kernel_stamp: Option<Nanos>,
    /// Who read or sent it; `None`: nobody, or not seen.
    pub process: Option<Process>,
    /// Identifier of that thread's control group.
    pub cgroup: Option<u64>,
    /// Core of the first point.
    pub core: u32,
    /// Core of the reader, where there is one.
    pub reader_core: Option<u32>,
    /// What the reader's core did before it ran the reader; only where the reader slept.
    pub before: Option<Before>,
    /// Packets that lay in the socket's queue when this one was put in, itself not counted.
    pub ahead: u32,
}

impl Journey {
    /// One packet's, of which nothing else is known.
    #[must_use]
    pub const fn new(way: Way, flow: Flow, size: Bytes, times: Times) -> Self {
        Self {
            way,
            flow,
            interface: 0,
            size,
            segments: 1,
            times,
            kernel_stamp: None,
            process: None,
            cgroup: None,
            core: 0,
            reader_core: None,
            before: None,
            ahead: 0,
        }
    }

    /// The same by a clock that begins at `zero`.
    #[must_use]
    pub fn since(mut self, zero: Nanos) -> Self {
        for time in self.times.0.iter_mut().chain([&mut self.kernel_stamp]).flatten() {
            *time -= zero;
        }
        self
    }

    /// The stages and their durations, in the order of passing. A time that lies before its predecessor's (two cores'
    /// clocks, read in turn) makes a stage of zero, and the next stage begins where the last one ended, so that the
    /// durations sum to the total.
    pub fn stages(&self) -> impl Iterator<Item = (Stage, Nanos)> + '_ {
        let way = self.way;
        let mut last: Option<(Point, Nanos)> = None;
        self.times.seen().filter_map(move |(point, time)| {
            let Some((earlier, began)) = last else {
                last = Some((point, time));
                return None;
            };
            let time = time.max(began);
            last = Some((point, time));
            Some((Stage::between(way, earlier, point), time - began))
        })
    }

    /// From the first point that was seen to the last.
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.stages().map(|(_, duration)| duration).sum()
    }

    /// How long `stage` took; `None` where it was not passed or not seen.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<Nanos> {
        let mut durations = self.stages().filter(|(one, _)| *one == stage).map(|(_, duration)| duration);
        let first = durations.next()?;
        Some(first + durations.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::made;
    use super::*;
    use proptest::prelude::*;

    fn journey(way: Way, times: &[(Point, i64)]) -> Journey {
        made::journey(way, Nanos::ZERO, times)
    }

    #[test]
    fn a_process_of_an_older_record_is_read() {
        let read: Process = serde_json::from_str(r#"{"pid":12,"tid":13,"name":"reader"}"#).unwrap();
        assert_eq!(read, Process { pid: 12, tid: 13, outside: false, name: "reader".to_owned() });
    }

    #[test]
    fn a_reader_that_slept_is_woken_and_one_that_was_busy_asks_late() {
        let common = [(Point::Driver, 0), (Point::Protocol, 10), (Point::Queue, 15)];
        let slept = [(Point::Waking, 16), (Point::Running, 40), (Point::Read, 42)];
        let stages: Vec<_> = journey(Way::Receive, &[&common[..], &slept].concat()).stages().collect();
        let expected = [
            (Stage::Driver, 10),
            (Stage::Protocol, 5),
            (Stage::SocketQueue, 1),
            (Stage::WakeUp, 24),
            (Stage::Copy, 2),
        ];
        assert_eq!(stages, expected.map(|(stage, ns)| (stage, Nanos(ns))));
        let busy = [(Point::Asked, 80), (Point::Read, 82)];
        let journey = journey(Way::Receive, &[&common[..], &busy].concat());
        assert_eq!(journey.stage(Stage::SocketQueue), Some(Nanos(65)));
        assert_eq!(journey.stage(Stage::WakeUp), None);
    }

    #[test]
    fn another_clock_moves_all_times_alike() {
        let journey = journey(Way::Receive, &[(Point::Driver, 100), (Point::Read, 160)]);
        let journey = Journey { kernel_stamp: Some(Nanos(101)), ..journey }.since(Nanos(-1_000));
        assert_eq!(journey.times.at(Point::Driver), Some(Nanos(1_100)));
        assert_eq!((journey.kernel_stamp, journey.total()), (Some(Nanos(1_101)), Nanos(60)));
        assert_eq!(journey.times.at(Point::Queue), None);
    }

    proptest! {
        #[test]
        fn the_stages_sum_to_the_span(times in proptest::collection::vec(0_i64..1_000_000, 2..Point::COUNT)) {
            let mut sorted = times;
            sorted.sort_unstable();
            let placed: Vec<_> = Point::ALL.into_iter().zip(sorted.iter().copied()).collect();
            let journey = journey(Way::Receive, &placed);
            prop_assert_eq!(journey.total(), Nanos(sorted[sorted.len() - 1] - sorted[0]));
        }

        #[test]
        fn no_stage_is_negative(times in proptest::collection::vec(-1_000_i64..1_000, Point::COUNT)) {
            let placed: Vec<_> = Point::ALL.into_iter().zip(times).collect();
            let journey = journey(Way::Send, &placed);
            prop_assert!(journey.stages().all(|(_, duration)| duration >= Nanos::ZERO));
        }
    }
}
