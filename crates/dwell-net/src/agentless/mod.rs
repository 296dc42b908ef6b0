//! A live path to a host without an agent, and back: its kernel answers, ours stamps.
//!
//! Requests leave by a raw socket, paced as probes are. Nobody waits for the replies: the kernel stamps and queues
//! them, and they are read when a fleet is over. A SYN that meets an open port is answered by a SYN/ACK, which our
//! kernel, knowing of no connection, answers with the RST that we owe (tests/live/agentless.rs holds it to that).

mod error;
mod packet;

pub use error::AgentlessError;

use crate::clock;
use crate::facts;
use crate::pace::Pacer;
use crate::prober::Placement;
use crate::socket::ProbeSocket;
use dwell_core::host::agentless::Request;
use dwell_core::{
    Arrival, Circumstances, Departure, Fate, Fleet, HostFacts, Nanos, Observation, Packet, Passage, Path,
    PathFacts, Stamps, Train,
};
use error::asked;
use nix::sys::socket::SockProtocol;
use packet::{Answer, Maker};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Which host, and what it is asked.
#[derive(Clone, Debug)]
pub struct AgentlessConfig {
    /// Its name or address.
    pub host: String,
    /// What it is asked.
    pub request: Request,
    /// The TCP port that SYNs go to.
    pub port: u16,
    /// Core that the calling thread is pinned to.
    pub core: Option<usize>,
    /// Whether the calling thread asks for real-time priority.
    pub real_time: bool,
}

/// First requests, of which one must be answered, and how long each is given.
const ATTEMPTS: u32 = 3;
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Replies that are late by more than so many of the longest round trips so far count as lost.
const LATE: i64 = 4;
/// And are waited for so long in any case.
const LEAST_PATIENCE: Nanos = Nanos::from_millis(100);
/// A difference of the clocks that changed by more is a step.
const STEP: Nanos = Nanos::from_millis(1);
/// What is read of a packet: all headers, and the mark of a request.
const START: usize = 256;

/// The path.
pub struct AgentlessPath {
    maker: Maker,
    /// Connected to the host.
    requests: ProbeSocket,
    /// Of all ICMP that comes to this host.
    icmp: ProbeSocket,
    pacer: Pacer,
    facts: PathFacts,
    near: HostFacts,
    /// Number of the next request.
    next: u32,
    /// Place of the next reply in the order of arrival.
    place: u32,
    longest: Nanos,
    clocks: Nanos,
    seen: Seen,
}

/// What came, beside replies as they should be.
#[derive(Clone, Debug, Default)]
struct Seen {
    opened: bool,
    /// Replies by other addresses.
    foreign: BTreeMap<IpAddr, u64>,
    refused: BTreeMap<String, u64>,
}

impl AgentlessPath {
    /// Finds out whether the host answers.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn connect(config: &AgentlessConfig) -> Result<Self, AgentlessError> {
        let unknown = |source| AgentlessError::UnknownHost { host: config.host.clone(), source };
        let mut addresses = (config.host.as_str(), 0).to_socket_addrs().map_err(unknown)?;
        let far = addresses.next().ok_or_else(|| unknown(io::Error::other("it has no address")))?.ip();
        let any: IpAddr =
            if far.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let placement = Placement { core: config.core, real_time: config.real_time };
        let placed = placement.apply().map_err(|error| AgentlessError::Near(io::Error::other(error)))?;
        let open = |protocol| ProbeSocket::raw(any, protocol).map_err(refused_socket);
        let echo = if far.is_ipv4() { SockProtocol::Icmp } else { SockProtocol::IcmpV6 };
        let requests = open(match config.request {
            Request::Icmp => echo,
            Request::Tcp => SockProtocol::Tcp,
        })?;
        let unreachable = |source| AgentlessError::Unreachable { address: far, source };
        requests.connect(SocketAddr::new(far, 0)).map_err(unreachable)?;
        let near = requests.local_addr().map_err(AgentlessError::Near)?.ip();
        if near == far {
            return Err(AgentlessError::OwnAddress { address: far });
        }
        if config.request == Request::Icmp {
            requests.deafen().map_err(AgentlessError::Near)?;
        }
        let mut nonce = [0; 8];
        let no_chance = |_| AgentlessError::Near(io::Error::other("the system gives no random numbers"));
        SystemRandom::new().fill(&mut nonce).map_err(no_chance)?;
        let maker =
            Maker { request: config.request, near, far, port: config.port, nonce: u64::from_be_bytes(nonce) };
        facts::ask_for_hardware_stamps(near);
        let facts = PathFacts {
            max_size: maker.max_size(facts::mtu_towards(near).unwrap_or(1_500)),
            min_size: maker.min_size(),
            resolution: clock::resolution(),
            end_link: None,
            narrow_link: None,
            coalescence: None,
        };
        let mut path = Self {
            maker,
            requests,
            icmp: open(echo)?,
            pacer: Pacer::default(),
            facts,
            near: facts::gather(near, placed),
            next: 0,
            place: 0,
            longest: PATIENCE,
            clocks: clock::realtime_minus_monotonic(),
            seen: Seen::default(),
        };
        path.first_answer()?;
        Ok(path)
    }

    /// Asks until something is answered.
    fn first_answer(&mut self) -> Result<(), AgentlessError> {
        let packet = Packet { size: self.facts.min_size, hold: Nanos::ZERO };
        let train = Train { packets: vec![packet], ..Train::default() };
        for _ in 0..ATTEMPTS {
            let passages = self.carry(&vec![Departure { pause: Nanos::ZERO, train: train.clone() }])?;
            let fate = passages.first().and_then(|passage| passage.observation.fates.first());
            if let Some((fate, arrival)) = fate.and_then(|fate| Some((fate, fate.arrival?))) {
                // The first was slow where neighbours had to be found.
                self.longest = (arrival.stamps.nearest_wire() - fate.sent.nearest_wire()).max(Nanos(1));
                return Ok(());
            }
        }
        Err(AgentlessError::NoAnswer {
            address: self.maker.far,
            request: self.maker.request,
            port: self.maker.port,
            why: self.seen.why(self.maker.request),
        })
    }

    /// This host, and what came that should not.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let Maker { request, port, far, .. } = self.maker;
        let mut notes: BTreeMap<String, String> =
            [("asked".to_owned(), asked(request, port)), ("address".to_owned(), far.to_string())].into();
        let mut note = |name: &str, text: String| notes.insert(name.to_owned(), text);
        if request == Request::Tcp {
            note("port", if self.seen.opened { "open" } else { "closed" }.to_owned());
        }
        if let Some(text) = list(&self.seen.foreign) {
            note("replies by other addresses", text);
        }
        if let Some(text) = list(&self.seen.refused) {
            note("refused", text);
        }
        let mut sender = self.near.clone();
        sender.stamps = vec!["application".to_owned(), "kernel".to_owned()];
        Circumstances { world: "live".to_owned(), sender, notes, ..Circumstances::default() }
    }

    /// Reads what has come and, where nothing has, waits for up to `patience`.
    fn read(&mut self, first: u32, replies: &mut [Option<Arrival>], patience: Nanos) -> io::Result<bool> {
        let tcp = self.maker.request == Request::Tcp;
        let mut start = [0; START];
        let waited = if tcp { &mut self.requests } else { &mut self.icmp };
        waited.set_patience(Some(patience))?;
        let mut received = waited.receive(&mut start, Nanos::ZERO)?;
        let any = received.is_some();
        let read = if tcp { Maker::read_tcp } else { Maker::read_icmp };
        while let Some(packet) = received {
            let bytes = &start[..packet.length.min(START)];
            let answer = read(&self.maker, bytes);
            self.note(answer, packet.from.map(|from| from.ip()), packet.stamps, first, replies);
            let socket = if tcp { &mut self.requests } else { &mut self.icmp };
            received = socket.receive_now(&mut start, Nanos::ZERO)?;
        }
        // What is said of SYNs by others.
        while tcp && let Some(packet) = self.icmp.receive_now(&mut start, Nanos::ZERO)? {
            let answer = self.maker.read_icmp(&start[..packet.length.min(START)]);
            self.note(answer, None, packet.stamps, first, replies);
        }
        Ok(any)
    }

    fn note(
        &mut self,
        answer: Option<Answer>,
        from: Option<IpAddr>,
        stamps: Stamps,
        first: u32,
        replies: &mut [Option<Arrival>],
    ) {
        match (answer, from) {
            (Some(Answer::Refused(why)), _) => *self.seen.refused.entry(why).or_default() += 1,
            (Some(Answer::Reply { .. }), Some(from)) if from != self.maker.far => {
                *self.seen.foreign.entry(from).or_default() += 1;
            }
            (Some(Answer::Reply { number, opened }), _) => {
                self.seen.opened |= opened;
                // Of an earlier fleet it is too late.
                let Some(slot) = replies.get_mut(number.wrapping_sub(first) as usize) else { return };
                let stamps = Stamps { application: stamps.nearest_wire(), ..stamps };
                slot.get_or_insert(Arrival { stamps, order: self.place, copies: 0 }).copies += 1;
                self.place = self.place.wrapping_add(1);
            }
            (None, _) => {}
        }
    }

    fn ask(&mut self, fleet: &Fleet) -> io::Result<(Vec<Stamps>, Vec<Option<Arrival>>)> {
        let first = self.next;
        let count: usize = fleet.iter().map(|departure| departure.train.packets.len()).sum();
        self.next = first.wrapping_add(count as u32);
        let maker = self.maker;
        let pack = |train: &Train, place: u32| {
            let numbers = (first.wrapping_add(place)..).take(train.packets.len());
            Ok(train
                .packets
                .iter()
                .zip(numbers)
                .map(|(packet, number)| maker.make(*packet, number))
                .collect())
        };
        let sent = self.pacer.carry(&mut self.requests, fleet, &pack)?;
        let mut replies = vec![None; count];
        let until = clock::monotonic() + (self.longest * LATE).clamp(LEAST_PATIENCE, PATIENCE);
        loop {
            let left = until - clock::monotonic();
            self.read(first, &mut replies, left.max(Nanos(1)))?;
            if left <= Nanos::ZERO || replies.iter().all(Option::is_some) {
                break;
            }
        }
        Ok((sent, replies))
    }
}

impl Path for AgentlessPath {
    type Error = AgentlessError;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, AgentlessError> {
        let (sent, replies) = self.ask(fleet).map_err(AgentlessError::Near)?;
        let clocks = clock::realtime_minus_monotonic();
        if (clocks - self.clocks).abs() > STEP {
            return Err(AgentlessError::ClockStepped(clocks - self.clocks));
        }
        // NTP may bend it a little all the time.
        self.clocks = clocks;
        let mut packets = sent.into_iter().zip(replies);
        let passage = |Departure { train, .. }: &Departure| {
            let of_train = packets.by_ref().take(train.packets.len());
            let fates = train.packets.iter().zip(of_train);
            let mut fates: Vec<Fate> =
                fates.map(|(packet, (sent, arrival))| Fate { packet: *packet, sent, arrival }).collect();
            Observation::rank(&mut fates);
            Passage {
                observation: Observation { direction: train.direction, fates, overflowed: 0 },
                truth: None,
            }
        };
        Ok(fleet.iter().map(passage).collect())
    }
}

impl Seen {
    /// Why there is no answer.
    fn why(&self, request: Request) -> String {
        if let Some((why, _)) = self.refused.iter().next() {
            return why.clone();
        }
        if let Some(text) = list(&self.foreign) {
            return format!("replies come from another address ({text}), which nobody asked");
        }
        match request {
            Request::Icmp => {
                "is it up, and does a filter let them through? `--agentless tcp` may be answered"
            }
            Request::Tcp => {
                "is it up, or is the port filtered? try another --target-port, or `--agentless icmp`"
            }
        }
        .to_owned()
    }
}

fn refused_socket(error: io::Error) -> AgentlessError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => AgentlessError::Privilege,
        _ => AgentlessError::Near(error),
    }
}

/// `None` of nothing.
fn list<T: std::fmt::Display>(counts: &BTreeMap<T, u64>) -> Option<String> {
    let told: Vec<String> = counts.iter().map(|(what, count)| format!("{what}: {count}")).collect();
    (!told.is_empty()).then(|| told.join(", "))
}
