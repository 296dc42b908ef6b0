//! The cooperating end: answers peers that it knows, on one port for control (TCP) and probes (UDP).

use crate::channel::{Channel, ChannelError};
use crate::facts;
use crate::identity::{Identity, Peers, PublicKey};
use crate::probe::{self, HEADER, HELLO, Seal};
use crate::prober::{Placed, Placement};
use crate::protocol::{Limits, PORT, Refusal};
use crate::session::Session;
use crate::socket::ProbeSocket;
use dwell_core::{Direction, Nanos};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How an agent is to be run.
#[derive(Clone)]
pub struct AgentConfig {
    /// Where it listens, for control and probes alike. Port 0: any that is free.
    pub listen: SocketAddr,
    /// Who it is.
    pub identity: Identity,
    /// Whom it answers.
    pub peers: Peers,
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

/// Connections that have not shown who they are yet, at a time.
const STRANGERS: usize = 64;

/// How often a listener looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// The agent, listening.
pub struct Agent {
    config: AgentConfig,
    listener: TcpListener,
    address: SocketAddr,
    probes: Mutex<ProbeSocket>,
    guests: Mutex<Guests>,
}

/// Who is here.
#[derive(Default)]
struct Guests {
    /// Connections, by a number of ours; the key once it is known.
    connections: HashMap<u64, (TcpStream, Option<PublicKey>)>,
    next: u64,
    /// Sessions that wait for their hello packet.
    expected: HashMap<u32, (Seal, SyncSender<SocketAddr>)>,
}

impl Agent {
    /// Opens the port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn bind(config: AgentConfig) -> Result<Self, AgentError> {
        let asked = config.listen;
        let listen = |source| AgentError::Listen { address: asked, source };
        // A free TCP port may be taken for UDP: then another one is tried.
        let mut attempts = if asked.port() == 0 { 16 } else { 1 };
        loop {
            attempts -= 1;
            let listener = TcpListener::bind(asked).map_err(listen)?;
            listener.set_nonblocking(true).map_err(listen)?;
            let address = listener.local_addr().map_err(listen)?;
            match ProbeSocket::bind(address) {
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
            for (stream, _) in self.guests().connections.values() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            let heard =
                hellos.join().unwrap_or_else(|_| Err(io::Error::other("the probe port's thread died")));
            result.and(heard).map_err(AgentError::Stopped)
        })
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
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
                    let from = SocketAddr::new(from.ip().to_canonical(), from.port());
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
        let number = {
            let mut guests = self.guests();
            let strangers = guests.connections.values().filter(|(_, peer)| peer.is_none()).count();
            if strangers >= STRANGERS {
                return Err(io::Error::other("too many connections that have not shown who they are"));
            }
            guests.next += 1;
            let number = guests.next;
            guests.connections.insert(number, (other, None));
            number
        };
        let started = std::thread::Builder::new().name("session".to_owned()).spawn_scoped(scope, move || {
            self.attend(number, stream, from);
            self.guests().connections.remove(&number);
        });
        if started.is_err() {
            self.guests().connections.remove(&number);
        }
        started.map(|_| ())
    }

    /// One connection, from its handshake to its end.
    fn attend(&self, number: u64, stream: TcpStream, from: SocketAddr) {
        let local = stream.local_addr();
        let mut channel = match Channel::accept(stream, &self.config.identity, &self.config.peers) {
            Ok(channel) => channel,
            Err(error) => return self.tell(AgentEvent::TurnedAway { from, why: error.to_string() }),
        };
        let peer = channel.peer();
        if let Err(refusal) = self.admit(number, peer) {
            self.tell(AgentEvent::TurnedAway { from, why: refusal.to_string() });
            let _ = channel.send(&crate::protocol::Reply::Refused(refusal));
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

    /// Gives a connection its place, now that it is known whose it is.
    fn admit(&self, number: u64, peer: PublicKey) -> Result<(), Refusal> {
        let limits = self.config.limits;
        let mut guests = self.guests();
        let known = guests.connections.values().filter_map(|(_, peer)| *peer);
        let (all, same) = known.fold((0, 0), |(all, same), of| (all + 1, same + u32::from(of == peer)));
        if all >= limits.sessions {
            return Err(Refusal::Sessions { limit: limits.sessions });
        }
        if same >= limits.sessions_per_peer {
            return Err(Refusal::SessionsOfPeer { limit: limits.sessions_per_peer });
        }
        if let Some((_, slot)) = guests.connections.get_mut(&number) {
            *slot = Some(peer);
        }
        Ok(())
    }

    /// Reads the probe port for what no session's own socket takes: hello packets, and garbage.
    fn hear_hellos(&self, stop: &AtomicBool) -> io::Result<()> {
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut start = [0; HEADER];
        while !stop.load(Ordering::Relaxed) {
            let Some(packet) = probes.receive(&mut start, Nanos::ZERO)? else { continue };
            let (Some(session), Some(from)) = (probe::session_of(&start), packet.from) else { continue };
            let guests = self.guests();
            let Some((seal, tell)) = guests.expected.get(&session) else { continue };
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

    /// Lets the hello packet of a session be heard.
    pub(crate) fn expect(&self, session: u32, seal: Seal) -> Receiver<SocketAddr> {
        let (tell, told) = sync_channel(1);
        self.guests().expected.insert(session, (seal, tell));
        told
    }

    /// Ends that.
    pub(crate) fn expect_no_more(&self, session: u32) {
        self.guests().expected.remove(&session);
    }

    /// What this host tells of itself to a peer that reaches it at `local`.
    pub(crate) fn facts(&self, local: IpAddr) -> dwell_core::HostFacts {
        facts::gather(local, Placed { core: self.config.core, real_time: self.config.real_time })
    }
}
