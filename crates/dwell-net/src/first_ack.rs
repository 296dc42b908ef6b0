//! A client's first ACK.

use nix::sys::socket::setsockopt;
use std::io;
use std::os::fd::AsFd;

/// The macro writes the socket option that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod option {
    use nix::{libc, setsockopt_impl, sockopt_impl};
    sockopt_impl!(QuickAck, SetOnly, libc::IPPROTO_TCP, libc::TCP_QUICKACK, libc::c_int);
}

/// Has the kernel wait a moment for data, and send it with the first ACK, on a socket that is not yet connected.
///
/// # Errors
/// The operating system's.
pub fn bear_data_on_first_ack(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, option::QuickAck, &0)?)
}
