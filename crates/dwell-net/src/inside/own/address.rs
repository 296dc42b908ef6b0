//! An address of this host's own, for probes to be sent to.

use nix::ifaddrs::getifaddrs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// An address of the interface, IPv4 before IPv6; without an interface the loopback's.
///
/// # Errors
/// When it has none, or they cannot be read.
pub fn own_address(interface: Option<&str>) -> io::Result<IpAddr> {
    let Some(interface) = interface else { return Ok(Ipv4Addr::LOCALHOST.into()) };
    let its = getifaddrs()?.filter(|one| one.interface_name == interface);
    let addresses = its.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    });
    // One of the link alone is none without the link's name.
    let usable = addresses.filter(|ip| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local()));
    usable.min().ok_or_else(|| io::Error::other(format!("{interface} has no address of its own")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopbacks_with_or_without_its_name() {
        assert_eq!(own_address(None).unwrap(), own_address(Some("lo")).unwrap());
        assert!(own_address(Some("none0")).unwrap_err().to_string().contains("none0"));
    }
}
