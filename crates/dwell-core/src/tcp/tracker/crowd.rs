//! Who has suspiciously many handshakes in progress.

use super::super::{Endpoint, FlowSeed};
use std::net::IpAddr;

const BUCKETS: usize = 4096;

/// How many handshakes are in progress with each server, and from each client's network (/24, /48): those whose hashes
/// fall together count as one.
#[derive(Clone, Debug)]
pub(super) struct Crowds {
    seed: FlowSeed,
    servers: Box<[u32]>,
    clients: Box<[u32]>,
    /// More than so many are a crowd.
    many: u32,
}

/// Where a handshake's two ends are counted.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Places {
    server: u16,
    client: u16,
}

impl Crowds {
    pub(super) fn new(handshakes: usize) -> Self {
        let none = || vec![0; BUCKETS].into_boxed_slice();
        let many = u32::try_from(handshakes / 64).unwrap_or(u32::MAX);
        Self { seed: FlowSeed::random(), servers: none(), clients: none(), many }
    }

    pub(super) fn enter(&mut self, client: &Endpoint, server: &Endpoint) -> Places {
        let bucket = |number: u64| (self.seed.number(number).0 % BUCKETS as u32) as u16;
        let places = Places { server: bucket(host(server)), client: bucket(network(client)) };
        self.servers[usize::from(places.server)] += 1;
        self.clients[usize::from(places.client)] += 1;
        places
    }

    pub(super) fn leave(&mut self, places: Places) {
        self.servers[usize::from(places.server)] -= 1;
        self.clients[usize::from(places.client)] -= 1;
    }

    /// Whether a handshake is one of a crowd.
    pub(super) fn is_crowded(&self, places: Places) -> bool {
        self.servers[usize::from(places.server)] > self.many
            || self.clients[usize::from(places.client)] > self.many
    }
}

fn host(end: &Endpoint) -> u64 {
    match end.address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() as u64) ^ (address.to_bits() >> 64) as u64,
    }
}

fn network(end: &Endpoint) -> u64 {
    match end.address {
        IpAddr::V4(address) => u64::from(address.to_bits() >> 8),
        IpAddr::V6(address) => (address.to_bits() >> 80) as u64,
    }
}
