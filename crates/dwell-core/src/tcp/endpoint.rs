//! One end of a connection.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// An address and a port.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// The host's address.
    pub address: IpAddr,
    /// The port on it.
    pub port: u16,
}

impl Endpoint {
    /// The address as 16 bytes, those of IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2).
    #[must_use]
    pub fn octets(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}
