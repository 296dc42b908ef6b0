//! A live path hop by hop: probes leave by a raw socket with TTLs of their own, what routers say comes in by another. Our
//! kernel stamps both.

mod error;

pub use error::HopError;

use crate::clock;
use crate::facts;
use crate::pace::Pacer;
use crate::prober::Placement;
use crate::socket::ProbeSocket;
use dwell_core::hop::{Answer, Flow, HopFacts, HopPath, Reply, Round, Shot, Sighting, Spent};
use dwell_core::unit::ETHERNET_OVERHEAD;
use dwell_core::{Bytes, Circumstances, Departure, HostFacts, Nanos, Packet, Stamps, Train};
use nix::sys::socket::SockProtocol;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Where traceroute's probes go, and where hardly anybody listens.
const TARGET_PORT: u16 = 33_434;
/// What is read of a message: all headers, and what it quotes of a probe.
const START: usize = 256;
/// How long answers are waited for, before the first and at most; after that, so many of the longest round trips.
const PATIENCE: Nanos = Nanos::from_secs(1);
const LATE: i64 = 4;
const LEAST_PATIENCE: Nanos = Nanos::from_millis(50);
/// A difference of the clocks that changed by more is a step.
const STEP: Nanos = Nanos::from_millis(1);

/// The path.
pub struct LiveHops {
    flow: Flow,
    /// Connected to the host.
    probes: ProbeSocket,
    /// Of all ICMP that comes to this host.
    icmp: ProbeSocket,
    pacer: Pacer,
    facts: HopFacts,
    near: HostFacts,
    /// Holds the source port, so that no program's packets are taken for probes.
    _port: UdpSocket,
    /// Number of the next probe; never 0.
    next: u16,
    longest: Nanos,
    clocks: Nanos,
    /// Messages that came too late, or twice.
    late: u64,
}

impl LiveHops {
    /// The path to `host`, by its name or address. With a core, the calling thread is pinned to it, and asks for real-time
    /// priority. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn open(host: &str, core: Option<usize>) -> Result<Self, HopError> {
        let unknown = |source| HopError::UnknownHost { host: host.to_owned(), source };
        let mut addresses = (host, 0).to_socket_addrs().map_err(unknown)?;
        let far = addresses.next().ok_or_else(|| unknown(io::Error::other("it has no address")))?.ip();
        let any: IpAddr =
            if far.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let placement = Placement { core, real_time: core.is_some() };
        let placed = placement.apply().map_err(|error| HopError::Near(io::Error::other(error)))?;
        let unreachable = |source| HopError::Unreachable { address: far, source };
        let port = UdpSocket::bind((any, 0)).map_err(HopError::Near)?;
        port.connect((far, TARGET_PORT)).map_err(unreachable)?;
        let local = port.local_addr().map_err(HopError::Near)?;
        let near = local.ip();
        if near == far {
            return Err(HopError::OwnAddress { address: far });
        }
        let probes = ProbeSocket::raw(any, SockProtocol::Raw).map_err(HopError::socket)?;
        probes.connect(SocketAddr::new(far, 0)).map_err(unreachable)?;
        let protocol = if far.is_ipv4() { SockProtocol::Icmp } else { SockProtocol::IcmpV6 };
        let icmp = ProbeSocket::raw(any, protocol).map_err(HopError::socket)?;
        facts::ask_for_hardware_stamps(near);
        let flow = Flow { near, far, ports: [local.port(), TARGET_PORT] };
        let mtu = facts::mtu_towards(near).unwrap_or(1_500);
        Ok(Self {
            flow,
            probes,
            icmp,
            pacer: Pacer::default(),
            facts: HopFacts { least: flow.least(), most: Bytes(mtu) + ETHERNET_OVERHEAD },
            near: facts::gather(near, placed),
            _port: port,
            next: 1,
            longest: PATIENCE,
            clocks: clock::realtime_minus_monotonic(),
            late: 0,
        })
    }

    /// This host, and what came that should not.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let mut notes: BTreeMap<String, String> = [("address".to_owned(), self.flow.far.to_string())].into();
        if self.late > 0 {
            notes.insert("messages that came late or twice".to_owned(), self.late.to_string());
        }
        let mut sender = self.near.clone();
        sender.stamps = vec!["application".to_owned(), "kernel".to_owned()];
        Circumstances { world: "live".to_owned(), sender, notes, ..Circumstances::default() }
    }

    /// Reads what has come and, where nothing has, waits for up to `patience`.
    fn read(
        &mut self,
        heard: &mut BTreeMap<u16, Answer>,
        first: u16,
        count: usize,
        patience: Nanos,
    ) -> io::Result<()> {
        let mut start = [0; START];
        self.icmp.set_patience(Some(patience))?;
        let mut received = self.icmp.receive(&mut start, Nanos::ZERO)?;
        while let Some(packet) = received {
            let bytes = &start[..packet.length.min(START)];
            if let Some(Reply { says, number, size }) = self.flow.read(bytes, packet.length) {
                let by = packet.from.map(|from| from.ip());
                let answer = Answer { says, by, size, at: packet.stamps.nearest_wire() };
                let ours = usize::from(place(first, number)) < count;
                if !ours || heard.contains_key(&number) {
                    self.late += 1;
                } else {
                    heard.insert(number, answer);
                }
            }
            received = self.icmp.receive_now(&mut start, Nanos::ZERO)?;
        }
        Ok(())
    }

    fn ask(&mut self, round: &Round) -> io::Result<Vec<Spent>> {
        let shots: Vec<Shot> = round.iter().flat_map(|volley| volley.shots.iter().copied()).collect();
        let first = self.next;
        let flow = self.flow;
        let pack = |train: &Train, from: u32| {
            let shots = shots.iter().zip(0u32..).skip(from as usize).take(train.packets.len());
            let make = |(shot, index): (&Shot, u32)| {
                let number = number(first, index);
                flow.write(shot.size, shot.hop, number)
                    .ok_or_else(|| io::Error::other("source and destination are of two versions of IP"))
            };
            shots.map(make).collect()
        };
        let packet = |shot: &Shot| Packet { size: shot.size, hold: Nanos::ZERO };
        let fleet: Vec<Departure> = round
            .iter()
            .map(|volley| {
                let packets = volley.shots.iter().map(packet).collect();
                Departure { pause: volley.pause, train: Train { packets, ..Train::default() } }
            })
            .collect();
        self.next = number(first, shots.len() as u32);
        let sent: Vec<Stamps> = self.pacer.carry(&mut self.probes, &fleet, &pack)?;
        let mut heard = BTreeMap::new();
        let asked = shots.iter().filter(|shot| shot.hop.is_some()).count();
        let until = clock::monotonic() + (self.longest * LATE).clamp(LEAST_PATIENCE, PATIENCE);
        loop {
            let left = until - clock::monotonic();
            self.read(&mut heard, first, shots.len(), left.max(Nanos(1)))?;
            if left <= Nanos::ZERO || heard.len() >= asked {
                break;
            }
        }
        let spent = |((shot, stamps), index): ((&Shot, Stamps), u32)| Spent {
            shot: *shot,
            left: stamps.nearest_wire(),
            answer: shot.hop.and_then(|_| heard.remove(&number(first, index))),
        };
        let spent: Vec<Spent> = shots.iter().zip(sent).zip(0..).map(spent).collect();
        let slowest = spent.iter().filter_map(Spent::round_trip).fold(0.0, f64::max);
        if slowest > 0.0 {
            // The first was slow where neighbours had to be found.
            let slowest = Nanos::from_f64(slowest);
            self.longest = if self.longest == PATIENCE { slowest } else { self.longest.max(slowest) };
        }
        Ok(spent)
    }
}

/// The number of the probe at `index` behind the one that has number `first`: 1 to 65,535, and round again.
fn number(first: u16, index: u32) -> u16 {
    let most = u32::from(u16::MAX);
    ((u32::from(first) - 1 + index) % most + 1) as u16
}

/// How far behind `first` a number is.
fn place(first: u16, number: u16) -> u16 {
    let most = u32::from(u16::MAX);
    if number == 0 { u16::MAX } else { ((u32::from(number) + most - u32::from(first)) % most) as u16 }
}

impl HopPath for LiveHops {
    type Error = HopError;

    fn facts(&self) -> HopFacts {
        self.facts
    }

    fn fire(&mut self, round: &Round) -> Result<Vec<Sighting>, HopError> {
        let spent = self.ask(round).map_err(HopError::Near)?;
        let clocks = clock::realtime_minus_monotonic();
        if (clocks - self.clocks).abs() > STEP {
            return Err(HopError::ClockStepped(clocks - self.clocks));
        }
        // NTP may bend it a little all the time.
        self.clocks = clocks;
        let mut spent = spent.into_iter();
        Ok(round.iter().map(|volley| spent.by_ref().take(volley.shots.len()).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round_without_zero() {
        assert_eq!([0, 1, 2, 65_535].map(|index| number(65_534, index)), [65_534, 65_535, 1, 65_534]);
        for (first, index) in [(1, 0), (65_535, 1), (65_000, 2_000), (7, 65_534)] {
            assert_eq!(u32::from(place(first, number(first, index))), index);
        }
        assert_eq!(place(5, 0), u16::MAX);
    }
}
