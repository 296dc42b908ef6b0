//! The control channel: TLS 1.3, both ends known by pinned raw public keys (RFC 7250), and frames of limited length
//! on it.

mod pinned;
mod timed;

use crate::identity::{Identity, Peers, PublicKey};
use crate::protocol::{self, GREETING, VERSION};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use pinned::{Pinned, certified};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned, client, server};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timed::Timed;

/// Why a channel cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other end has a key that was not expected.
    #[error("the other end has key {0}, which is not among the expected")]
    Stranger(PublicKey),
    /// The handshake did not come to its end.
    #[error("no secure channel: {0}")]
    Handshake(#[source] io::Error),
    /// The other end closed the channel before its first word: it does not know us.
    #[error("the other end closed the channel before its first word")]
    Unknown,
    /// The other end speaks another version of the protocol.
    #[error("the other end speaks version {theirs} of the protocol, this end version {VERSION}")]
    Version {
        /// What it speaks.
        theirs: u16,
    },
    /// What came is not what this protocol sends.
    #[error("the other end broke the protocol: {0}")]
    Protocol(String),
    /// This end refused what the other asked for, and told it why.
    #[error("refused: {0}")]
    Refused(String),
    /// The stream ended or failed.
    #[error("the control channel failed: {0}")]
    Stream(#[source] io::Error),
}

impl From<io::Error> for ChannelError {
    /// TLS tells a stream's end with what its programmers should do about it.
    fn from(error: io::Error) -> Self {
        Self::Stream(match error.kind() {
            kind @ io::ErrorKind::UnexpectedEof => {
                io::Error::new(kind, "the other end has closed the connection")
            }
            _ => error,
        })
    }
}

/// Either end's TLS.
enum Tls {
    Client(Box<StreamOwned<ClientConnection, Timed>>),
    Server(Box<StreamOwned<ServerConnection, Timed>>),
}

/// A control channel to a peer that we know and that knows us.
pub struct Channel {
    tls: Tls,
    peer: PublicKey,
}

/// How long a handshake may take, in all.
const HANDSHAKE: Duration = Duration::from_secs(10);

impl Channel {
    /// Our side of the handshake as the one that connected.
    ///
    /// # Errors
    /// When the other end is not among `expected`, does not know us, or speaks another version.
    pub fn connect(stream: TcpStream, identity: &Identity, expected: &Peers) -> Result<Self, ChannelError> {
        let provider = Arc::new(ring::default_provider());
        let pinned = Pinned::new(expected.clone(), &provider);
        let internal = |error| ChannelError::Handshake(io::Error::other(error));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(internal)?
            .dangerous()
            .with_custom_certificate_verifier(pinned.clone())
            .with_client_cert_resolver(Arc::new(client::AlwaysResolvesClientRawPublicKeys::new(
                certified(identity).map_err(internal)?,
            )));
        config.resumption = client::Resumption::disabled();
        config.enable_sni = false;
        // The name is never sent or looked at: who the other end is, its key says.
        let name = ServerName::try_from("dwell")
            .map_err(|error| ChannelError::Handshake(io::Error::other(error)))?;
        let mut tls = ClientConnection::new(Arc::new(config), name).map_err(internal)?;
        let mut timed = Timed { stream, until: Instant::now() + HANDSHAKE };
        timed.stream.set_nodelay(true)?;
        complete(&mut tls, &mut timed).map_err(|error| match pinned.presented() {
            Some(key) if !expected.know(&key) => ChannelError::Stranger(key),
            _ => ChannelError::Handshake(error),
        })?;
        let peer = pinned.presented().ok_or(ChannelError::Unknown)?;
        let mut channel = Self { tls: Tls::Client(Box::new(StreamOwned::new(tls, timed))), peer };
        channel.greet(&GREETING, ChannelError::Unknown)?;
        Ok(channel)
    }

    /// Our side of the handshake as the one that was connected to.
    ///
    /// # Errors
    /// When the other end is not among `known`, or speaks another version.
    pub fn accept(stream: TcpStream, identity: &Identity, known: &Peers) -> Result<Self, ChannelError> {
        Self::accept_with(stream, identity, known, GREETING)
    }

    fn accept_with(
        stream: TcpStream,
        identity: &Identity,
        known: &Peers,
        greeting: [u8; GREETING.len()],
    ) -> Result<Self, ChannelError> {
        let provider = Arc::new(ring::default_provider());
        let pinned = Pinned::new(known.clone(), &provider);
        let internal = |error| ChannelError::Handshake(io::Error::other(error));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(internal)?
            .with_client_cert_verifier(pinned.clone())
            .with_cert_resolver(Arc::new(server::AlwaysResolvesServerRawPublicKeys::new(
                certified(identity).map_err(internal)?,
            )));
        config.send_tls13_tickets = 0;
        let mut tls = ServerConnection::new(Arc::new(config)).map_err(internal)?;
        let mut timed = Timed { stream, until: Instant::now() + HANDSHAKE };
        timed.stream.set_nodelay(true)?;
        complete(&mut tls, &mut timed).map_err(|error| match pinned.presented() {
            Some(key) if !known.know(&key) => ChannelError::Stranger(key),
            _ => ChannelError::Handshake(error),
        })?;
        let peer = pinned.presented().ok_or(ChannelError::Unknown)?;
        let mut channel = Self { tls: Tls::Server(Box::new(StreamOwned::new(tls, timed))), peer };
        channel.greet(&greeting, ChannelError::Stream(io::ErrorKind::UnexpectedEof.into()))?;
        Ok(channel)
    }

    /// Both ends say first what they speak, in a form that all versions can read. `silent`: what it means when the
    /// other end says nothing.
    fn greet(&mut self, ours: &[u8], silent: ChannelError) -> Result<(), ChannelError> {
        // A failure to write shows at reading, with the other end's reason.
        let _ = self.stream().write_all(ours).and_then(|()| self.stream().flush());
        let mut theirs = [0; GREETING.len()];
        match self.stream().read_exact(&mut theirs) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error.into()),
            Err(_) => return Err(silent),
        }
        match protocol::version_of(&theirs) {
            Some(VERSION) => Ok(()),
            Some(theirs) => Err(ChannelError::Version { theirs }),
            None => Err(ChannelError::Protocol("it greets like no version of Dwell".to_owned())),
        }
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match &mut self.tls {
            Tls::Client(tls) => tls.as_mut(),
            Tls::Server(tls) => tls.as_mut(),
        }
    }

    fn timed(&mut self) -> &mut Timed {
        match &mut self.tls {
            Tls::Client(tls) => &mut tls.sock,
            Tls::Server(tls) => &mut tls.sock,
        }
    }

    /// Whom we talk to.
    #[must_use]
    pub const fn peer(&self) -> PublicKey {
        self.peer
    }

    /// Sends one frame.
    ///
    /// # Errors
    /// When the stream fails, or the other end does not take it within ten seconds.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), ChannelError> {
        self.timed().until = Instant::now() + HANDSHAKE;
        let frame = protocol::frame(message).map_err(ChannelError::Protocol)?;
        let stream = self.stream();
        stream.write_all(&frame)?;
        Ok(stream.flush()?)
    }

    /// The next frame, within `patience`.
    ///
    /// # Errors
    /// When the stream ends or fails, nothing comes in time, or what comes is no frame.
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T, ChannelError> {
        self.timed().until = Instant::now() + patience;
        let mut length = [0; 4];
        self.stream().read_exact(&mut length)?;
        let length = protocol::frame_length(length).map_err(ChannelError::Protocol)?;
        let mut body = Vec::new();
        // Memory is taken as bytes come, not as they are promised.
        self.stream().take(length as u64).read_to_end(&mut body)?;
        if body.len() < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        protocol::parse(&body).map_err(ChannelError::Protocol)
    }

    /// Whether the other end may still say something: neither end has closed or broken it.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        let stream = match &self.tls {
            Tls::Client(tls) => &tls.sock.stream,
            Tls::Server(tls) => &tls.sock.stream,
        };
        let look = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        matches!(recv(stream.as_raw_fd(), &mut [0], look), Ok(1..) | Err(Errno::EAGAIN | Errno::EINTR))
    }

    /// Ends the channel at once: whatever was still to come on it would answer a question that nobody asks any more.
    pub fn break_off(&mut self) {
        // One that is broken already is as good.
        let _ = self.timed().stream.shutdown(Shutdown::Both);
    }

    /// Says good-bye to TLS, so that the other end sees an end and not a break.
    pub fn close(&mut self) {
        self.timed().until = Instant::now() + Duration::from_secs(1);
        match &mut self.tls {
            Tls::Client(tls) => tls.conn.send_close_notify(),
            Tls::Server(tls) => tls.conn.send_close_notify(),
        }
        let _ = self.stream().flush();
    }
}

trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}

/// Runs the handshake to its end, and sends what is left to send also when it fails: the other end's error.
fn complete<D>(tls: &mut rustls::ConnectionCommon<D>, stream: &mut Timed) -> io::Result<()> {
    while tls.is_handshaking() {
        let (read, written) = tls.complete_io(stream)?;
        if read == 0 && written == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    while tls.wants_write() {
        tls.write_tls(stream)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectConfig, ConnectError, LivePath};
    use std::net::TcpListener;

    /// What a client says to an agent that greets so.
    fn greeted_with(greeting: [u8; 8]) -> ConnectError {
        let (agent, client) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = ConnectConfig::new("127.0.0.1", client.clone(), Peers::only(agent.public_key()));
        config.port = listener.local_addr().unwrap().port();
        std::thread::scope(|scope| {
            let far = scope.spawn(|| {
                let (stream, _) = listener.accept().unwrap();
                Channel::accept_with(stream, &agent, &Peers::only(client.public_key()), greeting).map(|_| ())
            });
            let error = LivePath::connect(config).map(|_| ()).unwrap_err();
            far.join().unwrap().unwrap();
            error
        })
    }

    #[test]
    fn another_version_is_told_with_both_numbers() {
        let error = greeted_with(*b"DWELL\0\x02\x07");
        assert!(matches!(error, ConnectError::Version { theirs: 0x0207, .. }), "{error}");
        assert!(error.to_string().contains("version 519 of the protocol, this Dwell version 4"), "{error}");
    }

    #[test]
    fn another_greeting_is_no_agent() {
        let error = greeted_with(*b"SMTP\0\0\0\x01");
        assert!(error.to_string().contains("it greets like no version of Dwell"), "{error}");
    }

    #[test]
    fn an_end_that_dies_is_told_in_plain_words() {
        let (agent, client) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let (agent_key, client_key) = (agent.public_key(), client.public_key());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(Channel::connect(stream, &client, &Peers::only(agent_key)).unwrap()));
            let (stream, _) = listener.accept().unwrap();
            let mut channel = Channel::accept(stream, &agent, &Peers::only(client_key)).unwrap();
            let error = channel.receive::<protocol::Request>(HANDSHAKE).unwrap_err().to_string();
            assert_eq!(error, "the control channel failed: the other end has closed the connection");
        });
    }

    #[test]
    fn a_frame_longer_than_allowed_is_refused_before_it_is_read() {
        let (agent, client) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let (agent_key, client_key) = (agent.public_key(), client.public_key());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut channel = Channel::connect(stream, &client, &Peers::only(agent_key)).unwrap();
                assert_eq!(channel.peer(), agent_key);
                channel.stream().write_all(&[0xff; 4]).unwrap();
                channel.close();
            });
            let (stream, _) = listener.accept().unwrap();
            let mut channel = Channel::accept(stream, &agent, &Peers::only(client_key)).unwrap();
            let error = channel.receive::<protocol::Request>(HANDSHAKE).unwrap_err();
            assert!(error.to_string().contains("a frame of 4294967295 bytes"), "{error}");
        });
    }
}
