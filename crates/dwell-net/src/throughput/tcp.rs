//! This host's end of connections for data, and of the session that orders them.

use super::attach::introduce;
use super::member::{Order, Side};
use super::receiving::receive_all;
use super::sending::send_all;
use crate::channel::{Channel, ChannelError};
use crate::connect_config::ConnectConfig;
use crate::enter::{CONTROL_PATIENCE, Entered, enter, unexpected};
use crate::facts;
use crate::live_error::ConnectError;
use crate::prober::Placed;
use crate::protocol::{Limits, Refusal, Reply, Request};
use dwell_core::throughput::Transfer;
use dwell_core::{Circumstances, Direction, HostFacts, Nanos};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Why a run of connections came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The agent will not, or could not.
    #[error("the agent refuses: {0}")]
    Refused(Refusal),
    /// The control channel failed.
    #[error("the agent vanished: {0}")]
    Vanished(#[source] ChannelError),
    /// A connection for data could not be had.
    #[error("no TCP connection for data to {address}, where the agent answered before: {source}")]
    NoConnection {
        /// The agent's address.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The run ended early.
    #[error("the run ended early: {0}")]
    Cut(#[source] io::Error),
}

/// A session with an agent for TCP connections: no probes travel, so nothing but its TCP port need be open.
pub struct StreamPath {
    channel: Channel,
    address: SocketAddr,
    local: SocketAddr,
    patience: Duration,
    limits: Limits,
    far_facts: HostFacts,
}

impl StreamPath {
    /// Opens a session.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn connect(config: &ConnectConfig) -> Result<Self, ConnectError> {
        let Entered { channel, address, local, welcome } = enter(config)?;
        Ok(Self {
            channel,
            address,
            local,
            patience: config.patience,
            limits: welcome.limits,
            far_facts: HostFacts::default(),
        })
    }

    /// What the agent allows.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Both hosts, as far as they tell; the agent's does with its first run.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let sender = facts::gather(self.local.ip(), Placed::default());
        let notes = [("agent".to_owned(), self.address.to_string())].into();
        Circumstances {
            world: "live".to_owned(),
            sender,
            receiver: self.far_facts.clone(),
            notes,
            ..Circumstances::default()
        }
    }

    /// Makes a run. The token of `order` is this session's to give.
    ///
    /// # Errors
    /// Says what failed; there is no half of a result.
    pub fn run(&mut self, order: &Order) -> Result<Transfer, StreamError> {
        let mut order = order.clone();
        SystemRandom::new()
            .fill(&mut order.token)
            .map_err(|_| StreamError::Cut(io::Error::other("the operating system gives no random bytes")))?;
        self.channel.send(&Request::Stream(order.clone())).map_err(StreamError::Vanished)?;
        self.expect(&Reply::Expecting)?;
        let no_connection = |source| StreamError::NoConnection { address: self.address, source };
        let mut streams = Vec::with_capacity(order.connections as usize);
        for _ in 0..order.connections {
            let mut stream =
                TcpStream::connect_timeout(&self.address, self.patience).map_err(no_connection)?;
            introduce(&mut stream, &order.token).map_err(no_connection)?;
            streams.push(stream);
        }
        self.expect(&Reply::Streaming)?;
        let ours = match order.direction {
            Direction::Forward => send_all(&streams, &order, &self.channel)
                .map(|(samples, connection)| Side::Sender { samples, connection }),
            Direction::Reverse => receive_all(streams, &order, Nanos::ZERO, &self.channel)
                .map(|samples| Side::Receiver { samples }),
        };
        // Where ours failed, the other end may know better why, but it need not answer at all.
        let theirs = match &ours {
            Ok(_) => self.told(CONTROL_PATIENCE),
            Err(_) => self.told(Duration::from_secs(1)),
        };
        let ours = match (ours, &theirs) {
            (Ok(ours), _) => ours,
            (Err(_), Err(StreamError::Refused(refusal))) => {
                return Err(StreamError::Refused(refusal.clone()));
            }
            (Err(error), _) => return Err(StreamError::Cut(error)),
        };
        together(&order, ours, theirs?)
    }

    fn expect(&mut self, wanted: &Reply) -> Result<(), StreamError> {
        match self.channel.receive(CONTROL_PATIENCE).map_err(StreamError::Vanished)? {
            Reply::Refused(refusal) => Err(StreamError::Refused(refusal)),
            reply if reply == *wanted => Ok(()),
            other => Err(StreamError::Vanished(unexpected(&other))),
        }
    }

    fn told(&mut self, patience: Duration) -> Result<Side, StreamError> {
        match self.channel.receive(patience).map_err(StreamError::Vanished)? {
            Reply::Streamed { side, facts } => {
                self.far_facts = *facts;
                Ok(*side)
            }
            Reply::Refused(refusal) => Err(StreamError::Refused(refusal)),
            other => Err(StreamError::Vanished(unexpected(&other))),
        }
    }
}

impl Drop for StreamPath {
    fn drop(&mut self) {
        let _ = self.channel.send(&Request::Bye);
        self.channel.close();
    }
}

/// Puts together what both ends saw.
fn together(order: &Order, ours: Side, theirs: Side) -> Result<Transfer, StreamError> {
    let (sender, connection, receiver) = match (ours, theirs) {
        (Side::Sender { samples, connection }, Side::Receiver { samples: receiver })
        | (Side::Receiver { samples: receiver }, Side::Sender { samples, connection }) => {
            (samples, connection, receiver)
        }
        _ => {
            let told = "both ends tell of the same side of a connection".to_owned();
            return Err(StreamError::Vanished(ChannelError::Protocol(told)));
        }
    };
    let (direction, asked, autotuned) = (order.direction, order.duration, order.autotune);
    Ok(Transfer { direction, asked, autotuned, connection, sender, receiver })
}
