//! What the programs tell, as they lay it out.

use super::reason::Reasons;
use dwell_core::inside::{Before, Dropped, Event, Flow, Journey, Point, Process, Protocol, Times, Way};
use dwell_core::{Bytes, Nanos};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The layout of `struct flow` in journey.h.
#[repr(C)]
#[derive(Copy, Clone)]
struct RawFlow {
    local: [u8; 16],
    remote: [u8; 16],
    local_port: u16,
    remote_port: u16,
    protocol: u8,
    version: u8,
    kind: u8,
    header: u8,
}

/// The layout of `struct numbers` in journey.h.
#[repr(C)]
#[derive(Copy, Clone)]
struct Numbers {
    pid: u32,
    tid: u32,
}

/// In `pid`: both are the machine's, of a thread that is not in the observer's PID namespace.
const OUTSIDE: u32 = 0x8000_0000;

/// The layout of `struct journey` in journey.h.
#[repr(C)]
#[derive(Copy, Clone)]
pub(super) struct Record {
    times: [u64; 8],
    /// Of a drop: when.
    kernel_stamp: u64,
    cgroup: u64,
    flow: RawFlow,
    numbers: Numbers,
    name: [u8; 16],
    interface: u32,
    size: u32,
    core: u32,
    reader_core: u32,
    ahead: u32,
    reason: u32,
    segments: u16,
    way: u8,
    before: u8,
    before_numbers: Numbers,
    idle: u64,
    before_name: [u8; 16],
}

const _: () =
    assert!(size_of::<Record>() == 8 * 8 + 2 * 8 + 40 + 2 * 4 + 16 + 6 * 4 + 4 + 4 + 2 * 4 + 8 + 16);

/// A stamp farther than this from the driver's time is of another clock, or of another time.
const NEAR: Nanos = Nanos(1_000_000_000);

impl Record {
    /// From the bytes of the ring; `None` where there are too few.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: plain integers, for which all bytes are valid; there are as many as it has, aligned or not.
        #[allow(unsafe_code)]
        (bytes.len() >= size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// The times at the points of its way, in the order of `enum point` in journey.h.
    fn points(&self) -> impl Iterator<Item = (Point, Nanos)> {
        use Point::{
            Asked, Called, Completed, Discipline, Driver, Handed, Protocol, Queue, Read, Running, Stamped,
            Waking, Xmit,
        };
        let points = match self.way() {
            Way::Receive => [Driver, Protocol, Queue, Waking, Running, Asked, Read, Stamped],
            // The last place is never used.
            Way::Send | Way::Answer => {
                [Driver, Protocol, Discipline, Xmit, Handed, Completed, Called, Stamped]
            }
        };
        let seen = points.into_iter().zip(self.times);
        seen.filter(|(_, time)| *time != 0).map(|(point, time)| (point, Nanos(time as i64)))
    }

    fn way(&self) -> Way {
        match self.way {
            0 => Way::Receive,
            1 => Way::Send,
            _ => Way::Answer,
        }
    }

    fn flow(&self) -> Flow {
        let end = |address: [u8; 16], port| {
            SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)).to_canonical(), port)
        };
        Flow {
            protocol: match self.flow.protocol {
                6 => Protocol::Tcp,
                17 => Protocol::Udp,
                1 | 58 => Protocol::Icmp,
                other => Protocol::Other(other),
            },
            local: end(self.flow.local, self.flow.local_port),
            remote: end(self.flow.remote, self.flow.remote_port),
        }
    }

    /// What it tells; `ahead` is how far CLOCK_REALTIME is ahead of the clock of the times.
    pub(super) fn event(&self, ahead: Nanos, reasons: &Reasons) -> Event {
        if self.reason != 0 {
            let at = Nanos(self.kernel_stamp as i64);
            let flow = (self.flow.version != 0).then(|| self.flow());
            return Event::Dropped(Dropped { at, way: self.way(), flow, reason: reasons.name(self.reason) });
        }
        let mut times = Times::default();
        for (point, time) in self.points() {
            // The application's stamp is on the other clock.
            times.set(point, if point == Point::Stamped { time - ahead } else { time });
        }
        let kernel_stamp = (self.kernel_stamp != 0).then(|| Nanos(self.kernel_stamp as i64) - ahead);
        let driver = times.at(Point::Driver);
        let read = times.at(Point::Read).is_some();
        Event::Journey(Box::new(Journey {
            way: self.way(),
            flow: self.flow(),
            interface: self.interface,
            size: Bytes(self.size.into()),
            segments: self.segments,
            times,
            kernel_stamp: kernel_stamp.filter(|stamp| driver.is_some_and(|at| (*stamp - at).abs() < NEAR)),
            process: self.numbers.process(&self.name),
            cgroup: (self.numbers.pid != 0).then_some(self.cgroup),
            core: self.core,
            reader_core: read.then_some(self.reader_core),
            before: match self.before {
                1 => Some(Before::Idle(Nanos(self.idle as i64))),
                2 => self.before_numbers.process(&self.before_name).map(Before::Ran),
                _ => None,
            },
            ahead: self.ahead,
        }))
    }
}

impl Numbers {
    fn process(self, name: &[u8; 16]) -> Option<Process> {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        (self.pid != 0).then(|| Process {
            pid: self.pid & !OUTSIDE,
            tid: self.tid,
            outside: self.pid & OUTSIDE != 0,
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }
}
