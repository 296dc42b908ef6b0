//! Addresses as they are, whatever kind of socket shows them.

use std::net::{IpAddr, SocketAddr};

/// An IPv4 address that an IPv6 socket shows as its own kind, as what it is.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::from((v4, address.port())),
        IpAddr::V6(_) => address,
    }
}
