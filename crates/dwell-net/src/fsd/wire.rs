//! The socket by which probes leave.

use super::error::FsdError;
use dwell_core::fsd::Probe;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, send, socket,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// A socket that sends whole IP packets to one host, whatever addresses they bear.
pub(super) struct Wire(OwnedFd);

impl Wire {
    pub(super) fn to(host: IpAddr) -> Result<Self, FsdError> {
        let family = if host.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(family, SockType::Raw, flags, SockProtocol::Raw).map_err(io::Error::from)?;
        connect(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(host, 0)))
            .map_err(|error| FsdError::Unreachable { address: host, source: error.into() })?;
        Ok(Self(fd))
    }

    pub(super) fn send(&self, probe: Probe) -> io::Result<()> {
        let two = || io::Error::other("source and destination are of two versions of IP");
        let packet = probe.write().ok_or_else(two)?;
        send(self.0.as_raw_fd(), &packet, MsgFlags::empty())?;
        Ok(())
    }
}
