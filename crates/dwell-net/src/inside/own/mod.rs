//! What is seen of a host's inside without eBPF, and without any privilege: Dwell's own probes, from one of its sockets
//! to another one of this host, with the kernel's socket stamps (SO_TIMESTAMPING).

mod address;
mod probe;
mod reader;

pub use address::own_address;

use super::device;
use super::error::ObserverError;
use super::watching::Watching;
use crate::clock;
use crate::socket::{Burst, ProbeSocket};
use dwell_core::Nanos;
use dwell_core::inside::{Event, Losses, Missing, Point, Way};
use nix::net::if_::if_nametoindex;
use probe::{PAYLOAD, Probe, Route, points, size};
use reader::{Arrival, Reader};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Time from one probe to the next.
const PACE: Nanos = Nanos::from_millis(1);
/// How long what was seen is gathered before it is told.
const LOOK: Nanos = Nanos::from_millis(10);
/// A stamp that is not there by then does not come.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// The kernel begins to stamp arrivals a little after it was asked to.
const WARMING: Nanos = Nanos::from_millis(500);
/// What only eBPF sees.
const UNSEEN: [Point; 7] =
    [Point::Protocol, Point::Queue, Point::Waking, Point::Running, Point::Asked, Point::Read, Point::Handed];

/// Probes between two sockets of Dwell's own. What a host sends to itself goes through its loopback, whichever of its
/// addresses it is sent to.
pub struct OwnProbes {
    watching: Watching,
    missing: Vec<Missing>,
    /// Points of both ways that the kernel tells.
    given: Vec<Point>,
    route: Route,
    sender: ProbeSocket,
    reader: Reader,
    /// Sent and not yet told, the oldest first.
    under_way: VecDeque<Probe>,
    /// Number of the oldest.
    first: u32,
    /// When the next one leaves, on CLOCK_MONOTONIC.
    next: Nanos,
    losses: Losses,
}

impl OwnProbes {
    /// The interface that all of them go through.
    pub const INTERFACE: &str = "lo";

    /// Between two sockets at `address`, which is one of this host's; only the ways of `watching` are told. `why` there
    /// is no eBPF. It returns when it is known what the kernel tells; it is this thread that is then to wait.
    ///
    /// # Errors
    /// When there can be no sockets at this address, or the kernel stamps nothing.
    pub fn open(address: IpAddr, watching: &Watching, why: &ObserverError) -> Result<Self, ObserverError> {
        let interface = if_nametoindex(Self::INTERFACE);
        let interface =
            interface.map_err(|errno| failed("find the loopback's interface, lo")(errno.into()))?;
        let open = || -> io::Result<_> {
            let [sender, receiver] = [0, 1].map(|_| ProbeSocket::bind(SocketAddr::new(address, 0)));
            let (sender, receiver) = (sender?, receiver?);
            let [from, to] = [sender.local_addr()?, receiver.local_addr()?];
            sender.connect(to)?;
            receiver.connect(from)?;
            sender.stamp_discipline()?;
            Ok((sender, Reader::start(receiver)?, reader::here()?, [from, to]))
        };
        let (sender, reader, writer, [from, to]) =
            open().map_err(failed("open two sockets for probes of its own"))?;
        let size = size(address);
        let route = Route { from, to, interface, size, writer, reader: reader.process().clone() };
        let mut this = Self {
            watching: Watching { interface: Some(interface), ..watching.clone() },
            missing: Vec::new(),
            given: Vec::new(),
            route,
            sender,
            reader,
            under_way: VecDeque::new(),
            first: 0,
            next: clock::monotonic(),
            losses: Losses::default(),
        };
        this.survey(why)?;
        Ok(this)
    }

    /// Sends probes until one has all stamps, or there are none to be had.
    fn survey(&mut self, why: &ObserverError) -> Result<(), ObserverError> {
        let until = clock::monotonic() + WARMING;
        let all = || Way::ALL.into_iter().flat_map(points).copied();
        while clock::monotonic() < until && !all().all(|point| self.given.contains(&point)) {
            self.send()?;
            self.pause(until);
            self.gather()?;
            let seen = |point: &Point| self.under_way.iter().any(|probe| probe.times.at(*point).is_some());
            self.given = all().filter(seen).collect();
        }
        // Those were not measured: what still comes of them belongs to none.
        self.first = self.number();
        self.under_way.clear();
        let wanted = |way: &Way| self.watching.wants(*way);
        if !Way::ALL.iter().filter(|way| wanted(way)).any(|way| self.tells(*way)) {
            let source = io::Error::other("the kernel stamped none of them within half a second");
            return Err(failed("measure probes of its own")(source));
        }
        let ways: Vec<Way> = Way::ALL.into_iter().filter(wanted).collect();
        self.missing = device::missing(&self.watching);
        let unseen = UNSEEN.into_iter().filter(|point| ways.contains(&way_of(*point)));
        self.missing.extend(unseen.map(|point| {
            let reason = format!("only eBPF sees it, and {why}");
            Missing { point, reason }
        }));
        let ungiven = ways.iter().flat_map(|way| points(*way)).filter(|point| !self.given.contains(point));
        self.missing.extend(ungiven.map(|point| {
            let reason = "this kernel gave probes of Dwell's own no such stamp".into();
            Missing { point: *point, reason }
        }));
        self.missing.sort_by_key(|missing| missing.point);
        Ok(())
    }

    /// Whether a journey of this way has two points or more.
    fn tells(&self, way: Way) -> bool {
        points(way).iter().filter(|point| self.given.contains(point)).count() > 1
    }

    /// The points that cannot be seen, and why.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Packets whose journeys are not told.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Sends probes and tells their journeys; returns once some were told, or `timeout` is over.
    ///
    /// # Errors
    /// When a probe cannot be sent, or no longer be read.
    pub fn wait(&mut self, timeout: Duration, tell: &mut dyn FnMut(Event)) -> Result<(), ObserverError> {
        let began = clock::monotonic();
        let until = began + Nanos(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX / 2));
        let mut told = false;
        loop {
            self.gather()?;
            told |= self.tell(tell);
            let now = clock::monotonic();
            if now >= until || told && now - began >= LOOK {
                return Ok(());
            }
            if now >= self.next {
                self.send()?;
            }
            self.pause(until);
        }
    }

    /// Sleeps until the next probe is to leave, or until `until`.
    fn pause(&self, until: Nanos) {
        let left = self.next.min(until) - clock::monotonic();
        std::thread::sleep(Duration::from_nanos(u64::try_from(left.0).unwrap_or(0)));
    }

    /// The number of the next probe.
    fn number(&self) -> u32 {
        self.first.wrapping_add(self.under_way.len() as u32)
    }

    fn send(&mut self) -> Result<(), ObserverError> {
        let mut payload = [0; PAYLOAD];
        payload[..4].copy_from_slice(&self.number().to_be_bytes());
        let packets: [&[u8]; 1] = [&payload];
        let mut burst = Burst::new(&packets);
        let mut probe = Probe { core: core(), ..Probe::default() };
        let now = clock::monotonic();
        self.next = (self.next + PACE).max(now);
        probe.times.set(Point::Called, clock::realtime());
        self.sender.send(&mut burst).map_err(failed("send a probe of its own"))?;
        self.under_way.push_back(probe);
        Ok(())
    }

    /// Takes the stamps that came.
    fn gather(&mut self) -> Result<(), ObserverError> {
        let doing = "read the stamps of its own probes";
        while let Some(stamp) = self.sender.departure_stamp().map_err(failed(doing))? {
            let (point, Some(kernel)) = (stamp.point, stamp.kernel) else { continue };
            if let Some(probe) = self.probe(stamp.id) {
                probe.note(point, kernel);
            }
        }
        while let Some(arrival) = self.reader.arrival() {
            let Arrival { number, core, stamps } = arrival.map_err(failed("read a probe of its own"))?;
            if let Some(probe) = self.probe(number) {
                probe.reader_core = Some(core);
                probe.note(Point::Stamped, stamps.application);
                stamps.kernel.iter().for_each(|stamp| probe.note(Point::Driver, *stamp));
            }
        }
        Ok(())
    }

    fn probe(&mut self, number: u32) -> Option<&mut Probe> {
        self.under_way.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Tells of those that are whole, and of those of which nothing more will come.
    fn tell(&mut self, tell: &mut dyn FnMut(Event)) -> bool {
        let ways: Vec<Way> =
            Way::ALL.into_iter().filter(|way| self.watching.wants(*way) && self.tells(*way)).collect();
        let whole = |probe: &Probe, way: Way| {
            let mut given = points(way).iter().filter(|point| self.given.contains(point));
            given.all(|point| probe.times.at(*point).is_some())
        };
        // Read anew each time: somebody may step the clock.
        let (ahead, now) = (clock::realtime_minus_monotonic(), clock::realtime());
        let mut told = false;
        while let Some(probe) = self.under_way.front() {
            let late = probe.times.at(Point::Called).is_none_or(|called| now - called > PATIENCE);
            if !late && !ways.iter().all(|way| whole(probe, *way)) {
                break;
            }
            for way in &ways {
                if whole(probe, *way) {
                    tell(Event::Journey(Box::new(self.route.journey(probe, *way, ahead))));
                    told = true;
                } else {
                    self.losses.unmatched += 1;
                }
            }
            self.under_way.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        told
    }
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> ObserverError {
    move |source| ObserverError::System { doing, source }
}

/// The core that this thread runs on just now.
fn core() -> u32 {
    nix::sched::sched_getcpu().map_or(0, |core| core as u32)
}

/// The way that passes a point; both pass none.
fn way_of(point: Point) -> Way {
    if point < Point::Called { Way::Receive } else { Way::Send }
}
