//! Takes connections, lets in who is known, and keeps to the number of places: the door of the agent and of the
//! warehouse.

use crate::canonical::canonical;
use crate::channel::{Channel, ChannelError};
use crate::guests::{Guests, Places};
use crate::identity::{Identity, Peers, PublicKey};
use crate::protocol::Refusal;
use crate::socket::ProbeSocket;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Who may come in, and how many.
#[derive(Clone)]
pub struct ReceptionConfig {
    /// Who this host is.
    pub identity: Identity,
    /// Whom it lets in.
    pub peers: Peers,
    /// Where that is kept: read anew for each connection, so that a peer is known as soon as it is in the file. While
    /// the file cannot be read, `peers` are known.
    pub peers_file: Option<PathBuf>,
    /// How many at a time.
    pub places: Places,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(ReceptionEvent) + Send + Sync>,
}

/// Something that the keeper of a door may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceptionEvent {
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

impl fmt::Display for ReceptionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { peer, from } => write!(f, "{from}: session of {peer}"),
            Self::Ended { peer, from, why: None } => write!(f, "{from}: session of {peer} ended"),
            Self::Ended { peer, from, why: Some(why) } => {
                write!(f, "{from}: session of {peer} ended: {why}")
            }
            Self::PeersUnread { from, why } => write!(f, "{from}: the peers known before are used: {why}"),
            Self::TurnedAway { from, why } => write!(f, "{from}: turned away: {why}"),
        }
    }
}

/// Who receives those that were let in.
pub trait Receives: Sync {
    /// Takes a connection that is no control channel; otherwise gives it back.
    ///
    /// # Errors
    /// When it ends before it says what it is.
    fn take(&self, stream: TcpStream) -> io::Result<Option<TcpStream>> {
        Ok(Some(stream))
    }

    /// Tells a peer that it cannot stay.
    fn refuse(&self, channel: &mut Channel, refusal: Refusal);

    /// Talks with a peer, in a thread of its own, until it leaves. `peers`: who was known when it came.
    ///
    /// # Errors
    /// When it did not end by the peer's own wish.
    fn attend(&self, channel: &mut Channel, local: SocketAddr, peers: &Peers) -> Result<(), ChannelError>;
}

/// How often a listener looks whether it is to stop.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);

/// An open door.
pub struct Reception {
    config: ReceptionConfig,
    listener: TcpListener,
    address: SocketAddr,
    guests: Mutex<Guests>,
}

impl Reception {
    /// Opens it at an address. Port 0: any that is free. `[::]` means all addresses, of IPv4 too.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub fn open(mut at: SocketAddr, config: ReceptionConfig) -> io::Result<Self> {
        if at.ip() == Ipv6Addr::UNSPECIFIED && !speaks_ipv6() {
            at.set_ip(Ipv4Addr::UNSPECIFIED.into());
        }
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { config, listener, address, guests: Mutex::default() })
    }

    /// Where it is.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Lets peers in until `stop` is set, then breaks off all sessions and returns.
    ///
    /// # Errors
    /// When the port fails.
    pub fn serve(&self, host: &dyn Receives, stop: &AtomicBool) -> io::Result<()> {
        std::thread::scope(|scope| {
            let result = self.accept(scope, host, stop);
            self.guests().dismiss();
            result
        })
    }

    fn tell(&self, event: ReceptionEvent) {
        (self.config.on_event)(event);
    }

    fn accept<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        host: &'scope dyn Receives,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, from)) => {
                    let from = canonical(from);
                    if let Err(why) = self.welcome(scope, host, stream, from) {
                        self.tell(ReceptionEvent::TurnedAway { from, why: why.to_string() });
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
        scope: &'scope Scope<'scope, '_>,
        host: &'scope dyn Receives,
        stream: TcpStream,
        from: SocketAddr,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let other = stream.try_clone()?;
        let number = self.guests().arrive(other, from.ip()).map_err(io::Error::other)?;
        let started = Builder::new().name("session".to_owned()).spawn_scoped(scope, move || {
            // A defect that one session finds must not end the others.
            let attended = catch_unwind(AssertUnwindSafe(|| self.attend(host, number, stream, from)));
            if attended.is_err() {
                self.tell(ReceptionEvent::TurnedAway {
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
    fn attend(&self, host: &dyn Receives, number: u64, stream: TcpStream, from: SocketAddr) {
        let local = stream.local_addr();
        let stream = match host.take(stream) {
            Ok(Some(stream)) => stream,
            Ok(None) => return,
            Err(why) => return self.tell(ReceptionEvent::TurnedAway { from, why: why.to_string() }),
        };
        let known = self.known(from);
        let mut channel = match Channel::accept(stream, &self.config.identity, &known) {
            Ok(channel) => channel,
            Err(error) => return self.tell(ReceptionEvent::TurnedAway { from, why: error.to_string() }),
        };
        let peer = channel.peer();
        let place = self.guests().admit(number, peer, self.config.places);
        if let Err(refusal) = place {
            self.tell(ReceptionEvent::TurnedAway { from, why: refusal.to_string() });
            host.refuse(&mut channel, refusal);
            return channel.close();
        }
        self.tell(ReceptionEvent::Began { peer, from });
        let result = match local {
            Ok(local) => host.attend(&mut channel, canonical(local), &known),
            Err(error) => Err(ChannelError::Stream(error)),
        };
        channel.close();
        self.tell(ReceptionEvent::Ended { peer, from, why: result.err().map(|error| error.to_string()) });
    }

    /// Whom it lets in now.
    fn known(&self, from: SocketAddr) -> Peers {
        let read = self.config.peers_file.as_deref().map(Peers::load);
        match read {
            Some(Ok(peers)) => peers,
            Some(Err(error)) => {
                self.tell(ReceptionEvent::PeersUnread { from, why: error.to_string() });
                self.config.peers.clone()
            }
            None => self.config.peers.clone(),
        }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this host's kernel speaks IPv6: some are told not to.
fn speaks_ipv6() -> bool {
    ProbeSocket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0)).is_ok()
}
