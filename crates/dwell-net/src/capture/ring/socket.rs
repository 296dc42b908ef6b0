//! A packet socket with a ring, on an interface.

use super::blocks::{BLOCK, BLOCKS, Blocks};
use super::source::{Socket, Source};
use super::{RingConfig, RingError, Stamping};
use crate::capture::mapped::Mapped;
use crate::interface::Interface;
use dwell_core::capture::LinkType;
use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::mman::ProtFlags;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The macro writes the socket options that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
pub(super) mod option {
    use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
    sockopt_impl!(Version, SetOnly, libc::SOL_PACKET, libc::PACKET_VERSION, libc::c_int);
    sockopt_impl!(RxRing, SetOnly, libc::SOL_PACKET, libc::PACKET_RX_RING, libc::tpacket_req3);
    sockopt_impl!(Timestamp, SetOnly, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, libc::c_int);
    sockopt_impl!(IgnoreOutgoing, Both, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, libc::c_int);
    sockopt_impl!(Membership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq);
    sockopt_impl!(Fanout, SetOnly, libc::SOL_PACKET, libc::PACKET_FANOUT, libc::c_int);
    sockopt_impl!(JoinedFanout, GetOnly, libc::SOL_PACKET, libc::PACKET_FANOUT, libc::c_int);
    sockopt_impl!(FanoutData, SetOnly, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, libc::c_int);
    sockopt_impl!(Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats_v3);
    sockopt_impl!(AttachBpf, SetOnly, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, libc::c_int);
    sockopt_impl!(AttachFilter, SetOnly, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, libc::sock_fprog);
}

/// Milliseconds after which a block is handed over that is not full.
pub(super) const PATIENCE: u32 = 20;

/// The kernel's number of a loopback interface (linux/if_arp.h).
const LOOPBACK: u16 = 772;

/// Where the packets of an interface begin, by the kernel's number of its kind.
const fn link_of(kind: u16) -> Option<LinkType> {
    Some(match kind {
        // Ethernet, and what looks like it.
        1 | LOOPBACK => LinkType::ETHERNET,
        // PPP, bare IP, tunnels, of IPv4 and of IPv6: their headers are of several kinds, or none; the kernel takes
        // them off.
        512 | 519 | 768 | 769 | 776 | 778 | 823 | 0xfffe => LinkType::RAW,
        _ => return None,
    })
}

/// A socket that gets nothing yet, with its blocks.
pub(super) fn open(name: &str, config: &RingConfig) -> Result<Source, RingError> {
    let index = if_nametoindex(name).map_err(|_| RingError::NoInterface(name.to_owned()))?;
    let interface = Interface::named(name).map_err(failed("look at", name))?;
    let kind = interface.kind().map_err(failed("look at", name))?;
    let unknown = || RingError::UnknownLink { interface: name.to_owned(), kind };
    let link = link_of(kind).ok_or_else(unknown)?;
    if !interface.is_up() {
        return Err(RingError::Down(name.to_owned()));
    }
    // Without a protocol at first: nothing of other interfaces gets in before it is bound to this one.
    let kind_of_socket = if link == LinkType::ETHERNET { SockType::Raw } else { SockType::Datagram };
    let fd = socket(AddressFamily::Packet, kind_of_socket, SockFlag::SOCK_CLOEXEC, None::<SockProtocol>);
    let fd = match fd {
        Ok(fd) => fd,
        Err(Errno::EPERM | Errno::EACCES) => return Err(RingError::NotPermitted(name.to_owned())),
        Err(error) => return Err(failed("open a socket on", name)(error)),
    };
    let stamps = match config.stamping {
        Stamping::Kernel => libc::SOF_TIMESTAMPING_SOFTWARE,
        Stamping::Hardware => {
            let refused = |source| RingError::NoHardwareStamps { interface: name.to_owned(), source };
            interface.stamp_in_hardware().map_err(refused)?;
            libc::SOF_TIMESTAMPING_RAW_HARDWARE
        }
    };
    let set = || -> io::Result<Mapped> {
        setsockopt(&fd, option::Version, &(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
        // A packet that loops back is seen as it comes, not also as it leaves.
        setsockopt(&fd, option::IgnoreOutgoing, &libc::c_int::from(kind == LOOPBACK))?;
        setsockopt(&fd, option::Timestamp, &(stamps as libc::c_int))?;
        if config.promiscuous {
            let membership = libc::packet_mreq {
                mr_ifindex: index.cast_signed(),
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            setsockopt(&fd, option::Membership, &membership)?;
        }
        const FRAME: usize = 1 << 11;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (BLOCK / FRAME * BLOCKS) as u32,
            tp_retire_blk_tov: PATIENCE,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        setsockopt(&fd, option::RxRing, &request)?;
        let memory = Mapped::shared(&fd, BLOCK * BLOCKS, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE)?;
        refuse_all(&fd)?;
        bind(&fd, index)?;
        Ok(memory)
    };
    let memory = set().map_err(failed("set up a ring on", name))?;
    let socket = Arc::new(Socket { fd, unstamped: AtomicU64::new(0), downs: AtomicU64::new(0) });
    Ok(Source { interface: name.to_owned(), socket, blocks: Blocks::new(memory), link })
}

/// An error of the operating system, met while `doing` something to `interface`.
pub(super) fn failed<E: Into<io::Error>>(
    doing: &'static str,
    interface: &str,
) -> impl Fn(E) -> RingError + use<E> {
    let interface = interface.to_owned();
    move |source| RingError::System { doing, interface: interface.clone(), source: source.into() }
}

/// Whether what the socket was bound to is there still, up or down.
pub(super) fn is_bound(fd: &OwnedFd) -> nix::Result<bool> {
    // SAFETY: sockaddr_ll is plain data of the kernel's interface, for which all zeros is a value.
    #[allow(unsafe_code)]
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer is to a whole sockaddr_ll, and the length says so: the call writes no more. (It writes less, the address of
    // the link as long as it is: nix takes whole ones alone.)
    #[allow(unsafe_code)]
    let result = unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    Errno::result(result)?;
    Ok(address.sll_ifindex != -1)
}

fn bind(fd: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain data of the kernel's interface, for which all zeros is a value.
    #[allow(unsafe_code)]
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer is to a whole sockaddr_ll of the given length, which the call only reads.
    #[allow(unsafe_code)]
    let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    Errno::result(result)?;
    Ok(())
}

/// Bytes of each packet that pass where the kernel runs no program of ours.
const HEADERS: u32 = 256;

fn refuse_all(fd: &OwnedFd) -> io::Result<()> {
    attach_constant(fd, 0)
}

/// Every packet passes, its first bytes.
pub(super) fn pass_all(fd: &OwnedFd) -> io::Result<()> {
    attach_constant(fd, HEADERS)
}

/// A classic filter of one instruction: so many bytes.
fn attach_constant(fd: &OwnedFd, bytes: u32) -> io::Result<()> {
    let code = (libc::BPF_RET | libc::BPF_K) as u16;
    let mut instruction = libc::sock_filter { code, jt: 0, jf: 0, k: bytes };
    let program = libc::sock_fprog { len: 1, filter: &raw mut instruction };
    Ok(setsockopt(fd, option::AttachFilter, &program)?)
}
