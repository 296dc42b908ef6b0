//! A session with an agent, as the one that asked for it sees it.

use crate::allowance::Allowance;
use crate::channel::{Channel, ChannelError};
use crate::clock;
use crate::connect_config::ConnectConfig;
use crate::enter::{CONTROL_PATIENCE, Entered, enter, unexpected};
use crate::facts;
use crate::live_error::{ConnectError, Host, LiveError};
use crate::pace::Pacer;
use crate::probe::{Framing, Seal};
use crate::prober::{Arrived, Deadline, Endpoint, Expectation, Placement, Prober, Seen};
use crate::protocol::{Announcement, ClockReading, Limits, Reply, Request};
use crate::socket::ProbeSocket;
use dwell_core::{Arrival, Departure, Direction, Fate, HostFacts, Nanos, Observation, Passage, Stamps};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// A session with an agent.
pub(crate) struct Link {
    channel: Channel,
    pub(crate) prober: Prober,
    pub(crate) address: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) limits: Limits,
    pub(crate) far_facts: HostFacts,
    pub(crate) resolution: Nanos,
    /// The least time that an exchange on the control channel took.
    pub(crate) round_trip: Nanos,
    /// Whether the agent's probes reach this host.
    pub(crate) proven: bool,
    allowance: Allowance,
    /// Which stamps each host was seen to give.
    pub(crate) near_stamps: Given,
    pub(crate) far_stamps: Given,
    near_clock: ClockReading,
    far_clock: ClockReading,
    /// Sequence of the next packet.
    next: u32,
}

/// What can go wrong with one fleet.
#[derive(Debug)]
pub(crate) enum CarryError {
    /// The channel failed, and no packet was sent yet.
    BeforeStart(ChannelError),
    /// The channel failed, and packets were sent.
    Midway(ChannelError),
    /// Anything else.
    Live(LiveError),
}

impl Link {
    pub(crate) fn open(config: &ConnectConfig) -> Result<Self, ConnectError> {
        let Entered { mut channel, address, local, welcome } = enter(config)?;
        let failed = |source| ConnectError::Channel { address, source };
        let round_trip = round_trip(&mut channel).map_err(failed)?;

        let mut key = [0; 16];
        SystemRandom::new()
            .fill(&mut key)
            .map_err(|_| ConnectError::ThisHost(io::Error::other("no random bytes for a session's key")))?;
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
        facts::ask_for_hardware_stamps(local.ip());
        let socket = ProbeSocket::bind(SocketAddr::new(any, 0)).map_err(ConnectError::ThisHost)?;
        socket.connect(address).map_err(|source| ConnectError::Unreachable { address, source })?;
        let framing = Framing::of(address.ip());
        let endpoint = Endpoint { socket, seal, framing, before_stamp: Nanos::ZERO, pacer: Pacer::default() };
        let placement = Placement { core: config.core, real_time: config.real_time };
        let prober = Prober::start(endpoint, placement).map_err(ConnectError::ThisHost)?;
        let far_facts = match knock(&mut channel, &prober).map_err(failed)? {
            Reply::Heard { facts: told, .. } => *told,
            Reply::NotHeard => return Err(ConnectError::ProbesDropped { address }),
            Reply::Refused(refusal) => return Err(ConnectError::Refused { address, refusal }),
            other => return Err(failed(unexpected(&other))),
        };
        let proven = prove(&mut channel, &prober, round_trip).map_err(failed)?;
        Ok(Self {
            channel,
            prober,
            address,
            local,
            limits: welcome.limits,
            far_facts,
            resolution: welcome.resolution,
            round_trip,
            proven,
            allowance: Allowance::STRICT,
            near_stamps: Given::default(),
            far_stamps: Given::default(),
            near_clock: ClockReading::now(),
            far_clock: welcome.clock,
            next: 0,
        })
    }

    /// Takes over what was known of both clocks in the session before: a step between the two is one in the middle
    /// of the run.
    pub(crate) fn inherit_clocks(&mut self, before: &Self) {
        self.near_clock = before.near_clock;
        self.far_clock = before.far_clock;
    }

    /// Late is what comes later than this after the last departure: queues of several times the round trip are
    /// allowed for, and a host that was busy otherwise.
    fn grace(&self) -> Nanos {
        Nanos::from_millis(50) + self.round_trip * 4
    }

    /// Carries a fleet of one direction. Where the channel fails, it is broken off: the next fleet finds that out before
    /// it starts.
    pub(crate) fn carry(
        &mut self,
        fleet: &[Departure],
        direction: Direction,
    ) -> Result<Vec<Passage>, CarryError> {
        let result = self.exchange(fleet, direction);
        if let Err(CarryError::BeforeStart(_) | CarryError::Midway(_)) = result {
            self.channel.break_off();
        }
        result
    }

    fn exchange(&mut self, fleet: &[Departure], direction: Direction) -> Result<Vec<Passage>, CarryError> {
        let grace = self.grace();
        let packets: usize = fleet.iter().map(|departure| departure.train.packets.len()).sum();
        // Sequences begin anew before they wrap: the last one is the hello packet's.
        if self.next.checked_add(packets as u32).is_none() {
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
        let (sent, arrived) = match direction {
            Direction::Forward => self.forward(announcement)?,
            Direction::Reverse => self.reverse(announcement)?,
        };
        let seen = &arrived.seen;
        if sent.len() != packets || seen.len() != packets {
            let told =
                format!("it told of {} and {} packets where {packets} were sent", sent.len(), seen.len());
            return Err(CarryError::Midway(ChannelError::Protocol(told)));
        }
        let received = seen.iter().flatten().map(|seen| &seen.stamps);
        let (senders, receivers) = match direction {
            Direction::Forward => (&mut self.near_stamps, &mut self.far_stamps),
            Direction::Reverse => (&mut self.far_stamps, &mut self.near_stamps),
        };
        senders.note(&sent);
        receivers.note(received);
        Ok(passages(fleet, &sent, &arrived))
    }

    fn forward(&mut self, announcement: Announcement) -> Result<(Vec<Stamps>, Arrived), CarryError> {
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
        let Reply::Arrived { arrived, clock } = reply else { return Err(denied(reply)) };
        let sent = sent.and_then(|sent| sent).map_err(|error| CarryError::Live(LiveError::Near(error)))?;
        self.check_clocks(clock)?;
        Ok((sent, arrived))
    }

    fn reverse(&mut self, announcement: Announcement) -> Result<(Vec<Stamps>, Arrived), CarryError> {
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
        // A restarted agent shows itself only here, and to ask for the same fleet again does no harm.
        let reply = reply.map_err(CarryError::BeforeStart)?;
        let Reply::Departed { sent, clock } = reply else { return Err(denied(reply)) };
        let arrived = seen.map_err(|error| CarryError::Live(LiveError::Near(error)))?;
        self.check_clocks(clock)?;
        Ok((sent, arrived))
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

/// Which stamps a host was seen to give.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Given {
    any: bool,
    kernel: bool,
    hardware: bool,
}

impl Given {
    fn note<'a>(&mut self, stamps: impl IntoIterator<Item = &'a Stamps>) {
        for stamps in stamps {
            self.any = true;
            self.kernel |= stamps.kernel.is_some();
            self.hardware |= stamps.hardware.is_some();
        }
    }

    pub(crate) fn names(self) -> Vec<String> {
        let all = [(self.any, "application"), (self.kernel, "kernel"), (self.hardware, "hardware")];
        all.into_iter().filter(|(given, _)| *given).map(|(_, name)| name.to_owned()).collect()
    }
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

/// An answer that is not the one hoped for.
fn denied(reply: Reply) -> CarryError {
    match reply {
        Reply::Refused(refusal) => CarryError::Live(LiveError::Refused(refusal)),
        other => CarryError::Midway(unexpected(&other)),
    }
}

/// Puts together what both ends tell of a fleet.
fn passages(fleet: &[Departure], sent: &[Stamps], arrived: &Arrived) -> Vec<Passage> {
    let (mut from, mut overflowed) = (0, arrived.overflowed);
    let passage = |departure: &Departure| {
        let packets = &departure.train.packets;
        let of_train = from..from + packets.len();
        from = of_train.end;
        let seen = &arrived.seen[of_train.clone()];
        let lost = seen.iter().filter(|seen| seen.is_none()).count() as u32;
        let own = overflowed.min(lost);
        overflowed -= own;
        let mut orders: Vec<u32> = seen.iter().flatten().map(|one| one.order).collect();
        orders.sort_unstable();
        let place = |one: &Seen| orders.partition_point(|order| *order < one.order) as u32;
        let fates = packets.iter().zip(&sent[of_train]).zip(seen).map(|((packet, sent), seen)| Fate {
            packet: *packet,
            sent: *sent,
            arrival: seen.map(|one| Arrival { stamps: one.stamps, order: place(&one), copies: one.copies }),
        });
        let observation =
            Observation { direction: departure.train.direction, fates: fates.collect(), overflowed: own };
        Passage { observation, truth: None }
    };
    fleet.iter().map(passage).collect()
}
