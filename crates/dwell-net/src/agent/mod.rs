//! The cooperating end: answers peers that it knows, on one port for control (TCP) and probes (UDP).

mod config;
pub(crate) mod desk;

pub use config::AgentConfig;

use crate::channel::{Channel, ChannelError};
use crate::identity::Peers;
use crate::probe::{self, HEADER, HELLO};
use crate::protocol::{Refusal, Reply};
use crate::reception::{GLANCE, Receives, Reception};
use crate::session::Session;
use crate::socket::ProbeSocket;
use crate::throughput;
use desk::Desk;
use dwell_core::{Direction, Nanos};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

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
    desk: Desk,
    reception: Reception,
    probes: Mutex<ProbeSocket>,
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
                    return Ok(Self { desk: Desk::new(config), reception, probes: Mutex::new(probes) });
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
            let hellos = self.desk.hellos();
            let Some((seal, tell)) = hellos.expecting(session) else { continue };
            if seal.open(&start, packet.length, Direction::Forward) == Some(HELLO) {
                // Full: it was told already.
                let _ = tell.try_send(from);
            }
        }
        Ok(())
    }
}

impl Receives for Agent {
    fn take(&self, stream: TcpStream) -> io::Result<Option<TcpStream>> {
        throughput::take(&self.desk, stream)
    }

    fn refuse(&self, channel: &mut Channel, refusal: Refusal) {
        // Who has gone already need not be told.
        let _ = channel.send(&Reply::Refused(refusal));
    }

    fn attend(&self, channel: &mut Channel, local: SocketAddr, _: &Peers) -> Result<(), ChannelError> {
        Session::new(&self.desk, local).run(channel)
    }
}
