//! A quick hash of a connection's two ends, the same for both directions.

use super::Endpoint;
use std::net::IpAddr;

/// A quick hash of a connection's two ends, the same for both directions: to pass over, without a further look, the
/// many segments of connections that are no longer of interest. Not one to name connections by, and not one to hold
/// against somebody who chooses ports on purpose.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash(pub u32);

/// 2^64 divided by the golden ratio: its multiples are spread evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mixed(address: u64, port: u16) -> u64 {
    let wide = ((address << 16) ^ (address >> 48) ^ port as u64) as u128 * SPREAD as u128;
    wide as u64 ^ (wide >> 64) as u64
}

impl FlowHash {
    /// Between two ends by IPv4, their addresses as the header has them, in the order of the network.
    #[must_use]
    pub const fn v4(one: u32, port: u16, other: u32, other_port: u16) -> Self {
        Self::folded(mixed(one as u64, port).wrapping_add(mixed(other as u64, other_port)))
    }

    /// Between two ends by IPv6.
    #[must_use]
    pub const fn v6(one: u128, port: u16, other: u128, other_port: u16) -> Self {
        let one = mixed(one as u64 ^ ((one >> 64) as u64).wrapping_mul(SPREAD), port);
        let other = mixed(other as u64 ^ ((other >> 64) as u64).wrapping_mul(SPREAD), other_port);
        Self::folded(one.wrapping_add(other))
    }

    /// Of these two.
    #[must_use]
    pub fn of(one: &Endpoint, other: &Endpoint) -> Self {
        match (one.address, other.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => Self::v4(a.to_bits(), one.port, b.to_bits(), other.port),
            _ => Self::v6(
                u128::from_be_bytes(one.octets()),
                one.port,
                u128::from_be_bytes(other.octets()),
                other.port,
            ),
        }
    }

    const fn folded(sum: u64) -> Self {
        Self((sum ^ (sum >> 32)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::FlowHash;
    use std::collections::HashSet;

    #[test]
    fn both_directions_are_one_flow_and_others_are_spread() {
        assert_eq!(FlowHash::v4(1, 2, 3, 4), FlowHash::v4(3, 4, 1, 2));
        assert_eq!(FlowHash::v6(1 << 70, 2, 3, 4), FlowHash::v6(3, 4, 1 << 70, 2));
        let hashes: HashSet<u32> = (0..100_000)
            .map(|n| FlowHash::v4(0x0a00_0001 + n / 50_000, (n % 50_000) as u16, 7, 80).0)
            .collect();
        assert!(hashes.len() > 99_990, "{}", hashes.len());
        let buckets: HashSet<u32> = hashes.iter().map(|hash| hash & 0xffff).collect();
        // 65,536 (1 - e^-1.53) of the buckets are hit by chance.
        assert!(buckets.len() > 50_000, "{}", buckets.len());
    }
}
