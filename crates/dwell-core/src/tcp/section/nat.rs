//! Connections whose addresses are rewritten between the probes.

use super::{Connection, Ends, Order, Way};
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
    order: Order,
    most: usize,
    waiting: HashMap<IsnKey, Vec<Connection>>,
    /// The newest of each key's.
    ages: BTreeSet<(Nanos, IsnKey)>,
    count: usize,
    counts: NatCounts,
    whole: Whole,
}

/// What became of connections that not every probe saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NatCounts {
    /// Connections that were joined by their numbers alone.
    pub joined: u64,
    /// Times that several which share their numbers were left apart, because one probe saw more than one of them, or every
    /// probe another connection with these numbers about then.
    pub refused: u64,
    /// Connections that were left apart once no match could come any more.
    pub aged: u64,
    /// Connections that were left apart before that, to make place: a match that came later was missed.
    pub crowded: u64,
}

impl NatJoin {
    /// Of so many probes, which stand as they are listed.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self::in_order(Order::pinned((0..probes).collect()))
    }

    /// Of probes that stand in this order, by which is known who sees a connection's ends as they are.
    #[must_use]
    pub fn in_order(order: Order) -> Self {
        Self::bounded(order, MOST)
    }

    fn bounded(order: Order, most: usize) -> Self {
        let (waiting, ages, whole) = (HashMap::new(), BTreeSet::new(), Whole::of(most));
        Self { order, most, waiting, ages, count: 0, counts: NatCounts::default(), whole }
    }

    /// Takes a connection; hands it out when every probe saw it, and keeps it otherwise.
    pub fn offer(&mut self, connection: Connection, take: &mut impl FnMut(Connection)) {
        if connection.sights.len() >= self.order.probes().len() {
            self.whole.note(&connection);
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
        let mut seen = vec![false; self.order.probes().len()];
        let mut sights: Vec<_> = together.iter().flat_map(|connection| connection.sights.clone()).collect();
        let twice = sights.iter().any(|sight| std::mem::replace(&mut seen[sight.probe], true));
        if together.len() == 1 || twice || together.iter().any(|connection| self.whole.is_near(connection)) {
            return None;
        }
        sights.sort_by_key(|sight| sight.probe);
        sights.iter_mut().for_each(|sight| sight.flags.set(Flag::Nat));
        let mut whole = Connection { ends: together[0].ends, first_at: together[0].first_at, sights };
        whole.ends = self.ends(&whole, together)?;
        Some(whole)
    }

    /// Each end as it is called next to it: beyond a NAT it has another name.
    fn ends(&self, whole: &Connection, parts: &[Connection]) -> Option<Ends> {
        let way = Way::of(whole, &self.order);
        let by = |probe| parts.iter().find(|part| part.by(probe).is_some());
        let mut seen = (0..self.order.probes().len())
            .filter_map(|rank| by(self.order.probe(way, rank)))
            .map(|part| part.ends);
        let nearest = seen.next()?;
        let farthest = seen.next_back().unwrap_or(nearest);
        Some(Ends { server: farthest.server, ..nearest })
    }
}

/// Numbers of connections that every probe saw: where a stack has always the same, others with these are not one. Of so many
/// places each holds those that came last, which is enough for numbers that come again and again.
#[derive(Debug)]
struct Whole(Vec<Option<Noted>>);

/// From when to when connections with these numbers were seen.
#[derive(Copy, Clone, Debug)]
struct Noted {
    numbers: [u32; 2],
    from: Nanos,
    until: Nanos,
}

impl Whole {
    fn of(places: usize) -> Self {
        Self(vec![None; places])
    }

    /// A connection's numbers, and their place.
    fn place(&self, connection: &Connection) -> ([u32; 2], usize) {
        let numbers = [connection.ends.isn_client, connection.ends.isn_server];
        // Both are random as a rule, and any mixture spreads them; where they are not, few places are enough.
        let mixed = numbers[0] ^ numbers[1].rotate_left(16);
        (numbers, mixed as usize % self.0.len())
    }

    fn note(&mut self, connection: &Connection) {
        let ((numbers, place), at) = (self.place(connection), connection.first_at);
        self.0[place] = match self.0[place] {
            Some(noted) if noted.numbers == numbers => {
                Some(Noted { from: noted.from.min(at), until: noted.until.max(at), ..noted })
            }
            _ => Some(Noted { numbers, from: at, until: at }),
        };
    }

    /// Whether one with the numbers of this was seen about when this was.
    fn is_near(&self, connection: &Connection) -> bool {
        let ((numbers, place), at) = (self.place(connection), connection.first_at);
        self.0[place].is_some_and(|noted| {
            noted.numbers == numbers && (noted.from - WINDOW..=noted.until + WINDOW).contains(&at)
        })
    }
}

fn newest(alike: &[Connection]) -> Option<Nanos> {
    alike.iter().map(|connection| connection.first_at).max()
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;
