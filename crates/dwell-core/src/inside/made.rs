//! Journeys made by hand, for tests.

use super::journey::{Before, Flow, Journey, Process, Protocol, Times};
use super::stage::{Point, Way};
use crate::unit::{Bytes, Nanos};
use std::net::SocketAddr;

/// A thread of this name.
pub(super) fn thread(name: &str, tid: u32) -> Process {
    Process { pid: tid, tid, outside: false, name: name.to_owned() }
}

/// A journey that passes the points at these times.
pub(crate) fn journey(way: Way, began: Nanos, points: &[(Point, i64)]) -> Journey {
    let mut times = Times::default();
    points.iter().for_each(|&(point, time)| times.set(point, began + Nanos(time)));
    let flow = Flow {
        protocol: Protocol::Udp,
        local: SocketAddr::from(([10, 0, 0, 2], 7)),
        remote: SocketAddr::from(([10, 0, 0, 1], 9)),
    };
    let process = Some(thread("reader", 12));
    Journey { interface: 2, process, reader_core: Some(1), ..Journey::new(way, flow, Bytes(60), times) }
}

/// A packet that came at `began` and then passed these points; driver, protocol and queue took 3 us.
pub(super) fn received(began: Nanos, points: Vec<(Point, i64)>) -> Journey {
    let first = [(Point::Driver, 0), (Point::Protocol, 1_000), (Point::Queue, 3_000)];
    journey(Way::Receive, began, &[&first[..], &points].concat())
}

/// The reader slept, and had its core `wake` after it was woken.
pub(super) fn sleeper(wake: i64) -> Vec<(Point, i64)> {
    vec![(Point::Waking, 3_200), (Point::Running, 3_200 + wake), (Point::Read, 3_900 + wake)]
}

/// The reader asked `late` after the packet was in the queue.
pub(super) fn late(late: i64) -> Vec<(Point, i64)> {
    vec![(Point::Asked, 3_000 + late), (Point::Read, 3_700 + late)]
}

/// The same journey, after this on the reader's core.
pub(super) fn after(mut journey: Journey, before: Before) -> Journey {
    journey.before = Some(before);
    journey
}
