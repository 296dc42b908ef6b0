//! Asks a router for a message to this host, to learn who it is and how much it quotes.
//!
//! All packets of a pair are of one size where the router's message is as large as the probe that it quotes. Most
//! routers fill a message up to 576 bytes of IPv4 (RFC 1812) or 1280 of IPv6 (RFC 4443), so that a probe of that size
//! is even with it; others quote the IP header and 8 bytes (RFC 792), and a probe of 56 bytes is; with extensions
//! (RFC 4884) it is something between. What the router made of the last probe is what the next is tried with.

use super::error::FsdError;
use super::wire::Wire;
use dwell_core::fsd::{Exceeded, Marks, Probe};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A router as it answers this host.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Router {
    /// By what it says.
    pub address: IpAddr,
    /// Bytes of the IP packet of a probe.
    pub even: u16,
    /// Bytes of the IP packet of its message about such a probe; the same, where it can be had.
    pub message: u16,
}

/// Hears routers' messages to this host.
pub(super) struct Scout {
    heard: OwnedFd,
    near: IpAddr,
    host: IpAddr,
    id: u16,
}

/// The sequence number of its probes, which no pair has: that of the last would be one less.
const SEQUENCE: u16 = u16::MAX;

/// What a router fills its messages up to.
const FULL: u16 = 576;
const FULL_6: u16 = 1_280;

/// Sizes that are tried.
const SIZES: u32 = 4;
/// How often each is.
const ATTEMPTS: u32 = 3;
/// How long a router may take. Linux's sends no more than one message a second to one host, after the first six.
const PATIENCE: Duration = Duration::from_millis(1_100);

impl Scout {
    pub(super) fn open(near: IpAddr, host: IpAddr, id: u16) -> io::Result<Self> {
        let protocol = if host.is_ipv4() { SockProtocol::EthIp } else { SockProtocol::EthIpv6 };
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // IP packets of all interfaces: messages come in by whichever the router's route leads to.
        let heard = socket(AddressFamily::Packet, SockType::Datagram, flags, protocol)?;
        Ok(Self { heard, near, host, id })
    }

    /// The router at `hop`.
    pub(super) fn find(&self, wire: &Wire, hop: u8) -> Result<Router, FsdError> {
        let mut length = if self.host.is_ipv4() { FULL } else { FULL_6 };
        let mut router = self.ask(wire, hop, length)?;
        for _ in 1..SIZES {
            if router.message == router.even {
                break;
            }
            length = router.message.max(Probe::least(self.host));
            router = self.ask(wire, hop, length)?;
        }
        Ok(router)
    }

    fn ask(&self, wire: &Wire, hop: u8, length: u16) -> Result<Router, FsdError> {
        let marks = Marks { source: self.near, destination: self.host, id: self.id, sequence: SEQUENCE };
        for _ in 0..ATTEMPTS {
            wire.send(Probe { marks, hops: hop, length })?;
            if let Some(Exceeded { router, length: message, .. }) = self.answer(marks)? {
                return Ok(Router { address: router, even: length, message });
            }
        }
        Err(FsdError::NoRouter { hop, address: self.host, asked: ATTEMPTS })
    }

    fn answer(&self, marks: Marks) -> io::Result<Option<Exceeded>> {
        let until = Instant::now() + PATIENCE;
        let mut packet = [0; 2048];
        loop {
            match recv(self.heard.as_raw_fd(), &mut packet, MsgFlags::empty()) {
                Ok(length) => {
                    let read = Exceeded::read(packet.get(..length).unwrap_or(&packet));
                    if let Some(answer) = read.filter(|read| read.marks == marks && read.to == self.near) {
                        return Ok(Some(answer));
                    }
                }
                Err(Errno::EAGAIN) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    let left = PollTimeout::try_from(left.max(Duration::from_millis(1)));
                    let mut fds = [PollFd::new(self.heard.as_fd(), PollFlags::POLLIN)];
                    match poll(&mut fds, left.unwrap_or(PollTimeout::ZERO)) {
                        Ok(_) | Err(Errno::EINTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
