//! A NAT on the way, which gives every client another address and port.

use super::tap::Seen;
use dwell_core::tcp::Endpoint;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A NAT: beyond it clients bear its addresses, each connection a port of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nat {
    given: u32,
    /// The client that came last, and what it bears beyond: one that takes the same ports again keeps it.
    last: Option<[Endpoint; 2]>,
}

/// Ports below these are not given away.
const FIRST_PORT: u32 = 1_024;

const PORTS: u32 = 65_536 - FIRST_PORT;

impl Nat {
    /// What a client bears beyond it.
    pub(crate) fn outside(&mut self, client: Endpoint) -> Endpoint {
        if let Some([inside, outside]) = self.last
            && inside == client
        {
            return outside;
        }
        let (host, port) = (self.given / PORTS, self.given % PORTS + FIRST_PORT);
        self.given += 1;
        let address = match client.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(0xcb00_7100 | (host + 1))),
            IpAddr::V6(_) => Ipv6Addr::from_bits(0x2001_0db8_0003 << 80 | u128::from(host + 1)).into(),
        };
        let outside = Endpoint { address, port: port as u16 };
        self.last = Some([client, outside]);
        outside
    }
}

impl Seen {
    /// The same where `client` bears another address and port.
    #[must_use]
    pub(crate) fn rewritten(mut self, client: Endpoint, outside: Endpoint) -> Self {
        let ends = match &mut self {
            Self::Segment(segment) => [&mut segment.from, &mut segment.to],
            Self::Unreachable(message) => [&mut message.from, &mut message.to],
        };
        ends.into_iter().filter(|end| **end == client).for_each(|end| *end = outside);
        self
    }
}
