//! One probe of Dwell's own, and its two journeys: it leaves this host and comes to it.

use dwell_core::inside::{Flow, Journey, Point, Process, Protocol, Times, Way};
use dwell_core::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a probe; the first four are its number.
pub(super) const PAYLOAD: usize = 32;

/// A probe under way. Its times are stamps, of CLOCK_REALTIME.
#[derive(Default)]
pub(super) struct Probe {
    /// Core that sent it. It is also the one that stamped its arrival: the loopback hands a packet over at once.
    pub(super) core: u32,
    /// Core of its reader.
    pub(super) reader_core: Option<u32>,
    /// Of both ways.
    pub(super) times: Times,
}

impl Probe {
    /// Notes a stamp, where there is none.
    pub(super) const fn note(&mut self, point: Point, stamp: Nanos) {
        if self.times.at(point).is_none() {
            self.times.set(point, stamp);
        }
    }
}

/// The points of a way that socket stamps tell.
pub(super) const fn points(way: Way) -> &'static [Point] {
    match way {
        Way::Receive => &[Point::Driver, Point::Stamped],
        Way::Send => &[Point::Called, Point::Discipline, Point::Xmit],
        Way::Answer => &[],
    }
}

/// Size of a probe between two sockets at this address.
pub(super) const fn size(address: IpAddr) -> Bytes {
    const UDP: usize = 8;
    let ip = if address.is_ipv4() { 20 } else { 40 };
    Bytes((ip + UDP + PAYLOAD) as u64)
}

/// What all probes have in common.
pub(super) struct Route {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) interface: u32,
    pub(super) size: Bytes,
    pub(super) writer: Process,
    pub(super) reader: Process,
}

impl Route {
    /// The journey of `probe` that goes this way; `ahead` is how far CLOCK_REALTIME is ahead of the clock of journeys.
    pub(super) fn journey(&self, probe: &Probe, way: Way, ahead: Nanos) -> Journey {
        let mut times = Times::default();
        for point in points(way) {
            if let Some(stamp) = probe.times.at(*point) {
                times.set(*point, stamp - ahead);
            }
        }
        let receive = way == Way::Receive;
        let (local, remote, process) =
            if receive { (self.to, self.from, &self.reader) } else { (self.from, self.to, &self.writer) };
        // The driver's point is the kernel's stamp here, which checks nothing.
        Journey {
            interface: self.interface,
            process: Some(process.clone()),
            core: probe.core,
            reader_core: probe.reader_core.filter(|_| receive),
            ..Journey::new(way, Flow { protocol: Protocol::Udp, local, remote }, self.size, times)
        }
    }
}
