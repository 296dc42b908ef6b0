//! How a session with an agent begins: a connection, the handshake, and what the agent allows.

use crate::canonical::canonical;
use crate::channel::{Channel, ChannelError};
use crate::connect_config::ConnectConfig;
use crate::dial::dial;
use crate::live_error::ConnectError;
use crate::protocol::{Reply, Welcome};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long an agent may think about a request.
pub(crate) const CONTROL_PATIENCE: Duration = Duration::from_secs(10);

/// A control channel to an agent that has said its first words.
pub(crate) struct Entered {
    pub(crate) channel: Channel,
    /// The agent's address.
    pub(crate) address: SocketAddr,
    /// Ours.
    pub(crate) local: SocketAddr,
    pub(crate) welcome: Welcome,
}

/// Enters.
pub(crate) fn enter(config: &ConnectConfig) -> Result<Entered, ConnectError> {
    let (stream, address) = reach(config)?;
    let local = stream.local_addr().map_err(ConnectError::ThisHost)?;
    let failed = |source| ConnectError::Channel { address, source };
    let mut channel =
        Channel::connect(stream, &config.identity, &config.expected).map_err(|error| match error {
            ChannelError::Stranger(presented) => {
                ConnectError::WrongKey { address, presented, expected: config.expected.clone() }
            }
            ChannelError::Unknown => ConnectError::NotAPeer { address, key: config.identity.public_key() },
            ChannelError::Version { theirs } => ConnectError::Version { address, theirs },
            other => failed(other),
        })?;
    match channel.receive(CONTROL_PATIENCE).map_err(failed)? {
        Reply::Welcome(welcome) => Ok(Entered { channel, address, local, welcome: *welcome }),
        Reply::Refused(refusal) => Err(ConnectError::Refused { address, refusal }),
        other => Err(failed(unexpected(&other))),
    }
}

/// Connects to the first of the host's addresses that answers.
fn reach(config: &ConnectConfig) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let unknown = |source| ConnectError::UnknownHost { host: config.host.clone(), source };
    let host = config.host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> =
        (host, config.port).to_socket_addrs().map_err(unknown)?.map(canonical).collect();
    let mut last = unknown(io::Error::other("it has no address"));
    for address in addresses {
        match dial(address, None, config.patience) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = ConnectError::NoAgent { address };
            }
            Err(source) => last = ConnectError::Unreachable { address, source },
        }
    }
    Err(last)
}

/// Another answer than one of those that fit.
pub(crate) fn unexpected(reply: &Reply) -> ChannelError {
    let name = format!("{reply:?}");
    let name = name.split([' ', '(']).next().unwrap_or_default();
    ChannelError::Protocol(format!("{name} is no answer to what was asked"))
}
