//! Why a host without an agent cannot be measured: each says what stood in the way and what to do.

use dwell_core::Nanos;
use dwell_core::host::agentless::Request;
use std::io;
use std::net::IpAddr;

/// Why there is no path, or it carries nothing any more.
#[derive(Debug, thiserror::Error)]
pub enum AgentlessError {
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
    #[error(
        "{address} is an address of this host: no NIC stands between its kernel and itself; give another host's"
    )]
    OwnAddress {
        /// The address.
        address: IpAddr,
    },
    /// Raw sockets are not permitted.
    #[error(
        "asking a host without an agent takes raw sockets, which need CAP_NET_RAW: run as root, or give the program that capability"
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
    /// It does not answer.
    #[error("{address} does not answer {}: {why}", asked(*.request, *.port))]
    NoAnswer {
        /// Where.
        address: IpAddr,
        /// What was asked.
        request: Request,
        /// On which port, where there is one.
        port: u16,
        /// What came instead.
        why: String,
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

/// What was asked, in a few words.
pub(super) fn asked(request: Request, port: u16) -> String {
    match request {
        Request::Icmp => "echo requests".to_owned(),
        Request::Tcp => format!("SYNs to TCP port {port}"),
    }
}
