//! Connections whose addresses are rewritten between the probes.

use super::Connection;
use crate::tcp::Flag;
use crate::tcp::IsnKey;
use crate::unit::Nanos;
use std::collections::{BTreeSet, HashMap};

/// Two sights of one connection are not farther apart than this: a handshake's time-out, and clocks that nobody sets.
const WINDOW: Nanos = Nanos::from_secs(120);

/// So many connections wait for others at most: some 40 MB of them.
const MOST: usize = 131_072;

/// Joins by initial sequence numbers what the full key does not: NAT rewrites addresses and ports, and keeps those as a
/// rule. What waits for a match is bounded: the oldest go when time has passed or there are too many.
#[derive(Debug)]
pub struct NatJoin {
    probes: usize,
    most: usize,
    waiting: HashMap<IsnKey, Vec<Connection>>,
    /// The newest of each key's.
    ages: BTreeSet<(Nanos, IsnKey)>,
    count: usize,
    counts: NatCounts,
}

/// What became of connections that not every probe saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NatCounts {
    /// Connections that were joined by their numbers alone.
    pub joined: u64,
    /// Times that several which share their numbers were left apart, because one probe saw more than one of them.
    pub refused: u64,
    /// Connections that were left apart once no match could come any more.
    pub aged: u64,
    /// Connections that were left apart before that, to make place: a match that came later was missed.
    pub crowded: u64,
}

impl NatCounts {
    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            joined: self.joined + other.joined,
            refused: self.refused + other.refused,
            aged: self.aged + other.aged,
            crowded: self.crowded + other.crowded,
        }
    }
}

impl NatJoin {
    /// Of so many probes.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self::bounded(probes, MOST)
    }

    fn bounded(probes: usize, most: usize) -> Self {
        let (waiting, ages) = (HashMap::new(), BTreeSet::new());
        Self { probes, most, waiting, ages, count: 0, counts: NatCounts::default() }
    }

    /// Takes a connection; hands it out when every probe saw it, and keeps it otherwise.
    pub fn offer(&mut self, connection: Connection, take: &mut impl FnMut(Connection)) {
        if connection.sights.len() >= self.probes {
            return take(connection);
        }
        let key = connection.ends.isn_key();
        let alike = self.waiting.entry(key).or_default();
        if let Some(newest) = newest(alike) {
            self.ages.remove(&(newest, key));
        }
        alike.push(connection);
        self.ages.extend(newest(alike).map(|newest| (newest, key)));
        self.count += 1;
        while self.count > self.most
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.counts.crowded += self.settle(oldest, take);
        }
    }

    /// No connection from before this time is still to come: hands out what none can match any more.
    pub fn pass(&mut self, now: Nanos, take: &mut impl FnMut(Connection)) {
        while let Some((newest, key)) = self.ages.first().copied()
            && newest + WINDOW < now
        {
            self.ages.pop_first();
            self.counts.aged += self.settle(key, take);
        }
    }

    /// No connection is still to come: hands out everything.
    pub fn finish(&mut self, take: &mut impl FnMut(Connection)) {
        while let Some((_, key)) = self.ages.pop_first() {
            self.counts.aged += self.settle(key, take);
        }
    }

    /// What became of what was offered.
    #[must_use]
    pub const fn counts(&self) -> NatCounts {
        self.counts
    }

    /// Hands out what waits under this key, joined where that is without doubt; tells how many of them were not.
    fn settle(&mut self, key: IsnKey, take: &mut impl FnMut(Connection)) -> u64 {
        let mut alike = self.waiting.remove(&key).unwrap_or_default();
        self.count -= alike.len();
        alike.sort_by_key(|connection| (connection.first_at, connection.ends));
        let near = |one: &Connection, two: &Connection| two.first_at - one.first_at <= WINDOW;
        let mut apart = 0;
        for together in alike.chunk_by(near) {
            match self.joined(together) {
                Some(whole) => {
                    self.counts.joined += 1;
                    take(whole);
                }
                None => {
                    self.counts.refused += u64::from(together.len() > 1);
                    apart += together.len() as u64;
                    together.iter().cloned().for_each(&mut *take);
                }
            }
        }
        apart
    }

    /// All of them as one; `None` of a single one, and where one probe saw more than one of them.
    fn joined(&self, together: &[Connection]) -> Option<Connection> {
        let mut seen = vec![false; self.probes];
        let mut sights: Vec<_> = together.iter().flat_map(|connection| connection.sights.clone()).collect();
        let twice = sights.iter().any(|sight| std::mem::replace(&mut seen[sight.probe], true));
        if together.len() == 1 || twice {
            return None;
        }
        sights.sort_by_key(|sight| sight.probe);
        sights.iter_mut().for_each(|sight| sight.flags.set(Flag::Nat));
        let first = |connection: &&Connection| connection.sights.first().map(|sight| sight.probe);
        let nearest = together.iter().min_by_key(first)?;
        Some(Connection { ends: nearest.ends, first_at: together[0].first_at, sights })
    }
}

fn newest(alike: &[Connection]) -> Option<Nanos> {
    alike.iter().map(|connection| connection.first_at).max()
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;
