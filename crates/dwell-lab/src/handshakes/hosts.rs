//! The programs at both ends, which talk over this machine's own TCP.

use crate::error::LabError;
use crate::wiring::Place;
use dwell_core::Nanos;
use dwell_net::{bear_data_on_first_ack, clock};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect, listen,
    setsockopt, socket, sockopt,
};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// How the ends of a connection talk.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    /// The client asks shortly after it is connected.
    Asks,
    /// At once.
    AsksAtOnce,
    /// With its first ACK.
    AsksWithAck,
    /// Later than the server waits before it repeats.
    AsksLate,
    /// Nobody says anything.
    Silent,
    /// The server speaks first.
    Listens,
    /// TCP Fast Open: the client asks with its SYN.
    FastOpen,
}

impl Manner {
    pub(super) const ALL: [Self; 7] = [
        Self::Asks,
        Self::AsksAtOnce,
        Self::AsksWithAck,
        Self::AsksLate,
        Self::Silent,
        Self::Listens,
        Self::FastOpen,
    ];

    /// How a verdict calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Asks => "client asks",
            Self::AsksAtOnce => "client asks at once",
            Self::AsksWithAck => "first ACK with data",
            Self::AsksLate => "client asks late",
            Self::Silent => "nobody asks",
            Self::Listens => "server speaks first",
            Self::FastOpen => "Fast Open",
        }
    }

    /// How long after it is connected the client asks.
    const fn asks_after(self) -> Option<Nanos> {
        match self {
            Self::Asks => Some(Nanos::from_millis(30)),
            Self::AsksAtOnce | Self::AsksWithAck => Some(Nanos::ZERO),
            Self::AsksLate => Some(Nanos::from_millis(2_500)),
            Self::Silent | Self::Listens | Self::FastOpen => None,
        }
    }
}

/// Where the server answers what it is asked, and where it speaks first.
const ANSWERING: u16 = 80;
const SPEAKING: u16 = 25;

const REQUEST: &[u8] = &[b'?'; 120];
const REPLY: &[u8] = &[b'!'; 400];

/// A connection that a client is to make.
#[derive(Copy, Clone, Debug)]
pub(super) struct Call {
    pub(super) manner: Manner,
    pub(super) port: u16,
    pub(super) ipv6: bool,
}

impl Call {
    pub(super) fn ends(self) -> [SocketAddr; 2] {
        let address = |place: Place| if self.ipv6 { place.ipv6() } else { place.ipv4() };
        let port = if self.manner == Manner::Listens { SPEAKING } else { ANSWERING };
        [
            SocketAddr::new(address(Place::SOURCE), self.port),
            SocketAddr::new(address(Place::DESTINATION), port),
        ]
    }

    /// Begins to connect. With Fast Open, the request is what does.
    fn open(self) -> io::Result<TcpStream> {
        let [own, peer] = self.ends();
        let fd = tcp(own.ip())?;
        bind(fd.as_raw_fd(), &SockaddrStorage::from(own))?;
        match self.manner {
            Manner::AsksWithAck => bear_data_on_first_ack(&fd)?,
            Manner::FastOpen => setsockopt(&fd, sockopt::TcpFastOpenConnect, &true)?,
            _ => {}
        }
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(peer)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut stream = TcpStream::from(fd);
        if self.manner == Manner::FastOpen {
            ask(&mut stream)?;
        }
        Ok(stream)
    }
}

/// A socket that does not block.
fn tcp(address: IpAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(family, SockType::Stream, flags, SockProtocol::Tcp)?)
}

fn ask(stream: &mut TcpStream) -> io::Result<()> {
    match stream.write(REQUEST) {
        Err(error) if matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::EINPROGRESS)) => Ok(()),
        other => other.map(drop),
    }
}

/// What a connection of the client waits for.
enum Waiting {
    ToConnect,
    ToAsk(Nanos),
    ForNothing,
}

/// Makes the `calls`, one every `pace`, and keeps them until `stop`.
pub(super) fn call(calls: &[Call], pace: Nanos, stop: &AtomicBool) -> Result<(), LabError> {
    let began = clock::monotonic();
    let mut open: Vec<(Manner, TcpStream, Waiting)> = Vec::with_capacity(calls.len());
    let mut rest = calls.iter();
    while !stop.load(Ordering::Relaxed) {
        let now = clock::monotonic();
        while began + pace * open.len() as i64 <= now
            && let Some(call) = rest.next()
        {
            let stream = call.open().map_err(LabError::system(format!("connect from port {}", call.port)))?;
            let waiting =
                if call.manner == Manner::FastOpen { Waiting::ForNothing } else { Waiting::ToConnect };
            open.push((call.manner, stream, waiting));
        }
        let connecting: Vec<usize> =
            (0..open.len()).filter(|index| matches!(open[*index].2, Waiting::ToConnect)).collect();
        let mut wanted: Vec<PollFd<'_>> =
            connecting.iter().map(|index| PollFd::new(open[*index].1.as_fd(), PollFlags::POLLOUT)).collect();
        poll(&mut wanted, PollTimeout::from(1_u8)).map_err(LabError::system("wait for connections"))?;
        let connected: Vec<usize> = connecting
            .iter()
            .zip(&wanted)
            .filter(|(_, fd)| fd.any() == Some(true))
            .map(|(index, _)| *index)
            .collect();
        let now = clock::monotonic();
        for index in connected {
            open[index].2 =
                open[index].0.asks_after().map_or(Waiting::ForNothing, |after| Waiting::ToAsk(now + after));
        }
        for (_, stream, waiting) in &mut open {
            if matches!(waiting, Waiting::ToAsk(at) if *at <= now) {
                // Who was refused, or gave up, asks nobody.
                let _ = ask(stream);
                *waiting = Waiting::ForNothing;
            }
        }
    }
    Ok(())
}

/// Listeners of both kinds, on both versions of IP where there are two.
pub(super) fn listeners(ipv6: bool) -> Result<Vec<(TcpListener, bool)>, LabError> {
    let addresses = [Some(Place::DESTINATION.ipv4()), ipv6.then(|| Place::DESTINATION.ipv6())];
    let open = |address: IpAddr, port| -> io::Result<TcpListener> {
        let fd = tcp(address)?;
        bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, port)))?;
        listen(&fd, Backlog::MAXALLOWABLE)?;
        Ok(TcpListener::from(fd))
    };
    let mut opened = Vec::new();
    for address in addresses.into_iter().flatten() {
        for port in [ANSWERING, SPEAKING] {
            let listener = open(address, port).map_err(LabError::system(format!("listen on port {port}")))?;
            opened.push((listener, port == SPEAKING));
        }
    }
    Ok(opened)
}

/// Serves until `stop`.
pub(super) fn serve(listeners: &[(TcpListener, bool)], stop: &AtomicBool) -> Result<(), LabError> {
    let mut open: Vec<TcpStream> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let sockets =
            listeners.iter().map(|(listener, _)| listener.as_fd()).chain(open.iter().map(|one| one.as_fd()));
        let mut wanted: Vec<PollFd<'_>> = sockets.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        poll(&mut wanted, PollTimeout::from(20_u8)).map_err(LabError::system("wait for clients"))?;
        let ready: Vec<bool> = wanted.iter().map(|fd| fd.any() == Some(true)).collect();
        let (new, asked) = ready.split_at(listeners.len());
        let mut over = Vec::new();
        for (index, stream) in open.iter_mut().enumerate().filter(|(index, _)| asked[*index]) {
            match stream.read(&mut [0; 2048]) {
                Ok(1..) => drop(stream.write(REPLY)),
                Ok(0) => over.push(index),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => over.push(index),
            }
        }
        for index in over.into_iter().rev() {
            open.swap_remove(index);
        }
        for ((listener, speaks), _) in listeners.iter().zip(new).filter(|(_, ready)| **ready) {
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nonblocking(true).map_err(LabError::system("serve a client"))?;
                if *speaks {
                    let _ = stream.write(REPLY);
                }
                open.push(stream);
            }
        }
    }
    Ok(())
}
