//! What many handshakes at one place say together, in bounded memory.

use super::by_server::{ByServer, ToServer};
use super::{Half, Handshake, Prefix, Quality};
use crate::inside::Distribution;

/// What many handshakes at one place say together.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    qualities: [u64; Quality::ALL.len()],
    server: Distribution,
    client: Distribution,
    total: Distribution,
    by_server: ByServer,
}

impl Summary {
    /// One more.
    pub fn add(&mut self, handshake: &Handshake) {
        let quality = handshake.quality();
        if let Some(place) = Quality::ALL.iter().position(|one| *one == quality) {
            self.qualities[place] += 1;
        }
        self.by_server.add(handshake);
        // A refusal is an answer of a host, not of a connection.
        if quality != Quality::Refused {
            let count = |distribution: &mut Distribution, half: Half| {
                if let Some(span) = half.exact() {
                    distribution.add(span);
                }
            };
            count(&mut self.server, handshake.server_half);
            count(&mut self.client, handshake.client_half);
            count(&mut self.total, handshake.total);
        }
    }

    /// All handshakes.
    #[must_use]
    pub fn handshakes(&self) -> u64 {
        self.qualities.iter().sum()
    }

    /// How many are of which quality.
    pub fn qualities(&self) -> impl Iterator<Item = (Quality, u64)> {
        Quality::ALL.into_iter().zip(self.qualities)
    }

    /// The exact halves towards servers.
    #[must_use]
    pub const fn server(&self) -> &Distribution {
        &self.server
    }

    /// The exact halves towards clients.
    #[must_use]
    pub const fn client(&self) -> &Distribution {
        &self.client
    }

    /// The exact round trips.
    #[must_use]
    pub const fn total(&self) -> &Distribution {
        &self.total
    }

    /// The networks of servers that are told apart, [`MOST_PREFIXES`](super::MOST_PREFIXES) at most, those with the most connections
    /// first. One to which more than a thousandth of all answered connections go is among them, whenever it came.
    #[must_use]
    pub fn by_server(&self) -> Vec<(Prefix, ToServer)> {
        self.by_server.ranked()
    }

    /// The connections that are counted with none of these networks.
    #[must_use]
    pub const fn others(&self) -> &ToServer {
        self.by_server.others()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Ending, Endpoint, Flags, MOST_PREFIXES};
    use crate::unit::Nanos;
    use std::net::Ipv4Addr;

    fn handshake(server: u32, server_half: Half) -> Handshake {
        let end = |address: u32| Endpoint { address: Ipv4Addr::from_bits(address).into(), port: 1 };
        let client_half = Half::Exact(Nanos(5));
        Handshake {
            client: end(1),
            server: end(server),
            isn_client: 1,
            isn_server: Some(2),
            first_at: Nanos(0),
            syn_at: Some(Nanos(0)),
            server_half,
            client_half,
            total: server_half.then(client_half),
            ending: Ending::Established,
            syns: 1,
            syn_acks: 1,
            flags: Flags::default(),
        }
    }

    #[test]
    fn what_is_not_exact_is_counted_and_not_averaged() {
        let mut summary = Summary::default();
        summary.add(&handshake(0x0a00_0001, Half::Exact(Nanos(10))));
        summary.add(&handshake(0x0a00_0002, Half::Exact(Nanos(30))));
        summary.add(&handshake(0x0a00_0003, Half::OneOf(Nanos(1), Nanos(1_000))));
        summary.add(&Handshake { ending: Ending::Refused, ..handshake(0x0a00_0004, Half::Exact(Nanos(2))) });
        let [(_, to)] = summary.by_server()[..] else { panic!("one network") };
        assert_eq!((to.connections, to.exact), (4, 2));
        assert_eq!((to.least(), to.mean()), (Some(Nanos(10)), Some(Nanos(20))));
        assert_eq!((summary.server().count(), summary.client().count(), summary.total().count()), (2, 3, 2));
        assert_eq!(summary.handshakes(), 4);
    }

    #[test]
    fn memory_is_bounded_however_many_networks_there_are() {
        let mut summary = Summary::default();
        (0..3_000).for_each(|network| summary.add(&handshake(network << 8, Half::Exact(Nanos(1)))));
        assert_eq!(summary.by_server().len(), MOST_PREFIXES);
        assert_eq!(summary.others().connections, 3_000 - MOST_PREFIXES as u64);
        assert_eq!(ToServer::default().least(), None);
    }
}
