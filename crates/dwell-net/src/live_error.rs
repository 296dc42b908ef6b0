//! Why a path cannot be had, or carries nothing any more: each says what stood in the way and what to do.

use crate::channel::ChannelError;
use crate::identity::{Peers, PublicKey};
use crate::protocol::Refusal;
use dwell_core::Nanos;
use std::io;
use std::net::SocketAddr;

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
        "the agent at {address} has another key than expected: presented {presented}, expected {}; if that is right, put the presented one into the file of peers",
        keys(.expected)
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
    #[error("the agent at {address}: {source}; {}", hint(.source))]
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
    #[error("this host cannot probe: {0}")]
    ThisHost(#[source] io::Error),
}

/// What to look at.
fn hint(source: &ChannelError) -> &'static str {
    match source {
        ChannelError::Handshake(error) | ChannelError::Stream(error)
            if error.kind() == io::ErrorKind::TimedOut =>
        {
            "is it an agent that listens there, and does the path lose packets?"
        }
        _ => "is it an agent that listens there?",
    }
}

/// As they stand in the file of peers.
fn keys(peers: &Peers) -> String {
    let all: Vec<String> = peers.iter().map(|(key, _)| key.to_string()).collect();
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
