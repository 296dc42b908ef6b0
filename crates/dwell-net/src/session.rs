//! One session at the agent: what a peer asks, and what it gets.

use crate::agent::desk::Desk;
use crate::allowance::Allowance;
use crate::channel::{Channel, ChannelError};
use crate::clock;
use crate::facts;
use crate::pace::Pacer;
use crate::probe::{Framing, Seal};
use crate::prober::{Deadline, Endpoint, Expectation, Prober};
use crate::protocol::{self, Announcement, ClockReading, Refusal, Reply, Request, Welcome};
use crate::socket::ProbeSocket;
use crate::throughput;
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
const HELLO_PATIENCE: Nanos = Nanos::from_secs(2);

/// How long the hello packet that asks for a challenge is waited for.
const CHALLENGE_PATIENCE: Nanos = Nanos::from_millis(500);

/// The longest that a peer may make a session wait for late packets.
const LONGEST_GRACE: Nanos = Nanos::from_secs(2);

/// A session.
pub(crate) struct Session<'a> {
    desk: &'a Desk,
    /// Where the peer reached us.
    local: SocketAddr,
    prober: Option<Prober>,
    /// Sequence of the last challenge, until it is answered.
    challenge: Option<u32>,
    /// Whether the peer receives at the address that its probes come from.
    proven: bool,
    allowance: Allowance,
}

impl<'a> Session<'a> {
    pub(crate) fn new(desk: &'a Desk, local: SocketAddr) -> Self {
        Self { desk, local, prober: None, challenge: None, proven: false, allowance: Allowance::LENIENT }
    }

    /// Does what the peer asks until it says bye or vanishes.
    pub(crate) fn run(mut self, channel: &mut Channel) -> Result<(), ChannelError> {
        channel.send(&Reply::Welcome(Box::new(Welcome {
            limits: self.desk.config().limits,
            resolution: clock::resolution(),
            clock: ClockReading::now(),
        })))?;
        loop {
            let done = match channel.receive(IDLE)? {
                Request::Open { key } => self.open(channel, &key)?,
                Request::Challenge => self.challenge(channel)?,
                Request::Proof { sequence } => self.prove(channel, sequence)?,
                Request::Forward(announcement) => self.forward(channel, announcement)?,
                Request::Reverse(announcement) => self.reverse(channel, announcement)?,
                Request::Alive => Ok(channel.send(&Reply::Alive)?),
                Request::Bye => return Ok(()),
                Request::Stream(order) => throughput::serve(self.desk, self.local, channel, &order)?,
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
        self.proven = false;
        let session = match random() {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let seal = Seal::new(session, key);
        let hello = self.desk.hellos().expect(session, seal.clone());
        let answered = channel.send(&Reply::Opened { session });
        let heard =
            answered.map(|()| hello.recv_timeout(Duration::from_nanos(HELLO_PATIENCE.0.unsigned_abs())));
        self.desk.hellos().expect_no_more(session);
        let Ok(address) = heard? else { return Ok(Ok(channel.send(&Reply::NotHeard)?)) };
        match self.start(seal, address) {
            Ok(prober) => {
                let facts = Box::new(facts::gather(self.local.ip(), prober.placed()));
                self.prober = Some(prober);
                Ok(Ok(channel.send(&Reply::Heard { address, facts })?))
            }
            Err(error) => Ok(Err(Refusal::Failed(error.to_string()))),
        }
    }

    fn start(&self, seal: Seal, address: SocketAddr) -> io::Result<Prober> {
        facts::ask_for_hardware_stamps(self.local.ip());
        let socket = ProbeSocket::bind_shared(self.local)?;
        self.desk.config().queue.map_or(Ok(()), |queue| socket.limit_queue(queue))?;
        socket.connect(address)?;
        let endpoint = Endpoint {
            socket,
            seal,
            framing: Framing::of(address.ip()),
            before_stamp: self.desk.config().before_stamp,
            pacer: Pacer::default(),
        };
        Prober::start(endpoint, self.desk.placement())
    }

    /// Sends a packet with a random sequence to where a hello packet comes from.
    fn challenge(&mut self, channel: &mut Channel) -> Result<Result<(), Refusal>, ChannelError> {
        let Some(prober) = &self.prober else {
            return Ok(Err(Refusal::Nonsense("a challenge before a session was opened".to_owned())));
        };
        let sequence = match random() {
            Ok(sequence) => sequence,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.challenge = Some(sequence);
        match prober.run(move |endpoint| endpoint.answer_hello(sequence, CHALLENGE_PATIENCE)).wait() {
            Ok(Ok(true)) => Ok(Ok(channel.send(&Reply::Challenged)?)),
            Ok(Ok(false)) => Ok(Ok(channel.send(&Reply::NotHeard)?)),
            Ok(Err(error)) | Err(error) => Ok(Err(Refusal::Failed(error.to_string()))),
        }
    }

    /// One attempt for each challenge: the sequence cannot be guessed.
    fn prove(&mut self, channel: &mut Channel, sequence: u32) -> Result<Result<(), Refusal>, ChannelError> {
        self.proven |= self.challenge.take() == Some(sequence);
        Ok(Ok(channel.send(&Reply::Proven(self.proven))?))
    }

    fn admit(&mut self, fleet: &Announcement, direction: Direction) -> Result<&Prober, Refusal> {
        let limits = &self.desk.config().limits;
        limits.admit(fleet, direction)?;
        let now = clock::monotonic();
        let early = self.allowance.wait(now, limits, fleet);
        if early > Nanos::ZERO {
            return Err(Refusal::Load(format!("the fleet comes {early} too early for the allowed rates")));
        }
        self.allowance.enter(now, limits, fleet);
        if direction == Direction::Reverse && !self.proven {
            let why = "no probes are sent to an address that was not proven to be the peer's";
            return Err(Refusal::Nonsense(why.to_owned()));
        }
        self.prober
            .as_ref()
            .ok_or_else(|| Refusal::Nonsense("a fleet before a session was opened".to_owned()))
    }

    fn forward(
        &mut self,
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
            (Request::Sent, Ok(Ok(arrived))) => {
                Ok(Ok(channel.send(&Reply::Arrived { arrived, clock: ClockReading::now() })?))
            }
            (Request::Sent, Ok(Err(error)) | Err(error)) => Ok(Err(Refusal::Failed(error.to_string()))),
            _ => Err(ChannelError::Protocol("it did not say that the announced fleet was sent".to_owned())),
        }
    }

    fn reverse(
        &mut self,
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

/// A number that nobody can guess.
fn random() -> Result<u32, Refusal> {
    let mut number = [0; 4];
    let filled = SystemRandom::new().fill(&mut number);
    filled.map_err(|_| Refusal::Failed("the operating system gives no random bytes".to_owned()))?;
    Ok(u32::from_be_bytes(number))
}
