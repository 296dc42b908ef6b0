//! The cooperating end: answers peers that it knows, on one port for control (TCP) and probes (UDP).

use crate::channel::{Channel, ChannelError};
use crate::guests::Guests;
use crate::identity::{Identity, Peers, PublicKey};
use crate::probe::{self, HEADER, HELLO};
use crate::prober::Placement;
use crate::protocol::{Limits, PORT, Reply};
use crate::session::Session;
use crate::socket::{ProbeSocket, canonical};
use dwell_core::{Direction, Nanos};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How an agent is to be run.
#[derive(Clone)]
pub struct AgentConfig {
    /// Where it listens, for control and probes alike. Port 0: any that is free. `[::]` means all addresses, of
    /// IPv4 too.
    pub listen: SocketAddr,
    /// Who it is.
    pub identity: Identity,
    /// Whom it answers.
    pub peers: Peers,
    /// Where that is kept: read anew for each connection, so that a peer is known as soon as it is in the file. While
    /// the file cannot be read, `peers` are known.
    pub peers_file: Option<PathBuf>,
    /// What it allows.
    pub limits: Limits,
    /// How long the receiving thread is busy between its read and its stamp: a slow application, for testbeds.
    pub before_stamp: Nanos,
    /// Core that receiving threads are pinned to.
    pub core: Option<usize>,
    /// Whether receiving threads ask for real-time priority.
    pub real_time: bool,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(AgentEvent) + Send + Sync>,
}

impl AgentConfig {
    /// The usual: all addresses, the usual port, default limits, silent.
    #[must_use]
    pub fn new(identity: Identity, peers: Peers) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT),
            identity,
            peers,
            peers_file: None,
            limits: Limits::default(),
            before_stamp: Nanos::ZERO,
            core: None,
            real_time: false,
            on_event: Arc::new(|_| {}),
        }
    }
}

/// Something that an agent's keeper may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// A session began.
    Began {
        /// Whose.
        peer: PublicKey,
        /// From where.
        from: SocketAddr,
    },
    /// A session ended.
    Ended {
        /// Whose.
        peer: PublicKey,
        /// From where.
        from: SocketAddr,
        /// Why, where it was not the peer's own wish.
        why: Option<String>,
    },
    /// Somebody came, and the file of peers could not be read.
    PeersUnread {
        /// Who came.
        from: SocketAddr,
        /// Why.
        why: String,
    },
    /// Somebody was turned away.
    TurnedAway {
        /// From where.
        from: SocketAddr,
        /// Why.
        why: String,
    },
}

impl fmt::Display for AgentEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { peer, from } => write!(f, "{from}: session of {}", peer.fingerprint()),
            Self::Ended { peer, from, why: None } => {
                write!(f, "{from}: session of {} ended", peer.fingerprint())
            }
            Self::Ended { peer, from, why: Some(why) } => {
                write!(f, "{from}: session of {} ended: {why}", peer.fingerprint())
            }
            Self::PeersUnread { from, why } => write!(f, "{from}: the peers known before are used: {why}"),
            Self::TurnedAway { from, why } => write!(f, "{from}: turned away: {why}"),
        }
    }
}

/// An agent cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its port cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The asked address.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The kernel gives no stamps at all.
    #[error("cannot open the probe port {address} with time stamps: {source}")]
    Probes {
        /// The asked address.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// It stopped.
    #[error("the agent stopped: {0}")]
    Stopped(#[source] io::Error),
}

/// How often a listener looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How often in a row the probe port may fail, a glance apart, before the agent gives up.
const FAILURES: u32 = 100;

/// The agent, listening.
pub struct Agent {
    config: AgentConfig,
    listener: TcpListener,
    address: SocketAddr,
    probes: Mutex<ProbeSocket>,
    guests: Mutex<Guests>,
}

impl Agent {
    /// Opens the port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn bind(config: AgentConfig) -> Result<Self, AgentError> {
        let mut asked = config.listen;
        if asked.ip() == Ipv6Addr::UNSPECIFIED && !speaks_ipv6() {
            asked.set_ip(Ipv4Addr::UNSPECIFIED.into());
        }
        let listen = |source| AgentError::Listen { address: asked, source };
        // A free TCP port may be taken for UDP: then another one is tried.
        let mut attempts = if asked.port() == 0 { 16 } else { 1 };
        loop {
            attempts -= 1;
            let listener = TcpListener::bind(asked).map_err(listen)?;
            listener.set_nonblocking(true).map_err(listen)?;
            let address = listener.local_addr().map_err(listen)?;
            match ProbeSocket::bind_shared(address) {
                Ok(probes) => {
                    let _ = probes.set_patience(Some(Nanos(GLANCE.as_nanos() as i64)));
                    let (probes, guests) = (Mutex::new(probes), Mutex::default());
                    return Ok(Self { config, listener, address, probes, guests });
                }
                Err(_) if attempts > 0 => {}
                Err(source) => return Err(AgentError::Probes { address, source }),
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers peers until `stop` is set, then ends all sessions and returns.
    ///
    /// # Errors
    /// When its port fails.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), AgentError> {
        std::thread::scope(|scope| {
            let hellos = scope.spawn(|| self.hear_hellos(stop));
            let result = self.accept(scope, stop);
            stop.store(true, Ordering::Relaxed);
            self.guests().dismiss();
            let heard =
                hellos.join().unwrap_or_else(|_| Err(io::Error::other("the probe port's thread died")));
            result.and(heard).map_err(AgentError::Stopped)
        })
    }

    fn tell(&self, event: AgentEvent) {
        (self.config.on_event)(event);
    }

    fn accept<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, from)) => {
                    let from = canonical(from);
                    if let Err(why) = self.welcome(scope, stream, from) {
                        self.tell(AgentEvent::TurnedAway { from, why: why.to_string() });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_connection(),
                // A connection that was gone before it was taken, or no descriptors left for now.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
                Err(_) => std::thread::sleep(GLANCE),
            }
        }
        Ok(())
    }

    fn await_connection(&self) {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let mut one = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(GLANCE).unwrap_or(PollTimeout::ZERO);
        // Where it fails, the next accept says why.
        let _ = poll(&mut one, timeout);
    }

    fn welcome<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        stream: TcpStream,
        from: SocketAddr,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let other = stream.try_clone()?;
        let number = self.guests().arrive(other, from.ip()).map_err(io::Error::other)?;
        let started = std::thread::Builder::new().name("session".to_owned()).spawn_scoped(scope, move || {
            // A defect that one session finds must not end the others.
            let attended = catch_unwind(AssertUnwindSafe(|| self.attend(number, stream, from)));
            if attended.is_err() {
                self.tell(AgentEvent::TurnedAway {
                    from,
                    why: "this session found a defect of Dwell".to_owned(),
                });
            }
            self.guests().leave(number);
        });
        if started.is_err() {
            self.guests().leave(number);
        }
        started.map(|_| ())
    }

    /// One connection, from its handshake to its end.
    fn attend(&self, number: u64, stream: TcpStream, from: SocketAddr) {
        let local = stream.local_addr();
        let known = self.known(from);
        let mut channel = match Channel::accept(stream, &self.config.identity, &known) {
            Ok(channel) => channel,
            Err(error) => return self.tell(AgentEvent::TurnedAway { from, why: error.to_string() }),
        };
        let peer = channel.peer();
        let place = self.guests().admit(number, peer, &self.config.limits);
        if let Err(refusal) = place {
            self.tell(AgentEvent::TurnedAway { from, why: refusal.to_string() });
            let _ = channel.send(&Reply::Refused(refusal));
            return channel.close();
        }
        self.tell(AgentEvent::Began { peer, from });
        let result = match local {
            Ok(local) => Session::new(self, local).run(&mut channel),
            Err(error) => Err(ChannelError::Stream(error)),
        };
        channel.close();
        self.tell(AgentEvent::Ended { peer, from, why: result.err().map(|error| error.to_string()) });
    }

    /// Whom it answers now.
    fn known(&self, from: SocketAddr) -> Peers {
        let read = self.config.peers_file.as_deref().map(Peers::load);
        match read {
            Some(Ok(peers)) => peers,
            Some(Err(error)) => {
                self.tell(AgentEvent::PeersUnread { from, why: error.to_string() });
                self.config.peers.clone()
            }
            None => self.config.peers.clone(),
        }
    }

    /// Reads the probe port for what no session's own socket takes: hello packets, and garbage.
    fn hear_hellos(&self, stop: &AtomicBool) -> io::Result<()> {
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut start = [0; HEADER];
        let mut failures = 0;
        while !stop.load(Ordering::Relaxed) {
            let packet = match probes.receive(&mut start, Nanos::ZERO) {
                Ok(packet) => packet,
                // An interface that goes down and comes up again, say.
                Err(_) if failures < FAILURES => {
                    failures += 1;
                    std::thread::sleep(GLANCE);
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            let Some(packet) = packet else { continue };
            let (Some(session), Some(from)) = (probe::session_of(&start), packet.from) else { continue };
            let guests = self.guests();
            let Some((seal, tell)) = guests.expecting(session) else { continue };
            if seal.open(&start, packet.length, Direction::Forward) == Some(HELLO) {
                // Full: it was told already.
                let _ = tell.try_send(from);
            }
        }
        Ok(())
    }

    /// How it is run.
    pub(crate) const fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// How receiving threads are to run.
    pub(crate) const fn placement(&self) -> Placement {
        Placement { core: self.config.core, real_time: self.config.real_time }
    }

    /// Who is here.
    pub(crate) fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this host's kernel speaks IPv6: some are told not to.
fn speaks_ipv6() -> bool {
    ProbeSocket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0)).is_ok()
}
