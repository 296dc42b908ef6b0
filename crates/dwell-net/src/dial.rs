//! Connects from where it is told to: a host may measure on one network and report on another.

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

/// Connects, from `origin` where one is given.
///
/// # Errors
/// When nobody answers within `patience`, or the origin cannot be had.
pub fn dial(to: SocketAddr, origin: Option<&Origin>, patience: Duration) -> io::Result<TcpStream> {
    let Some(origin) = origin else { return TcpStream::connect_timeout(&to, patience) };
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    match origin {
        Origin::Address(address) => {
            bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(*address, 0)))?;
        }
        Origin::Interface(name) => setsockopt(&socket, sockopt::BindToDevice, &OsString::from(name))?,
    }
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    if poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], patience)? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
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
    use std::net::TcpListener;

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
