//! The cooperating end: answers peers that it knows, on one port for control (TCP) and probes (UDP).

use crate::channel::{Channel, ChannelError};
use crate::guests::Places;
use crate::hellos::Hellos;
use crate::identity::{Identity, Peers};
use crate::probe::{self, HEADER, HELLO};
use crate::prober::Placement;
use crate::protocol::{Limits, PORT, Refusal, Reply};
use crate::reception::{GLANCE, Receives, Reception, ReceptionConfig, ReceptionEvent};
use crate::session::Session;
use crate::socket::ProbeSocket;
use crate::throughput::{self, Arrivals};
use dwell_core::{Bytes, Direction, Nanos};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// What may wait for the receiving thread at most: a host short of memory, for testbeds. `None`: as much as the kernel
    /// grants.
    pub queue: Option<Bytes>,
    /// Core that receiving threads are pinned to.
    pub core: Option<usize>,
    /// Whether receiving threads ask for real-time priority.
    pub real_time: bool,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(ReceptionEvent) + Send + Sync>,
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
            queue: None,
            core: None,
            real_time: false,
            on_event: Arc::new(|_| {}),
        }
    }
}

impl AgentConfig {
    fn reception(&self) -> ReceptionConfig {
        let Limits { sessions, sessions_per_peer, .. } = self.limits;
        ReceptionConfig {
            identity: self.identity.clone(),
            peers: self.peers.clone(),
            peers_file: self.peers_file.clone(),
            places: Places { sessions, sessions_per_peer },
            on_event: Arc::clone(&self.on_event),
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

/// How often in a row the probe port may fail, a glance apart, before the agent gives up.
const FAILURES: u32 = 100;

/// The agent, listening.
pub struct Agent {
    config: AgentConfig,
    reception: Reception,
    probes: Mutex<ProbeSocket>,
    hellos: Mutex<Hellos>,
    arrivals: Mutex<Arrivals>,
}

impl Agent {
    /// Opens the port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn bind(config: AgentConfig) -> Result<Self, AgentError> {
        let asked = config.listen;
        // A free TCP port may be taken for UDP: then another one is tried.
        let mut attempts = if asked.port() == 0 { 16 } else { 1 };
        loop {
            attempts -= 1;
            let reception = Reception::open(asked, config.reception())
                .map_err(|source| AgentError::Listen { address: asked, source })?;
            let address = reception.local_addr();
            match ProbeSocket::bind_shared(address) {
                Ok(probes) => {
                    let _ = probes.set_patience(Some(Nanos(GLANCE.as_nanos() as i64)));
                    return Ok(Self {
                        config,
                        reception,
                        probes: Mutex::new(probes),
                        hellos: Mutex::default(),
                        arrivals: Mutex::default(),
                    });
                }
                Err(_) if attempts > 0 => {}
                Err(source) => return Err(AgentError::Probes { address, source }),
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.reception.local_addr()
    }

    /// Answers peers until `stop` is set, then ends all sessions and returns.
    ///
    /// # Errors
    /// When its port fails.
    pub fn serve(&self, stop: &AtomicBool) -> Result<(), AgentError> {
        std::thread::scope(|scope| {
            let hellos = scope.spawn(|| self.hear_hellos(stop));
            let result = self.reception.serve(self, stop);
            stop.store(true, Ordering::Relaxed);
            let heard =
                hellos.join().unwrap_or_else(|_| Err(io::Error::other("the probe port's thread died")));
            result.and(heard).map_err(AgentError::Stopped)
        })
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
            let hellos = self.hellos();
            let Some((seal, tell)) = hellos.expecting(session) else { continue };
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

    /// Which sessions wait for TCP connections.
    pub(crate) fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which sessions wait for their hello packet.
    pub(crate) fn hellos(&self) -> MutexGuard<'_, Hellos> {
        self.hellos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receives for Agent {
    fn take(&self, stream: TcpStream) -> io::Result<Option<TcpStream>> {
        throughput::take(self, stream)
    }

    fn refuse(&self, channel: &mut Channel, refusal: Refusal) {
        // Who has gone already need not be told.
        let _ = channel.send(&Reply::Refused(refusal));
    }

    fn attend(&self, channel: &mut Channel, local: SocketAddr, _: &Peers) -> Result<(), ChannelError> {
        Session::new(self, local).run(channel)
    }
}
