//! Connections whose addresses are rewritten between the probes.

use super::Connection;
use crate::tcp::Flag;
use crate::tcp::IsnKey;
use crate::unit::Nanos;
use std::collections::HashMap;

/// Two sights of one connection are not farther apart than this: a handshake's time-out, and clocks that nobody sets.
const WINDOW: Nanos = Nanos::from_secs(120);

/// Joins by initial sequence numbers what the full key does not: NAT rewrites addresses and ports, and keeps those as a
/// rule.
#[derive(Debug)]
pub struct NatJoin {
    probes: usize,
    waiting: HashMap<IsnKey, Vec<Connection>>,
    joined: u64,
    refused: u64,
}

impl NatJoin {
    /// Of so many probes.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self { probes, waiting: HashMap::new(), joined: 0, refused: 0 }
    }

    /// Takes a connection; gives it back when every probe saw it, and keeps it otherwise.
    pub fn offer(&mut self, connection: Connection) -> Option<Connection> {
        if connection.sights.len() >= self.probes {
            return Some(connection);
        }
        self.waiting.entry(connection.ends.isn_key()).or_default().push(connection);
        None
    }

    /// How many connections were joined by their numbers alone.
    #[must_use]
    pub const fn joined(&self) -> u64 {
        self.joined
    }

    /// How many times several that share their numbers were left apart, because one probe saw more than one of them.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Everything that was kept, joined where that is without doubt.
    pub fn finish(&mut self, mut take: impl FnMut(Connection)) {
        for (_, mut alike) in std::mem::take(&mut self.waiting) {
            alike.sort_by_key(|connection| (connection.first_at, connection.ends));
            let near = |one: &Connection, two: &Connection| two.first_at - one.first_at <= WINDOW;
            for together in alike.chunk_by(near) {
                self.settle(together, &mut take);
            }
        }
    }

    fn settle(&mut self, together: &[Connection], take: &mut impl FnMut(Connection)) {
        let mut seen = vec![false; self.probes];
        let doubtful = together
            .iter()
            .flat_map(|connection| &connection.sights)
            .any(|sight| std::mem::replace(&mut seen[sight.probe], true));
        if together.len() == 1 || doubtful {
            self.refused += u64::from(doubtful);
            together.iter().cloned().for_each(take);
            return;
        }
        let mut sights: Vec<_> = together.iter().flat_map(|connection| connection.sights.clone()).collect();
        sights.sort_by_key(|sight| sight.probe);
        sights.iter_mut().for_each(|sight| sight.flags.set(Flag::Nat));
        let nearest =
            together.iter().min_by_key(|connection| connection.sights.first().map(|sight| sight.probe));
        let Some(nearest) = nearest else { return };
        self.joined += 1;
        take(Connection { ends: nearest.ends, first_at: together[0].first_at, sights });
    }
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;
