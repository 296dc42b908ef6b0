//! Why a router cannot be probed: each says what stood in the way and what to do.

use std::io;
use std::net::IpAddr;

/// Why no probes can be sent.
#[derive(Debug, thiserror::Error)]
pub enum FsdError {
    /// Raw sockets are not permitted.
    #[error(
        "probes that bear the destination's address take raw sockets, which need CAP_NET_RAW: run as root, or give the \
         program that capability"
    )]
    Privilege,
    /// The destination is this host.
    #[error("{address} is an address of this host: no router stands before it; give another host's")]
    OwnAddress {
        /// The address.
        address: IpAddr,
    },
    /// Nothing is sent there.
    #[error("nothing can be sent to {address}: {source}")]
    Unreachable {
        /// Where.
        address: IpAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// No router answers there.
    #[error(
        "no router answers at hop {hop} on the way to {address} ({asked} probes): none there sends time-exceeded \
         messages, or {address} is no further away than that"
    )]
    NoRouter {
        /// Which hop.
        hop: u8,
        /// Towards where.
        address: IpAddr,
        /// How often was asked.
        asked: u32,
    },
    /// This host cannot send or receive.
    #[error("probing failed on this host: {0}")]
    Near(#[source] io::Error),
}

impl From<io::Error> for FsdError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Privilege,
            _ => Self::Near(error),
        }
    }
}
