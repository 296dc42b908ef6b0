//! UDP sockets for probes, with every time stamp that the host gives.

use crate::stamped;
pub use crate::stamped::{DepartureStamp, Received};
use dwell_core::{Bytes, Nanos};
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect,
    getsockname, getsockopt, sendmmsg, sendto, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// The macro writes the socket options that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod option {
    use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
    sockopt_impl!(MtuDiscover4, SetOnly, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::c_int);
    sockopt_impl!(MtuDiscover6, SetOnly, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::c_int);
    sockopt_impl!(AttachFilter, SetOnly, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, libc::sock_fprog);
    sockopt_impl!(MemoryInfo, GetOnly, libc::SOL_SOCKET, libc::SO_MEMINFO, super::Memory);
}

/// Bytes that the kernel may queue on a socket for a thread that was kept from running.
const QUEUE: usize = 4 << 20;

/// What the kernel tells of a socket's memory (linux/sock_diag.h), the packets last for which there was none.
type Memory = [u32; 9];

/// A UDP socket for probes. Its packets are never fragmented, on no stretch of the path.
pub struct ProbeSocket {
    fd: OwnedFd,
    ip: IpAddr,
    control: Vec<u8>,
}

impl ProbeSocket {
    /// Bound to `local`, which nobody else is then bound to.
    ///
    /// # Errors
    /// The operating system's, such as an address in use.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Self::bound(local, false)
    }

    /// Bound to `local`, as others of the same user may be that were bound in this way: the kernel hands a packet to
    /// the one that is connected to its sender, if there is one.
    ///
    /// # Errors
    /// The operating system's, such as an address in use by another user.
    pub fn bind_shared(local: SocketAddr) -> io::Result<Self> {
        Self::bound(local, true)
    }

    fn bound(local: SocketAddr, shared: bool) -> io::Result<Self> {
        let family = if local.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let fd = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        setsockopt(&fd, sockopt::ReusePort, &shared)?;
        if local.is_ipv6() && local.ip().is_unspecified() {
            setsockopt(&fd, sockopt::Ipv6V6Only, &false)?;
            setsockopt(&fd, option::MtuDiscover4, &libc::IP_PMTUDISC_PROBE)?;
        }
        Self::prepared(fd, local)
    }

    /// Of whole packets of `protocol`, without their IP headers on the way out, and with them on the way in over IPv4.
    /// Bound to `local`, which may be the unspecified address. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// The operating system's.
    pub fn raw(local: IpAddr, protocol: SockProtocol) -> io::Result<Self> {
        let family = if local.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let fd = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        Self::prepared(fd, SocketAddr::new(local, 0))
    }

    /// Lets nothing in from now on: its queue holds transmit stamps alone.
    ///
    /// # Errors
    /// The operating system's.
    pub fn deafen(&self) -> io::Result<()> {
        // Accept no byte of any packet (linux/filter.h: BPF_RET | BPF_K).
        let mut nothing = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }];
        let program = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
        Ok(setsockopt(&self.fd, option::AttachFilter, &program)?)
    }

    fn prepared(fd: OwnedFd, local: SocketAddr) -> io::Result<Self> {
        // Those with CAP_NET_ADMIN may force it; to others the kernel grants less where its limit is lower.
        if setsockopt(&fd, sockopt::RcvBufForce, &QUEUE).is_err() {
            let _ = setsockopt(&fd, sockopt::RcvBuf, &QUEUE);
        }
        let _ = setsockopt(&fd, sockopt::SndBuf, &QUEUE);
        if local.is_ipv4() {
            setsockopt(&fd, option::MtuDiscover4, &libc::IP_PMTUDISC_PROBE)?;
        } else {
            setsockopt(&fd, option::MtuDiscover6, &libc::IPV6_PMTUDISC_PROBE)?;
        }
        bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?;
        let control = stamped::control();
        let this = Self { fd, ip: local.ip(), control };
        this.recount()?;
        Ok(this)
    }

    /// Talks to `peer` alone from now on.
    ///
    /// # Errors
    /// The operating system's, such as no route.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        Ok(connect(self.fd.as_raw_fd(), &SockaddrStorage::from(peer))?)
    }

    /// Lets no more than so many bytes wait to be read, as the kernel counts them.
    ///
    /// # Errors
    /// The operating system's.
    pub fn limit_queue(&self, queue: Bytes) -> io::Result<()> {
        Ok(setsockopt(&self.fd, sockopt::RcvBuf, &(queue.0 as usize))?)
    }

    /// Packets that came and for which there was no room, from the beginning; zero where the kernel does not tell.
    #[must_use]
    pub fn overflowed(&self) -> u32 {
        getsockopt(&self.fd, option::MemoryInfo).map_or(0, |memory: Memory| memory[8])
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The operating system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address: SockaddrStorage = getsockname(self.fd.as_raw_fd())?;
        stamped::to_std(&address)
            .ok_or_else(|| io::Error::other("the socket has an address of an unknown family"))
    }

    /// Starts counting departures from zero again. To be called when a send failed: kernels differ in whether they
    /// count such a packet.
    ///
    /// # Errors
    /// When the kernel takes no stamps at all.
    pub fn recount(&self) -> io::Result<()> {
        stamped::recount(&self.fd)
    }

    /// Has packets stamped before their queueing discipline too, from the next one on.
    ///
    /// # Errors
    /// When the kernel does not know such stamps.
    pub fn stamp_discipline(&self) -> io::Result<()> {
        stamped::stamp_discipline(&self.fd)
    }

    /// How long [`Self::receive`] waits; `None`: for ever.
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_patience(&self, patience: Option<Nanos>) -> io::Result<()> {
        let value = patience.map_or(TimeVal::zero(), |span| TimeVal::microseconds((span.0 / 1000).max(1)));
        Ok(setsockopt(&self.fd, sockopt::ReceiveTimeout, &value)?)
    }

    /// The next packet; its first bytes go into `buffer`. The thread blocks in the kernel, then is busy for `spin`,
    /// then takes its stamp. `None` when nothing came in time, or what came was an error report.
    ///
    /// # Errors
    /// The operating system's.
    pub fn receive(&mut self, buffer: &mut [u8], spin: Nanos) -> io::Result<Option<Received>> {
        stamped::receive(&self.fd, &mut self.control, buffer, spin, MsgFlags::MSG_TRUNC)
    }

    /// Like [`Self::receive`], of packets that are here already.
    ///
    /// # Errors
    /// The operating system's.
    pub fn receive_now(&mut self, buffer: &mut [u8], spin: Nanos) -> io::Result<Option<Received>> {
        let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
        stamped::receive(&self.fd, &mut self.control, buffer, spin, flags)
    }

    /// Sends `packets` to the connected peer in one burst. Tells how many the kernel took before it refused one.
    ///
    /// # Errors
    /// When it refused the first.
    pub fn send(&self, burst: &mut Burst<'_>) -> io::Result<usize> {
        let sent = sendmmsg(
            self.fd.as_raw_fd(),
            &mut burst.headers,
            burst.parts.iter(),
            &burst.addresses,
            [],
            MsgFlags::empty(),
        )?;
        Ok(sent.count())
    }

    /// Takes the next transmit stamp from the error queue; `None` when there is none.
    ///
    /// # Errors
    /// The operating system's.
    pub fn departure_stamp(&mut self) -> io::Result<Option<DepartureStamp>> {
        stamped::departure(&self.fd, &mut self.control)
    }

    /// Sends one packet to `to`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn send_to(&self, packet: &[u8], to: SocketAddr) -> io::Result<()> {
        sendto(self.fd.as_raw_fd(), packet, &SockaddrStorage::from(to), MsgFlags::empty())?;
        Ok(())
    }

    /// The address that it is bound to.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        self.ip
    }
}

/// Packets that leave in one call, with everything ready before the clock is read.
pub struct Burst<'a> {
    headers: MultiHeaders<SockaddrStorage>,
    parts: Vec<[IoSlice<'a>; 1]>,
    addresses: Vec<Option<SockaddrStorage>>,
}

impl<'a> Burst<'a> {
    /// Of these packets.
    #[must_use]
    pub fn new(packets: &[&'a [u8]]) -> Self {
        Self {
            headers: MultiHeaders::preallocate(packets.len(), None),
            parts: packets.iter().map(|packet| [IoSlice::new(packet)]).collect(),
            addresses: vec![None; packets.len()],
        }
    }
}
