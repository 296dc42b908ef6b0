//! A live path: trains between this host and an agent.

use crate::allowance::Allowance;
use crate::channel::{Channel, ChannelError};
use crate::clock;
use crate::facts;
use crate::identity::{Identity, Peers, PublicKey};
use crate::mtu;
use crate::pace::Pacer;
use crate::probe::{Framing, HELLO, Seal};
use crate::prober::{Deadline, Endpoint, Expectation, Placement, Prober, Seen};
use crate::protocol::{Announcement, ClockReading, Limits, PORT, Refusal, Reply, Request};
use crate::socket::ProbeSocket;
use dwell_core::{
    Arrival, Bytes, Circumstances, Departure, Direction, Fate, Fleet, HostFacts, Nanos, Observation, Passage,
    Path, PathFacts, Stamps,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// To which agent, and as whom.
#[derive(Clone, Debug)]
pub struct ConnectConfig {
    /// Name or address of its host.
    pub host: String,
    /// Its port, of control and probes alike.
    pub port: u16,
    /// Who we are.
    pub identity: Identity,
    /// Which keys the agent may have.
    pub expected: Peers,
    /// Core that the probing thread is pinned to.
    pub core: Option<usize>,
    /// Whether the probing thread asks for real-time priority.
    pub real_time: bool,
    /// How long a connection attempt may take.
    pub patience: Duration,
}

impl ConnectConfig {
    /// The usual: the usual port, no pinning.
    #[must_use]
    pub fn new(host: &str, identity: Identity, expected: Peers) -> Self {
        Self {
            host: host.to_owned(),
            port: PORT,
            identity,
            expected,
            core: None,
            real_time: false,
            patience: Duration::from_secs(5),
        }
    }
}

/// Why no path could be had.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host's name means nothing.
    #[error("unknown host {host:?}: {source}")]
    UnknownHost {
        /// The name.
        host: String,
        /// What the resolver says.
        #[source]
        source: io::Error,
    },
    /// Nobody listens there.
    #[error("no agent at {address}: nobody listens on TCP port {port}; start `dwell agent` there", port = .address.port())]
    NoAgent {
        /// Where.
        address: SocketAddr,
    },
    /// No answer at all.
    #[error("no answer from {address} on TCP port {port}: {source}; is the host up, and does a firewall let the port through?", port = .address.port())]
    Unreachable {
        /// Where.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The agent has another key than expected.
    #[error(
        "the agent at {address} has another key than expected: presented {}, expected {}; if that is right, put {presented} into the file of peers",
        .presented.fingerprint(), fingerprints(.expected)
    )]
    WrongKey {
        /// Where.
        address: SocketAddr,
        /// The key that it has.
        presented: PublicKey,
        /// Those that it may have.
        expected: Peers,
    },
    /// The agent does not know us.
    #[error("the agent at {address} does not know this host; put this line into its file of peers: {key}")]
    NotAPeer {
        /// Where.
        address: SocketAddr,
        /// Our key.
        key: PublicKey,
    },
    /// Something else listens there, or another version.
    #[error("the agent at {address} speaks version {theirs} of the protocol, this Dwell version {ours}; update the older one", ours = crate::protocol::VERSION)]
    Version {
        /// Where.
        address: SocketAddr,
        /// What it speaks.
        theirs: u16,
    },
    /// The control channel failed.
    #[error("the agent at {address}: {source}; is it an agent that listens there?")]
    Channel {
        /// Where.
        address: SocketAddr,
        /// How.
        #[source]
        source: ChannelError,
    },
    /// The agent will not.
    #[error("the agent at {address} refuses: {refusal}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
    /// Control works, but no probe arrives.
    #[error("control works, but no probe arrives at {address}: something drops UDP to port {port}; let it through", port = .address.port())]
    ProbesDropped {
        /// Where.
        address: SocketAddr,
    },
    /// This host cannot probe.
    #[error("cannot open a probe socket with time stamps on this host: {0}")]
    NoStamps(#[source] io::Error),
}

fn fingerprints(peers: &Peers) -> String {
    let all: Vec<String> = peers.iter().map(|(key, _)| key.fingerprint()).collect();
    if all.is_empty() { "none (the file of peers is empty)".to_owned() } else { all.join(" or ") }
}

/// Which host.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// This one.
    Near,
    /// The agent's.
    Far,
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Near => "this host",
            Self::Far => "the agent's host",
        })
    }
}

/// Why a path carries nothing any more.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The agent is gone and does not come back.
    #[error("the agent vanished ({lost}), and there is no new session: {source}")]
    Gone {
        /// How the session was lost.
        lost: ChannelError,
        /// Why there is no other.
        #[source]
        source: Box<ConnectError>,
    },
    /// The agent vanished while a fleet was under way.
    #[error("the agent vanished in the middle of a fleet: {0}")]
    Vanished(#[source] ChannelError),
    /// The agent will not.
    #[error("the agent refuses: {0}")]
    Refused(Refusal),
    /// The agent's probes do not reach this host.
    #[error("no probe arrives from {address}: something drops UDP from port {port} to this host; let it through to measure this direction", port = .address.port())]
    ReverseDropped {
        /// The agent's address.
        address: SocketAddr,
    },
    /// A clock was stepped, so that stamps before and after do not fit together.
    #[error(
        "the clock of {host} was stepped by {step} in the middle of the run; measure again when it is steady"
    )]
    ClockStepped {
        /// Whose.
        host: Host,
        /// By how much.
        step: Nanos,
    },
    /// This host cannot send or receive.
    #[error("probing failed on this host: {0}")]
    Near(#[source] io::Error),
}

/// A session with an agent.
struct Link {
    channel: Channel,
    prober: Prober,
    address: SocketAddr,
    local: SocketAddr,
    limits: Limits,
    far_facts: HostFacts,
    resolution: Nanos,
    /// The least time that an exchange on the control channel took.
    round_trip: Nanos,
    /// Whether the agent's probes reach this host.
    proven: bool,
    allowance: Allowance,
    near_clock: ClockReading,
    far_clock: ClockReading,
    /// Sequence of the next packet.
    next: u32,
}

/// A path between this host and an agent.
pub struct LivePath {
    config: ConnectConfig,
    link: Link,
    facts: PathFacts,
    near_facts: HostFacts,
}

impl LivePath {
    /// Opens a session with an agent and finds out how large packets may be.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn connect(config: ConnectConfig) -> Result<Self, ConnectError> {
        let mut link = Link::open(&config)?;
        let framing = Framing::of(link.address.ip());
        let sendable =
            facts::mtu_towards(link.local.ip()).map_or(Bytes(u64::MAX), |mtu| framing.size_of_mtu(mtu));
        let forward = Sizing { link: &mut link, direction: Direction::Forward, ceiling: sendable };
        let largest_forward = mtu::search(forward, framing)?;
        let largest_reverse = if link.proven {
            let reverse = Sizing { link: &mut link, direction: Direction::Reverse, ceiling: largest_forward };
            Some(mtu::search(reverse, framing)?)
        } else {
            None
        };
        let max_size = largest_reverse.unwrap_or(largest_forward);
        let near_facts = facts::gather(link.local.ip(), link.prober.placed());
        let facts =
            PathFacts { max_size, min_size: framing.min_size(), resolution: link.resolution, end_link: None };
        Ok(Self { config, link, facts, near_facts })
    }

    /// Both hosts, as far as they tell.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        Circumstances {
            world: "live".to_owned(),
            sender: self.near_facts.clone(),
            receiver: self.link.far_facts.clone(),
            ..Circumstances::default()
        }
    }

    /// The agent's address.
    #[must_use]
    pub const fn far_address(&self) -> SocketAddr {
        self.link.address
    }

    /// Carries trains of one direction that stay within the agent's limits.
    fn carry_some(&mut self, fleet: &[Departure], direction: Direction) -> Result<Vec<Passage>, LiveError> {
        match self.link.carry(fleet, direction) {
            Err(CarryError::BeforeStart(lost)) => {
                // An agent that was restarted, or ended an idle session: nothing is lost yet.
                self.link = Link::open(&self.config)
                    .map_err(|source| LiveError::Gone { lost, source: Box::new(source) })?;
                self.link.carry(fleet, direction)
            }
            other => other,
        }
        .map_err(|error| match error {
            CarryError::BeforeStart(error) | CarryError::Midway(error) => LiveError::Vanished(error),
            CarryError::Live(error) => error,
        })
    }
}

impl Path for LivePath {
    type Error = LiveError;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, LiveError> {
        let mut passages = Vec::with_capacity(fleet.len());
        let mut rest = fleet.as_slice();
        while let Some(first) = rest.first() {
            let direction = first.train.direction;
            let (some, after) = rest.split_at(fitting(rest, direction, &self.link.limits));
            passages.extend(self.carry_some(some, direction)?);
            rest = after;
        }
        Ok(passages)
    }
}

/// How many trains from the front can go as one fleet: same direction, within the agent's limits. At least one: what
/// is too much by itself the agent refuses, and says why.
fn fitting(fleet: &[Departure], direction: Direction, limits: &Limits) -> usize {
    let mut packets = 0;
    let mut duration = Nanos::ZERO;
    let fits = |departure: &&Departure| {
        packets += departure.train.packets.len();
        duration += crate::protocol::duration(std::slice::from_ref(*departure));
        departure.train.direction == direction
            && packets <= limits.packets_per_fleet as usize
            && duration <= limits.fleet_duration
    };
    fleet.iter().take_while(fits).count().max(1)
}

/// What can go wrong with one fleet.
#[derive(Debug)]
enum CarryError {
    /// The channel failed, and no packet was sent yet.
    BeforeStart(ChannelError),
    /// The channel failed, and packets were sent.
    Midway(ChannelError),
    /// Anything else.
    Live(LiveError),
}

impl Link {
    fn open(config: &ConnectConfig) -> Result<Self, ConnectError> {
        let (stream, address) = reach(config)?;
        let local = stream.local_addr().map_err(ConnectError::NoStamps)?;
        let failed = |source| ConnectError::Channel { address, source };
        let mut channel =
            Channel::connect(stream, &config.identity, &config.expected).map_err(|error| match error {
                ChannelError::Stranger(presented) => {
                    ConnectError::WrongKey { address, presented, expected: config.expected.clone() }
                }
                ChannelError::Unknown => {
                    ConnectError::NotAPeer { address, key: config.identity.public_key() }
                }
                ChannelError::Version { theirs } => ConnectError::Version { address, theirs },
                other => failed(other),
            })?;
        let welcome = match channel.receive(CONTROL_PATIENCE).map_err(failed)? {
            Reply::Welcome(welcome) => *welcome,
            Reply::Refused(refusal) => return Err(ConnectError::Refused { address, refusal }),
            other => return Err(failed(unexpected(&other))),
        };
        let round_trip = round_trip(&mut channel).map_err(failed)?;

        let mut key = [0; 16];
        SystemRandom::new()
            .fill(&mut key)
            .map_err(|_| ConnectError::NoStamps(io::Error::other("no random bytes for a session's key")))?;
        channel.send(&Request::Open { key }).map_err(failed)?;
        let seal = match channel.receive(CONTROL_PATIENCE).map_err(failed)? {
            Reply::Opened { session } => Seal::new(session, &key),
            Reply::Refused(refusal) => return Err(ConnectError::Refused { address, refusal }),
            other => return Err(failed(unexpected(&other))),
        };
        let any = match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = ProbeSocket::bind(SocketAddr::new(any, 0)).map_err(ConnectError::NoStamps)?;
        socket.connect(address).map_err(|source| ConnectError::Unreachable { address, source })?;
        let framing = Framing::of(address.ip());
        let endpoint = Endpoint { socket, seal, framing, before_stamp: Nanos::ZERO, pacer: Pacer::default() };
        let placement = Placement { core: config.core, real_time: config.real_time };
        let prober = Prober::start(endpoint, placement).map_err(ConnectError::NoStamps)?;
        match knock(&mut channel, &prober).map_err(failed)? {
            Reply::Heard { .. } => {}
            Reply::NotHeard => return Err(ConnectError::ProbesDropped { address }),
            Reply::Refused(refusal) => return Err(ConnectError::Refused { address, refusal }),
            other => return Err(failed(unexpected(&other))),
        }
        let proven = prove(&mut channel, &prober, round_trip).map_err(failed)?;
        Ok(Self {
            channel,
            prober,
            address,
            local,
            limits: welcome.limits,
            far_facts: welcome.facts,
            resolution: welcome.resolution,
            round_trip,
            proven,
            allowance: Allowance::STRICT,
            near_clock: ClockReading::now(),
            far_clock: welcome.clock,
            next: 0,
        })
    }

    /// Late is what comes later than this after the last departure: queues of several times the round trip are
    /// allowed for, and a host that was busy otherwise.
    fn grace(&self) -> Nanos {
        Nanos::from_millis(50) + self.round_trip * 4
    }

    pub(crate) fn carry(
        &mut self,
        fleet: &[Departure],
        direction: Direction,
    ) -> Result<Vec<Passage>, CarryError> {
        let grace = self.grace();
        let packets: usize = fleet.iter().map(|departure| departure.train.packets.len()).sum();
        // No fleet reaches into the hello packet's sequence.
        if self.next.checked_add(packets as u32).is_none_or(|end| end >= HELLO) {
            self.next = 0;
        }
        if direction == Direction::Reverse && !self.proven {
            return Err(CarryError::Live(LiveError::ReverseDropped { address: self.address }));
        }
        let announcement = Announcement { first: self.next, grace, fleet: fleet.to_vec() };
        let now = clock::monotonic();
        let wait = self.allowance.wait(now, &self.limits, &announcement);
        std::thread::sleep(Duration::from_nanos(wait.0.unsigned_abs()));
        self.allowance.enter(now + wait, &self.limits, &announcement);
        self.next += packets as u32;
        let (sent, seen) = match direction {
            Direction::Forward => self.forward(announcement)?,
            Direction::Reverse => self.reverse(announcement)?,
        };
        if sent.len() != packets || seen.len() != packets {
            let told =
                format!("it told of {} and {} packets where {packets} were sent", sent.len(), seen.len());
            return Err(CarryError::Midway(ChannelError::Protocol(told)));
        }
        Ok(passages(fleet, &sent, &seen))
    }

    fn forward(
        &mut self,
        announcement: Announcement,
    ) -> Result<(Vec<Stamps>, Vec<Option<Seen>>), CarryError> {
        let Announcement { first, grace, .. } = announcement;
        let quiet = Expectation::of(&announcement.fleet, Direction::Forward, first, grace).quiet;
        let request = Request::Forward(announcement);
        self.channel.send(&request).map_err(CarryError::BeforeStart)?;
        match self.channel.receive(CONTROL_PATIENCE).map_err(CarryError::BeforeStart)? {
            Reply::Ready => {}
            other => return Err(denied(other)),
        }
        let Request::Forward(Announcement { fleet, .. }) = request else {
            return Err(CarryError::Midway(ChannelError::Unknown));
        };
        let sent = self.prober.run(move |endpoint| endpoint.send(&fleet, Direction::Forward, first)).wait();
        self.channel.send(&Request::Sent).map_err(CarryError::Midway)?;
        let patience = Duration::from_nanos((grace + quiet).0.unsigned_abs()) + CONTROL_PATIENCE;
        let reply = self.channel.receive(patience).map_err(CarryError::Midway)?;
        let Reply::Arrived { seen, clock } = reply else { return Err(denied(reply)) };
        let sent = sent.and_then(|sent| sent).map_err(|error| CarryError::Live(LiveError::Near(error)))?;
        self.check_clocks(clock)?;
        Ok((sent, seen))
    }

    fn reverse(
        &mut self,
        announcement: Announcement,
    ) -> Result<(Vec<Stamps>, Vec<Option<Seen>>), CarryError> {
        let Announcement { first, grace, ref fleet } = announcement;
        let expectation = Expectation::of(fleet, Direction::Reverse, first, grace);
        let planned = Duration::from_nanos(crate::protocol::duration(fleet).0.unsigned_abs());
        let deadline = Arc::new(Deadline::default());
        let watched = Arc::clone(&deadline);
        let (tell, listening) = sync_channel(1);
        let seen = self.prober.run(move |endpoint| {
            endpoint.receive(&expectation, &watched, || {
                let _ = tell.send(());
            })
        });
        // Where the thread fails before it listens, its answer says why.
        let _ = listening.recv();
        let sent = self.channel.send(&Request::Reverse(announcement));
        let reply = sent.and_then(|()| self.channel.receive(planned * 2 + CONTROL_PATIENCE));
        deadline.set(if matches!(reply, Ok(Reply::Departed { .. })) { grace } else { Nanos::ZERO });
        let seen = seen.wait().and_then(|seen| seen);
        let reply = reply.map_err(CarryError::BeforeStart)?;
        let Reply::Departed { sent, clock } = reply else { return Err(denied(reply)) };
        let seen = seen.map_err(|error| CarryError::Live(LiveError::Near(error)))?;
        self.check_clocks(clock)?;
        Ok((sent, seen))
    }

    /// Both clocks must be what they were at the last fleet. A step is told once: what comes after it is whole again.
    fn check_clocks(&mut self, far: ClockReading) -> Result<(), CarryError> {
        let near = ClockReading::now();
        let far_before = std::mem::replace(&mut self.far_clock, far);
        let near_before = std::mem::replace(&mut self.near_clock, near);
        let stepped = |host, step: Option<Nanos>| match step {
            Some(step) => Err(CarryError::Live(LiveError::ClockStepped { host, step })),
            None => Ok(()),
        };
        stepped(Host::Near, near.step_since(near_before))?;
        stepped(Host::Far, far.step_since(far_before))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.channel.send(&Request::Bye);
        self.channel.close();
    }
}

/// How long an agent may think about a request.
const CONTROL_PATIENCE: Duration = Duration::from_secs(10);

/// Connects to the first of the host's addresses that answers.
fn reach(config: &ConnectConfig) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let unknown = |source| ConnectError::UnknownHost { host: config.host.clone(), source };
    let host = config.host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (host, config.port).to_socket_addrs().map_err(unknown)?.collect();
    let mut last = unknown(io::Error::other("it has no address"));
    for address in addresses {
        match TcpStream::connect_timeout(&address, config.patience) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = ConnectError::NoAgent { address };
            }
            Err(source) => last = ConnectError::Unreachable { address, source },
        }
    }
    Err(last)
}

fn round_trip(channel: &mut Channel) -> Result<Nanos, ChannelError> {
    let mut least = Nanos::MAX;
    for _ in 0..3 {
        let start = clock::monotonic();
        channel.send(&Request::Alive)?;
        match channel.receive(CONTROL_PATIENCE)? {
            Reply::Alive => least = least.min(clock::monotonic() - start),
            other => return Err(unexpected(&other)),
        }
    }
    Ok(least)
}

/// Sends hello packets until the agent says whether it heard one.
fn knock(channel: &mut Channel, prober: &Prober) -> Result<Reply, ChannelError> {
    let (stop, stopped) = sync_channel::<()>(0);
    let knocking = prober.run(move |endpoint| {
        loop {
            endpoint.send_hello();
            let pause = stopped.recv_timeout(Duration::from_millis(20));
            if pause != Err(RecvTimeoutError::Timeout) {
                return endpoint.forget_departures();
            }
        }
    });
    let reply = channel.receive(CONTROL_PATIENCE);
    drop(stop);
    knocking.wait()??;
    reply
}

/// How often a challenge is asked for before the agent's probes count as dropped: each takes two packets.
const CHALLENGES: usize = 8;

/// Shows the agent that this host receives where its probes come from. Tells whether it does.
fn prove(channel: &mut Channel, prober: &Prober, round_trip: Nanos) -> Result<bool, ChannelError> {
    let patience = Nanos::from_millis(50) + round_trip * 4;
    for _ in 0..CHALLENGES {
        channel.send(&Request::Challenge)?;
        let challenge = prober
            .run(move |endpoint| {
                // Twice: one may be lost, and the agent answers but one.
                endpoint.send_hello();
                endpoint.send_hello();
                let sequence = endpoint.next_sequence(Direction::Reverse, patience)?;
                endpoint.forget_departures()?;
                Ok::<_, io::Error>(sequence)
            })
            .wait()??;
        match channel.receive(CONTROL_PATIENCE)? {
            Reply::Challenged | Reply::NotHeard => {}
            other => return Err(unexpected(&other)),
        }
        let Some(sequence) = challenge else { continue };
        channel.send(&Request::Proof { sequence })?;
        match channel.receive(CONTROL_PATIENCE)? {
            Reply::Proven(true) => return Ok(true),
            // The answer to an earlier challenge, that was late.
            Reply::Proven(false) => {}
            other => return Err(unexpected(&other)),
        }
    }
    Ok(false)
}

fn unexpected(reply: &Reply) -> ChannelError {
    let name = format!("{reply:?}");
    let name = name.split([' ', '(']).next().unwrap_or_default();
    ChannelError::Protocol(format!("{name} is no answer to what was asked"))
}

/// An answer that is not the one hoped for.
fn denied(reply: Reply) -> CarryError {
    match reply {
        Reply::Refused(refusal) => CarryError::Live(LiveError::Refused(refusal)),
        other => CarryError::Midway(unexpected(&other)),
    }
}

/// Puts together what both ends tell of a fleet.
fn passages(fleet: &[Departure], sent: &[Stamps], seen: &[Option<Seen>]) -> Vec<Passage> {
    let mut from = 0;
    let passage = |departure: &Departure| {
        let packets = &departure.train.packets;
        let of_train = from..from + packets.len();
        from = of_train.end;
        let seen = &seen[of_train.clone()];
        let mut orders: Vec<u32> = seen.iter().flatten().map(|one| one.order).collect();
        orders.sort_unstable();
        let place = |one: &Seen| orders.partition_point(|order| *order < one.order) as u32;
        let fates = packets.iter().zip(&sent[of_train]).zip(seen).map(|((packet, sent), seen)| Fate {
            packet: *packet,
            sent: *sent,
            arrival: seen.map(|one| Arrival { stamps: one.stamps, order: place(&one), copies: one.copies }),
        });
        let observation = Observation { direction: departure.train.direction, fates: fates.collect() };
        Passage { observation, truth: None }
    };
    fleet.iter().map(passage).collect()
}

/// The search for how large packets may be, in one direction.
struct Sizing<'a> {
    link: &'a mut Link,
    direction: Direction,
    ceiling: Bytes,
}

impl mtu::Carrier for Sizing<'_> {
    type Error = ConnectError;

    fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, ConnectError> {
        let address = self.link.address;
        let mut fleet = fleet.to_vec();
        fleet.iter_mut().for_each(|departure| departure.train.direction = self.direction);
        let passages = self.link.carry(&fleet, self.direction).map_err(|error| match error {
            CarryError::BeforeStart(source) | CarryError::Midway(source) => {
                ConnectError::Channel { address, source }
            }
            CarryError::Live(LiveError::Refused(refusal)) => ConnectError::Refused { address, refusal },
            CarryError::Live(error) => ConnectError::NoStamps(io::Error::other(error)),
        })?;
        let arrived = |passage: &Passage| passage.observation.fates.iter().all(|fate| fate.arrival.is_some());
        Ok(passages.iter().map(arrived).collect())
    }

    fn nothing_arrives(&self) -> ConnectError {
        ConnectError::ProbesDropped { address: self.link.address }
    }

    fn ceiling(&self) -> Bytes {
        self.ceiling
    }
}
