//! Has the kernel stamp packets.

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use std::io;
use std::os::fd::OwnedFd;

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
