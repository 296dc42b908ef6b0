//! Why a path cannot be looked at hop by hop: each says what stood in the way and what to do.

use dwell_core::Nanos;
use std::io;
use std::net::IpAddr;

/// Why there is no path, or it carries nothing any more.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// The host's name means nothing.
    #[error("unknown host {host:?}: {source}")]
    UnknownHost {
        /// The name.
        host: String,
        /// What the resolver says.
        #[source]
        source: io::Error,
    },
    /// The host is this one.
    #[error("{address} is an address of this host: no hop lies before it; give another host's")]
    OwnAddress {
        /// The address.
        address: IpAddr,
    },
    /// Raw sockets are not permitted.
    #[error(
        "hop by hop a path is seen by raw sockets, which need CAP_NET_RAW: run as root, or give the program that capability"
    )]
    Privilege,
    /// Nothing is sent there.
    #[error("nothing can be sent to {address}: {source}")]
    Unreachable {
        /// Where.
        address: IpAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The clock was stepped, so that stamps before and after do not fit together.
    #[error(
        "the clock of this host was stepped by {0} in the middle of the run; measure again when it is steady"
    )]
    ClockStepped(Nanos),
    /// This host cannot send or receive.
    #[error("probing failed on this host: {0}")]
    Near(#[source] io::Error),
}

impl HopError {
    pub(super) fn socket(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Privilege,
            _ => Self::Near(error),
        }
    }
}
