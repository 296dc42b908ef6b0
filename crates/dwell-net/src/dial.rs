//! Connects from where it is told to, for a host may measure on one network and report on another; and so that what is
//! said comes through wherever small packets do.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::str::FromStr;
use std::time::Duration;

/// Where connections leave this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// With this address.
    Address(IpAddr),
    /// By this interface, whatever the routes say.
    Interface(String),
}

impl FromStr for Origin {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Interface(text.to_owned()), Self::Address))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Interface(name) => f.write_str(name),
        }
    }
}

/// Bytes of a segment, at most: what every path of IPv6 carries (1,280, RFC 8200, section 5) less its header and TCP's. Routers may
/// drop what is too large and say nothing; then the first frame that fills a larger segment is never heard.
const MOST_SEGMENT: u32 = 1_280 - 40 - 20;

/// Connects, from `origin` where one is given. Neither end sends segments that a path may be too narrow for.
///
/// # Errors
/// When nobody answers within `patience`, or the origin cannot be had.
pub fn dial(to: SocketAddr, origin: Option<&Origin>, patience: Duration) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    setsockopt(&socket, sockopt::TcpMaxSeg, &MOST_SEGMENT)?;
    match origin {
        Some(Origin::Address(address)) => {
            bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(*address, 0)))?;
        }
        Some(Origin::Interface(name)) => setsockopt(&socket, sockopt::BindToDevice, &OsString::from(name))?,
        None => {}
    }
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    loop {
        match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], patience) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(Errno::EINTR) => {}
            other => break other.map(drop)?,
        }
    }
    let stream = TcpStream::from(socket);
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::getsockopt;
    use std::net::TcpListener;

    #[test]
    fn no_segment_is_longer_than_any_path_carries() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = dial(listener.local_addr().unwrap(), None, Duration::from_secs(1)).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        for end in [&stream, &accepted] {
            // That of the loopback has 65,483 bytes.
            let most = getsockopt(end, sockopt::TcpMaxSeg).unwrap();
            assert!((500..=MOST_SEGMENT).contains(&most), "{most}");
        }
    }

    #[test]
    fn a_connection_comes_from_where_it_was_told_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let second = Duration::from_secs(1);
        let from = |origin: &str| {
            let stream = dial(to, Some(&origin.parse().unwrap()), second)?;
            let (_, from) = listener.accept()?;
            assert_eq!(stream.local_addr()?, from);
            io::Result::Ok(from.ip())
        };
        assert_eq!(from("127.0.0.77").unwrap(), IpAddr::from([127, 0, 0, 77]));
        assert_eq!(from("lo").unwrap(), IpAddr::from([127, 0, 0, 1]));
        assert!(from("no-such-one").is_err());
        assert_eq!(from("192.0.2.1").unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
        drop(listener);
        let refused = dial(to, Some(&Origin::Interface("lo".to_owned())), second).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
