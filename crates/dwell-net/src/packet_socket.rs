//! Whole frames in and out of an interface, with the kernel's stamps: what a forwarder needs, and a tap.

use crate::clock;
use dwell_core::Nanos;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, TimestampingFlag,
    recvmsg, send, setsockopt, socket, sockopt,
};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The macro writes the socket options that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod option {
    use nix::{libc, setsockopt_impl, sockopt_impl};
    /// From linux/if_packet.h; libc has no name for it.
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
    sockopt_impl!(IgnoreOutgoing, SetOnly, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, libc::c_int);
    sockopt_impl!(QdiscBypass, SetOnly, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, libc::c_int);
}

/// Bytes that the kernel may queue for a forwarder that was kept from running.
const QUEUE: usize = 4 << 20;

/// A packet socket on one interface of the network namespace that the opening thread was in. It never blocks: wait
/// for its descriptor.
pub struct PacketSocket {
    fd: OwnedFd,
    control: Vec<u8>,
}

impl PacketSocket {
    /// Opens one on `interface`. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// When there is no such interface, or that is not permitted.
    pub fn open(interface: &str) -> io::Result<Self> {
        Self::opened(interface, false)
    }

    /// Opens one that sees what leaves by `interface` too. Of a loopback interface each packet is seen once, as it
    /// comes back. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// As [`PacketSocket::open`].
    pub fn tap(interface: &str) -> io::Result<Self> {
        let loops = getifaddrs()?
            .any(|one| one.interface_name == interface && one.flags.contains(InterfaceFlags::IFF_LOOPBACK));
        Self::opened(interface, !loops)
    }

    fn opened(interface: &str, outgoing: bool) -> io::Result<Self> {
        let named = |error: Errno| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("packet socket on {interface}: {error}"))
        };
        let index = if_nametoindex(interface).map_err(named)?;
        // Without a protocol at first, so that nothing of other interfaces gets in before it is bound to this one.
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None::<SockProtocol>,
        )
        .map_err(named)?;
        setsockopt(&fd, option::IgnoreOutgoing, &libc::c_int::from(!outgoing)).map_err(named)?;
        setsockopt(&fd, option::QdiscBypass, &1).map_err(named)?;
        // The forced size is for those with CAP_NET_ADMIN; others get what the limit allows.
        if setsockopt(&fd, sockopt::RcvBufForce, &QUEUE).is_err() {
            let _ = setsockopt(&fd, sockopt::RcvBuf, &QUEUE);
        }
        let stamping =
            TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE;
        setsockopt(&fd, sockopt::Timestamping, &stamping).map_err(named)?;

        // SAFETY: sockaddr_ll is plain data of the kernel's interface, for which all zeros is a value.
        #[allow(unsafe_code)]
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = libc::c_int::try_from(index).map_err(io::Error::other)?;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer is to a whole sockaddr_ll of the given length, which the call only reads.
        #[allow(unsafe_code)]
        let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        Errno::result(result).map_err(named)?;
        Ok(Self { fd, control: nix::cmsg_space!([libc::timespec; 3]) })
    }

    /// The next frame, from its Ethernet header on, with the kernel's stamp of its arrival on CLOCK_REALTIME (the
    /// time of reading where the kernel gave none); `None` when none is here.
    ///
    /// # Errors
    /// The operating system's, such as an interface that went down.
    pub fn recv(&mut self, frame: &mut [u8]) -> io::Result<Option<(usize, Nanos)>> {
        let received = self.recv_stamped(frame)?;
        Ok(received.map(|(length, stamp)| (length, stamp.unwrap_or_else(clock::realtime))))
    }

    /// The same with no other stamp than the kernel's: it gives none before it has switched them on, which takes it a
    /// while from the moment that a first socket asks.
    pub(crate) fn recv_stamped(&mut self, frame: &mut [u8]) -> io::Result<Option<(usize, Option<Nanos>)>> {
        let mut parts = [IoSliceMut::new(frame)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<()>(self.fd.as_raw_fd(), &mut parts, Some(&mut self.control), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampsns(times) => {
                let stamp = Nanos(times.system.tv_sec() * 1_000_000_000 + times.system.tv_nsec());
                (stamp != Nanos::ZERO).then_some(stamp)
            }
            _ => None,
        });
        Ok(Some((message.bytes, stamp)))
    }

    /// Sends a frame, past the interface's queueing discipline. Tells whether the interface took it: a full one
    /// drops, as wires do.
    ///
    /// # Errors
    /// The operating system's, such as a frame longer than the interface's MTU.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(self.fd.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
