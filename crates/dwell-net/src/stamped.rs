//! Receiving, and learning of departures, with every time stamp that the host gives.

use crate::canonical::canonical;
use crate::clock;
use crate::inside::announce_stamp;
use dwell_core::inside::Point;
use dwell_core::{Nanos, Stamps};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, TimestampingFlag,
    recvmsg, setsockopt, socket, sockopt,
};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Both software and hardware stamps of one departure (SOF_TIMESTAMPING_OPT_TX_SWHW; nix has no name for it).
const BOTH_DEPARTURE_STAMPS: TimestampingFlag = TimestampingFlag::from_bits_retain(1 << 14);

/// Stamps before the queueing discipline (SOF_TIMESTAMPING_TX_SCHED, which nix has no name for either).
const DISCIPLINE_STAMP: TimestampingFlag = TimestampingFlag::from_bits_retain(1 << 8);
/// Kind of a stamp taken before the queueing discipline (SCM_TSTAMP_SCHED of linux/errqueue.h).
const SCHED: u32 = 1;

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
    /// Which packet: counted from zero since the stamps were switched on
    /// or [`ProbeSocket::recount`](crate::socket::ProbeSocket::recount) was called; of a stream, its last byte.
    pub id: u32,
    /// Where it was stamped: [`Point::Discipline`] or [`Point::Xmit`].
    pub point: Point,
    /// The kernel's stamp.
    pub kernel: Option<Nanos>,
    /// The NIC's.
    pub hardware: Option<Nanos>,
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

/// Has packets stamped before their queueing discipline too (SCHED), from the next one on.
pub(crate) fn stamp_discipline(fd: &OwnedFd) -> io::Result<()> {
    let stamping = stamping() | DISCIPLINE_STAMP;
    Ok(setsockopt(fd, sockopt::Timestamping, &stamping)?)
}

/// Room for what comes beside a packet.
pub(crate) fn control() -> Vec<u8> {
    nix::cmsg_space!([libc::timespec; 3], [u8; 64], [u8; 64])
}

/// Switches the stamps on, and starts counting departures from zero again.
pub(crate) fn recount(fd: &OwnedFd) -> io::Result<()> {
    setsockopt(fd, sockopt::Timestamping, &TimestampingFlag::empty())?;
    Ok(setsockopt(fd, sockopt::Timestamping, &stamping())?)
}

/// Has the kernel stamp every packet that arrives while the result is held: it does so only while some socket of the
/// machine asks for stamps.
///
/// # Errors
/// The operating system's.
pub fn have_packets_stamped() -> io::Result<OwnedFd> {
    let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&fd, sockopt::ReceiveTimestampns, &true)?;
    Ok(fd)
}

/// The next packet of `fd`; its first bytes go into `buffer`. The thread is busy for `spin` between the read and its
/// stamp. `None` when nothing came in time, or what came was an error report.
pub(crate) fn receive(
    fd: &OwnedFd,
    control: &mut [u8],
    buffer: &mut [u8],
    spin: Nanos,
    flags: MsgFlags,
) -> io::Result<Option<Received>> {
    let mut parts = [IoSliceMut::new(buffer)];
    let result = recvmsg::<SockaddrStorage>(fd.as_raw_fd(), &mut parts, Some(control), flags);
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
    announce_stamp(application);
    let mut stamps = Stamps { application, kernel: None, hardware: None };
    if let Ok(controls) = message.cmsgs() {
        for control in controls {
            if let ControlMessageOwned::ScmTimestampsns(times) = control {
                stamps.kernel = nonzero(times.system).and_then(|stamp| clock::plausible(stamp, application));
                stamps.hardware = nonzero(times.hw_raw);
            }
        }
    }
    Ok(Some(Received { length: message.bytes, stamps, from: message.address.as_ref().and_then(to_std) }))
}

/// Takes the next transmit stamp from the error queue of `fd`; `None` when there is none.
pub(crate) fn departure(fd: &OwnedFd, control: &mut [u8]) -> io::Result<Option<DepartureStamp>> {
    loop {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(fd.as_raw_fd(), &mut [], Some(control), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut stamp = DepartureStamp { id: 0, point: Point::Xmit, kernel: None, hardware: None };
        let mut known = false;
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampsns(times) => {
                    stamp.kernel = nonzero(times.system);
                    stamp.hardware = nonzero(times.hw_raw);
                }
                ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _)
                    if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING =>
                {
                    stamp.id = error.ee_data;
                    if error.ee_info == SCHED {
                        stamp.point = Point::Discipline;
                    }
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

fn nonzero(time: nix::sys::time::TimeSpec) -> Option<Nanos> {
    let stamp = Nanos(time.tv_sec().saturating_mul(1_000_000_000).saturating_add(time.tv_nsec()));
    (stamp != Nanos::ZERO).then_some(stamp)
}

pub(crate) fn to_std(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    let address =
        v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))?;
    Some(canonical(address))
}
