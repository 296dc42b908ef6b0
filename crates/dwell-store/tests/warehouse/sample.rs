//! Handshakes to keep.

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_store::warehouse::Batch;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// 2026-11-21, at noon.
pub(crate) const NOON: Nanos = Nanos((20_778 * 86_400 + 43_200) * 1_000_000_000);

/// A handshake that is number `n`, seen with these halves.
pub(crate) fn handshake(n: u32, at: Nanos, server: i64, client: i64) -> Handshake {
    let address = |n: u32| -> IpAddr {
        if n.is_multiple_of(3) {
            Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(n)).into()
        } else {
            Ipv4Addr::from_bits(0x0a00_0000 | n & 0xff_ffff).into()
        }
    };
    let end = |n: u32, port| Endpoint { address: address(n), port };
    Handshake {
        client: end(n, 40_000),
        server: end(n % 3, 443),
        isn_client: n.wrapping_mul(0x9e37_79b9),
        isn_server: Some(n.wrapping_mul(0x85eb_ca6b) ^ 7),
        first_at: at,
        syn_at: Some(at),
        server_half: Half::Exact(Nanos(server)),
        client_half: Half::Exact(Nanos(client)),
        total: Half::Exact(Nanos(server + client)),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    }
}

/// A batch of these.
pub(crate) fn batch(probe: &str, serial: u64, records: Vec<Handshake>) -> Batch {
    let (given_up, dropped) = (BTreeMap::new(), BTreeMap::new());
    Batch { probe: probe.to_owned(), epoch: u64::MAX - 5, serial, records, given_up, dropped }
}
