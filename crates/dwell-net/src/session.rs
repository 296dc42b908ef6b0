//! One session at the agent: what a peer asks, and what it gets.

use crate::agent::Agent;
use crate::channel::{Channel, ChannelError};
use crate::clock;
use crate::pace::Pacer;
use crate::probe::{Framing, Seal};
use crate::prober::{Deadline, Endpoint, Expectation, Prober};
use crate::protocol::{self, Announcement, ClockReading, Refusal, Reply, Request, Welcome};
use crate::socket::ProbeSocket;
use dwell_core::{Direction, Nanos};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// How long a peer may say nothing.
const IDLE: Duration = Duration::from_secs(60);

/// How long a hello packet is waited for.
const HELLO_PATIENCE: Duration = Duration::from_secs(3);

/// The longest that a peer may make a session wait for late packets.
const LONGEST_GRACE: Nanos = Nanos::from_secs(2);

/// A session.
pub(crate) struct Session<'a> {
    agent: &'a Agent,
    /// Where the peer reached us.
    local: SocketAddr,
    prober: Option<Prober>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(agent: &'a Agent, local: SocketAddr) -> Self {
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        Self { agent, local, prober: None }
    }

    /// Does what the peer asks until it says bye or vanishes.
    pub(crate) fn run(mut self, channel: &mut Channel) -> Result<(), ChannelError> {
        channel.send(&Reply::Welcome(Box::new(Welcome {
            facts: self.agent.facts(self.local.ip()),
            limits: self.agent.config().limits,
            resolution: clock::resolution(),
            clock: ClockReading::now(),
        })))?;
        loop {
            let done = match channel.receive(IDLE)? {
                Request::Open { key } => self.open(channel, &key)?,
                Request::Forward(announcement) => self.forward(channel, announcement)?,
                Request::Reverse(announcement) => self.reverse(channel, announcement)?,
                Request::Alive => Ok(channel.send(&Reply::Alive)?),
                Request::Bye => return Ok(()),
                Request::Sent => Err(Refusal::Nonsense("no fleet was announced".to_owned())),
            };
            if let Err(refusal) = done {
                channel.send(&Reply::Refused(refusal))?;
            }
        }
    }

    fn open(&mut self, channel: &mut Channel, key: &[u8; 16]) -> Result<Result<(), Refusal>, ChannelError> {
        // A second opening ends what the first began.
        self.prober = None;
        let mut number = [0; 4];
        if SystemRandom::new().fill(&mut number).is_err() {
            return Ok(Err(Refusal::Failed("no random bytes".to_owned())));
        }
        let session = u32::from_be_bytes(number);
        let seal = Seal::new(session, key);
        let hello = self.agent.expect(session, seal.clone());
        let answered = channel.send(&Reply::Opened { session });
        let heard = answered.map(|()| hello.recv_timeout(HELLO_PATIENCE));
        self.agent.expect_no_more(session);
        let Ok(address) = heard? else { return Ok(Ok(channel.send(&Reply::NotHeard)?)) };
        match self.start(seal, address) {
            Ok(prober) => {
                self.prober = Some(prober);
                Ok(Ok(channel.send(&Reply::Heard { address })?))
            }
            Err(error) => Ok(Err(Refusal::Failed(error.to_string()))),
        }
    }

    fn start(&self, seal: Seal, address: SocketAddr) -> io::Result<Prober> {
        let socket = ProbeSocket::bind(self.local)?;
        socket.connect(address)?;
        let endpoint = Endpoint {
            socket,
            seal,
            framing: Framing::of(address.ip()),
            before_stamp: self.agent.config().before_stamp,
            pacer: Pacer::default(),
        };
        Prober::start(endpoint, self.agent.placement())
    }

    fn admit(&self, fleet: &Announcement, direction: Direction) -> Result<&Prober, Refusal> {
        self.agent.config().limits.admit(fleet, direction)?;
        self.prober
            .as_ref()
            .ok_or_else(|| Refusal::Nonsense("a fleet before a session was opened".to_owned()))
    }

    fn forward(
        &self,
        channel: &mut Channel,
        Announcement { first, grace, fleet }: Announcement,
    ) -> Result<Result<(), Refusal>, ChannelError> {
        let announcement = Announcement { first, grace: grace.clamp(Nanos::ZERO, LONGEST_GRACE), fleet };
        let prober = match self.admit(&announcement, Direction::Forward) {
            Ok(prober) => prober,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let grace = announcement.grace;
        let expectation = Expectation::of(&announcement.fleet, Direction::Forward, first, grace);
        let deadline = Arc::new(Deadline::default());
        let (tell, listening) = sync_channel(1);
        let watched = Arc::clone(&deadline);
        let seen = prober.run(move |endpoint| {
            endpoint.receive(&expectation, &watched, || {
                let _ = tell.send(());
            })
        });
        // Where the thread fails before it listens, its answer says why.
        let _ = listening.recv();
        let planned = Duration::from_nanos(protocol::duration(&announcement.fleet).0.unsigned_abs());
        let sent = channel.send(&Reply::Ready).and_then(|()| channel.receive(planned * 2 + IDLE));
        deadline.set(if matches!(sent, Ok(Request::Sent)) { grace } else { Nanos::ZERO });
        let seen = seen.wait();
        match (sent?, seen) {
            (Request::Sent, Ok(Ok(seen))) => {
                Ok(Ok(channel.send(&Reply::Arrived { seen, clock: ClockReading::now() })?))
            }
            (Request::Sent, Ok(Err(error)) | Err(error)) => Ok(Err(Refusal::Failed(error.to_string()))),
            _ => Err(ChannelError::Protocol("it did not say that the announced fleet was sent".to_owned())),
        }
    }

    fn reverse(
        &self,
        channel: &mut Channel,
        announcement: Announcement,
    ) -> Result<Result<(), Refusal>, ChannelError> {
        let prober = match self.admit(&announcement, Direction::Reverse) {
            Ok(prober) => prober,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Announcement { first, fleet, .. } = announcement;
        let sent = prober.run(move |endpoint| endpoint.send(&fleet, Direction::Reverse, first)).wait();
        match sent {
            Ok(Ok(sent)) => Ok(Ok(channel.send(&Reply::Departed { sent, clock: ClockReading::now() })?)),
            Ok(Err(error)) | Err(error) => Ok(Err(Refusal::Failed(error.to_string()))),
        }
    }
}
