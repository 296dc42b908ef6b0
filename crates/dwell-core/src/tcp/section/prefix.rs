//! Networks, as coarse as routing sees them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The /24 of an IPv4 address, or the /48 of an IPv6 one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(IpAddr);

impl Prefix {
    /// The one that an address is in.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & !0xff).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 80 << 80).into(),
        })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, if self.0.is_ipv4() { 24 } else { 48 })
    }
}

#[cfg(test)]
mod tests {
    use super::Prefix;

    #[test]
    fn what_is_finer_is_cut_off() {
        let prefix = |text: &str| Prefix::of(text.parse().expect("an address")).to_string();
        assert_eq!(prefix("192.0.2.77"), "192.0.2.0/24");
        assert_eq!(prefix("::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(prefix("2001:db8:1:2:3::4"), "2001:db8:1::/48");
    }
}
