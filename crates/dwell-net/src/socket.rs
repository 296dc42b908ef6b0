//! UDP sockets for probes, with every time stamp that the host gives.

use crate::clock;
use dwell_core::{Nanos, Stamps};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType,
    SockaddrStorage, TimestampingFlag, bind, connect, getsockname, recvmsg, sendmmsg, setsockopt, socket,
    sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// The macro writes the socket options that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod option {
    use nix::{libc, setsockopt_impl, sockopt_impl};
    sockopt_impl!(MtuDiscover4, SetOnly, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::c_int);
    sockopt_impl!(MtuDiscover6, SetOnly, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::c_int);
    sockopt_impl!(AttachFilter, SetOnly, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, libc::sock_fprog);
}

/// Bytes that the kernel may queue on a socket for a thread that was kept from running.
const QUEUE: usize = 4 << 20;

/// Both software and hardware stamps of one departure (SOF_TIMESTAMPING_OPT_TX_SWHW; nix has no name for it).
const BOTH_DEPARTURE_STAMPS: TimestampingFlag = TimestampingFlag::from_bits_retain(1 << 14);

/// A packet that came.
#[derive(Copy, Clone, Debug)]
pub struct Received {
    /// Its length; more than was read of it where the buffer was shorter.
    pub length: usize,
    /// When.
    pub stamps: Stamps,
    /// From where.
    pub from: Option<SocketAddr>,
}

/// When a packet departed, as told by the error queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DepartureStamp {
    /// Which packet: counted from zero since the stamps were switched on or [`ProbeSocket::recount`] was called.
    pub id: u32,
    /// The kernel's stamp.
    pub kernel: Option<Nanos>,
    /// The NIC's.
    pub hardware: Option<Nanos>,
}

/// A UDP socket for probes. Its packets are never fragmented, on no stretch of the path.
pub struct ProbeSocket {
    fd: OwnedFd,
    ip: IpAddr,
    control: Vec<u8>,
}

/// The errors that ICMP messages become (icmp_err_convert of the kernel, and its IPv6 counterpart).
const FROM_ICMP: [Errno; 9] = [
    Errno::ECONNREFUSED,
    Errno::EHOSTUNREACH,
    Errno::ENETUNREACH,
    Errno::EHOSTDOWN,
    Errno::ENOPROTOOPT,
    Errno::EOPNOTSUPP,
    Errno::ENONET,
    Errno::EACCES,
    Errno::EPROTO,
];

/// How the stamps are to be taken.
fn stamping() -> TimestampingFlag {
    TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
        | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_TX_HARDWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
        | BOTH_DEPARTURE_STAMPS
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
        let control = nix::cmsg_space!([libc::timespec; 3], [u8; 64], [u8; 64]);
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

    /// Where it is bound.
    ///
    /// # Errors
    /// The operating system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address: SockaddrStorage = getsockname(self.fd.as_raw_fd())?;
        to_std(&address).ok_or_else(|| io::Error::other("the socket has an address of an unknown family"))
    }

    /// Starts counting departures from zero again. To be called when a send failed: kernels differ in whether they
    /// count such a packet.
    ///
    /// # Errors
    /// When the kernel takes no stamps at all.
    pub fn recount(&self) -> io::Result<()> {
        setsockopt(&self.fd, sockopt::Timestamping, &TimestampingFlag::empty())?;
        Ok(setsockopt(&self.fd, sockopt::Timestamping, &stamping())?)
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
        self.receive_with(buffer, spin, MsgFlags::MSG_TRUNC)
    }

    /// Like [`Self::receive`], of packets that are here already.
    ///
    /// # Errors
    /// The operating system's.
    pub fn receive_now(&mut self, buffer: &mut [u8], spin: Nanos) -> io::Result<Option<Received>> {
        self.receive_with(buffer, spin, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT)
    }

    fn receive_with(
        &mut self,
        buffer: &mut [u8],
        spin: Nanos,
        flags: MsgFlags,
    ) -> io::Result<Option<Received>> {
        let mut parts = [IoSliceMut::new(buffer)];
        let fd = self.fd.as_raw_fd();
        let result = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut self.control), flags);
        if spin > Nanos::ZERO && result.is_ok() {
            clock::spin_until(clock::monotonic() + spin);
        }
        let application = clock::realtime();
        let message = match result {
            Ok(message) => message,
            // A time-out, or an ICMP error that says what became of an earlier packet: nothing came, and no failure
            // of ours.
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) if FROM_ICMP.contains(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut stamps = Stamps { application, kernel: None, hardware: None };
        if let Ok(controls) = message.cmsgs() {
            for control in controls {
                if let ControlMessageOwned::ScmTimestampsns(times) = control {
                    stamps.kernel =
                        nonzero(times.system).and_then(|stamp| clock::plausible(stamp, application));
                    stamps.hardware = nonzero(times.hw_raw);
                }
            }
        }
        Ok(Some(Received { length: message.bytes, stamps, from: message.address.as_ref().and_then(to_std) }))
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
        loop {
            let fd = self.fd.as_raw_fd();
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let message = match recvmsg::<SockaddrStorage>(fd, &mut [], Some(&mut self.control), flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut stamp = DepartureStamp { id: 0, kernel: None, hardware: None };
            let mut known = false;
            for control in message.cmsgs()? {
                match control {
                    ControlMessageOwned::ScmTimestampsns(times) => {
                        stamp.kernel = nonzero(times.system);
                        stamp.hardware = nonzero(times.hw_raw);
                    }
                    ControlMessageOwned::Ipv4RecvErr(error, _)
                    | ControlMessageOwned::Ipv6RecvErr(error, _)
                        if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING =>
                    {
                        stamp.id = error.ee_data;
                        known = true;
                    }
                    _ => {}
                }
            }
            // Anything else is an ICMP error, which says nothing of a departure.
            if known {
                return Ok(Some(stamp));
            }
        }
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

fn nonzero(time: nix::sys::time::TimeSpec) -> Option<Nanos> {
    let stamp = Nanos(time.tv_sec().saturating_mul(1_000_000_000).saturating_add(time.tv_nsec()));
    (stamp != Nanos::ZERO).then_some(stamp)
}

fn to_std(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    let address =
        v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))?;
    Some(canonical(address))
}

/// An IPv4 address that an IPv6 socket shows as its own kind, as what it is.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::from((v4, address.port())),
        IpAddr::V6(_) => address,
    }
}
