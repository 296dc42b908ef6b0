//! A quick hash of a connection's two ends, the same for both directions.

use super::Endpoint;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;

/// A quick hash of a connection's two ends, the same for both directions. Not one to name connections by: it is another
/// one in each process.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowHash(pub u32);

/// One way of a flow at a glance: the way back looks like another one. It is made in fewer steps than a [`FlowHash`], whose spread
/// it is not proven to have: what is told by it may only cost time where many look alike.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Glance(pub u64);

/// Words of 32 bits in two addresses of IPv6 and two ports.
const WORDS: usize = 9;

/// The keys of the hash, drawn at random.
///
/// The hash is the upper half of the sum of each word times its key, modulo 2^64 (Dietzfelbinger 1996). Of any two
/// flows, whoever chooses them, the hashes fall together in so many bits with the probability of chance, over the keys:
/// nobody who does not know these can aim at one place of a table.
#[derive(Clone, Debug)]
pub struct FlowSeed {
    keys: [u64; WORDS],
    more: u64,
}

impl FlowSeed {
    /// Keys that nobody knows.
    #[must_use]
    pub fn random() -> Self {
        let source = RandomState::new();
        Self { keys: std::array::from_fn(|word| source.hash_one(word)), more: source.hash_one(WORDS) }
    }

    /// Between two ends by IPv4, their addresses as the header has them, in the order of the network.
    #[inline]
    #[must_use]
    pub fn v4(&self, one: u32, port: u16, other: u32, other_port: u16) -> FlowHash {
        let end = |address: u32, port: u16| u64::from(address) << 16 | u64::from(port);
        let (one, other) = (end(one, port), end(other, other_port));
        let (low, high) = (one.min(other), one.max(other));
        self.sum([(low >> 16) as u32, (high >> 16) as u32, (low as u32) << 16 | high as u32 & 0xffff])
    }

    /// Between two ends by IPv6.
    #[inline]
    #[must_use]
    pub fn v6(&self, one: u128, port: u16, other: u128, other_port: u16) -> FlowHash {
        let (one, other) = ((one, port), (other, other_port));
        let ((low, low_port), (high, high_port)) = if one <= other { (one, other) } else { (other, one) };
        let word = |address: u128, index: u32| (address >> (32 * index)) as u32;
        self.sum([
            word(low, 0),
            word(low, 1),
            word(low, 2),
            word(low, 3),
            word(high, 0),
            word(high, 1),
            word(high, 2),
            word(high, 3),
            u32::from(low_port) << 16 | u32::from(high_port),
        ])
    }

    /// Of these two.
    #[inline]
    #[must_use]
    pub fn of(&self, one: &Endpoint, other: &Endpoint) -> FlowHash {
        match (&one.address, &other.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => self.v4(a.to_bits(), one.port, b.to_bits(), other.port),
            (IpAddr::V6(a), IpAddr::V6(b)) => self.v6(a.to_bits(), one.port, b.to_bits(), other.port),
            _ => {
                let [a, b] = in_v6(one, other);
                self.v6(a, one.port, b, other.port)
            }
        }
    }

    /// One way of a flow by IPv4 at a glance, by the addresses and the ports as its headers have them: of whom it is from above
    /// those of whom it is for.
    #[inline(always)]
    #[must_use]
    pub const fn glance_v4(&self, addresses: u64, ports: u32) -> Glance {
        Glance(folded(addresses ^ self.keys[0], ports as u64 ^ self.keys[1]))
    }

    /// One way of a flow by IPv6 at a glance.
    #[inline(always)]
    #[must_use]
    pub const fn glance_v6(&self, from: u128, to: u128, ports: u32) -> Glance {
        let [_, _, a, b, c, d, ..] = self.keys;
        let from = folded((from >> 64) as u64 ^ a, from as u64 ^ b);
        self.glance_v4(from ^ folded((to >> 64) as u64 ^ c, to as u64 ^ d), ports)
    }

    /// That from one to the other at a glance.
    #[inline]
    #[must_use]
    pub fn glance(&self, from: &Endpoint, to: &Endpoint) -> Glance {
        let ports = u32::from(from.port) << 16 | u32::from(to.port);
        match (&from.address, &to.address) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                self.glance_v4(u64::from(from.to_bits()) << 32 | u64::from(to.to_bits()), ports)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => self.glance_v6(from.to_bits(), to.to_bits(), ports),
            _ => {
                let [from, to] = in_v6(from, to);
                self.glance_v6(from, to, ports)
            }
        }
    }

    /// Of a number, as of a host.
    #[inline]
    pub(super) fn number(&self, number: u64) -> FlowHash {
        self.sum([(number >> 32) as u32, number as u32])
    }

    #[inline(always)]
    fn sum<const N: usize>(&self, words: [u32; N]) -> FlowHash {
        let mut sum = self.more;
        for (word, key) in words.iter().zip(&self.keys) {
            sum = sum.wrapping_add(u64::from(*word).wrapping_mul(*key));
        }
        let upper = (sum >> 32) as u32;
        // Turned into one another, each value into one: no two fall together by it, and neighbours part in all bits.
        let mixed = (upper ^ upper >> 16).wrapping_mul(0x85eb_ca6b);
        FlowHash(mixed ^ mixed >> 13)
    }
}

/// The addresses of two ends of different versions. No packet has such: apart, so that those of one version are taken whole, and not
/// byte by byte.
#[cold]
fn in_v6(one: &Endpoint, other: &Endpoint) -> [u128; 2] {
    [one, other].map(|end| u128::from_be_bytes(end.octets()))
}

/// Two words in one, each bit of which depends on all of theirs: both halves of their product.
#[inline(always)]
const fn folded(one: u64, other: u64) -> u64 {
    let product = one as u128 * other as u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, FlowSeed};
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
    use std::collections::HashSet;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn both_directions_are_one_flow() {
        let seed = FlowSeed::random();
        assert_eq!(seed.v4(1, 2, 3, 4), seed.v4(3, 4, 1, 2));
        assert_eq!(seed.v4(1, 2, 1, 4), seed.v4(1, 4, 1, 2));
        assert_eq!(seed.v6(1 << 70, 2, 3, 4), seed.v6(3, 4, 1 << 70, 2));
        assert_eq!(seed.v6(3, 2, 3, 4), seed.v6(3, 4, 3, 2));
        let v4 = |last, port| Endpoint { address: Ipv4Addr::new(10, 0, 0, last).into(), port };
        assert_eq!(seed.of(&v4(1, 7), &v4(2, 9)), seed.v4(0x0a00_0002, 9, 0x0a00_0001, 7));
        let v6 = |bits, port| Endpoint { address: Ipv6Addr::from_bits(bits).into(), port };
        assert_eq!(seed.of(&v6(1 << 99, 7), &v6(2, 9)), seed.v6(2, 9, 1 << 99, 7));
        for (one, other) in [(v4(1, 7), v4(2, 9)), (v6(1 << 99, 7), v6(2, 9)), (v4(1, 7), v6(2, 9))] {
            assert_eq!(seed.of(&one, &other), seed.of(&other, &one));
            assert_ne!(seed.glance(&one, &other), seed.glance(&one, &Endpoint { port: 8, ..other }));
            assert_ne!(seed.glance(&one, &other), seed.glance(&other, &one));
        }
        assert_eq!(seed.glance(&v4(1, 7), &v4(2, 9)), seed.glance_v4(0x0a00_0001_0a00_0002, 7 << 16 | 9));
        assert_eq!(seed.glance(&v6(1 << 99, 7), &v6(2, 9)), seed.glance_v6(1 << 99, 2, 7 << 16 | 9));
    }

    /// Flows that somebody chose on purpose: close together in addresses and ports, or of equal sums.
    #[test]
    fn whatever_flows_are_chosen_they_are_spread_as_by_chance() {
        type Chosen = fn(&FlowSeed, u32) -> u32;
        let chosen: [Chosen; 4] = [
            |seed, n| seed.v4(0x0a00_0001 + n / 50_000, (n % 50_000) as u16, 7, 80).0,
            |seed, n| seed.v4(0x0a00_0000 + n, 80, 0x0b00_0000 - n, 80).0,
            |seed, n| seed.v6(u128::from(n) << 64, 80, u128::from(n), 443).0,
            |seed, n| seed.v6(7, n as u16, u128::from(n >> 16) << 32, 443).0,
        ];
        for number in 0..10 {
            let mut source = SplitMix64::seed_from_u64(number);
            let seed = FlowSeed { keys: std::array::from_fn(|_| source.next_u64()), more: source.next_u64() };
            for one in chosen {
                let hashes: HashSet<u32> = (0..100_000).map(|n| one(&seed, n)).collect();
                let buckets: HashSet<u32> = hashes.iter().map(|hash| hash & 0xffff).collect();
                // Of 100,000, one or two pairs fall together in 32 bits by chance; of 65,536 buckets 1 - e^-1.53 are hit.
                assert!(hashes.len() > 99_980, "{}", hashes.len());
                assert!((50_500..52_000).contains(&buckets.len()), "{}", buckets.len());
            }
        }
    }

    /// Clients of one server, hosts that talk to each other, a scan; each with its way back.
    #[test]
    fn usual_flows_differ_at_a_glance() {
        const fn v4(seed: &FlowSeed, one: u32, port: u32, other: u32, other_port: u32) -> [u64; 2] {
            let addresses = (one as u64) << 32 | other as u64;
            let back = seed.glance_v4(addresses.rotate_left(32), other_port << 16 | port);
            [seed.glance_v4(addresses, port << 16 | other_port).0, back.0]
        }
        const fn v6(seed: &FlowSeed, one: u128, port: u32, other: u128, other_port: u32) -> [u64; 2] {
            let back = seed.glance_v6(other, one, other_port << 16 | port);
            [seed.glance_v6(one, other, port << 16 | other_port).0, back.0]
        }
        type Usual = fn(&FlowSeed, u32) -> [u64; 2];
        let usual: [Usual; 5] = [
            |seed, n| v4(seed, 0x0a00_0001 + n / 50_000, n % 50_000, 7, 80),
            |seed, n| v4(seed, 0x0a00_0000 + n / 300, 40_000 + n % 7, 0x0b00_0000 + n % 300, 443),
            |seed, n| v4(seed, 0x0a00_0001, 40_000, n, 22),
            |seed, n| v6(seed, u128::from(n) << 64 | 1, 50_000 + n % 100, 7 << 64, 443),
            |seed, n| v6(seed, 7 << 80 | u128::from(n), 50_000, 9 << 80, 443),
        ];
        for number in 0..10 {
            let mut source = SplitMix64::seed_from_u64(number);
            let seed = FlowSeed { keys: std::array::from_fn(|_| source.next_u64()), more: source.next_u64() };
            for (kind, one) in usual.iter().enumerate() {
                let both = || (0..4_096).flat_map(|n| one(&seed, n));
                let places: HashSet<u64> = both().map(|glance| glance >> 48).collect();
                // Of 65,536 places 8,192 by chance hit 7,700: neighbours are a little less well spread.
                assert!(places.len() > 7_000, "{kind}: {}", places.len());
                let all: HashSet<u64> = both().collect();
                assert_eq!(all.len(), 8_192, "{kind}");
            }
        }
    }
}
