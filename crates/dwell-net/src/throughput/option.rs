//! The socket options that nix does not have.

use nix::{libc, sockopt_impl};

/// The macro writes them.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod implemented {
    use super::{libc, sockopt_impl};
    use nix::setsockopt_impl;
    sockopt_impl!(WindowClamp, SetOnly, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, libc::c_int);
}

pub(super) use implemented::WindowClamp;
