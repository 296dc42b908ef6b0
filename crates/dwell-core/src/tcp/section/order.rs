//! In which order the probes stand, from client to server.

use super::ballots::{Ballot, Ballots};
use super::kemeny::Kemeny;
use super::{Connection, Way, way};
use std::cmp::Ordering;

/// The order of probes, from client to server.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    probes: Vec<usize>,
    /// Of the pair of neighbours with the least agreement: how many agree, of how many.
    weakest: Option<(u64, u64)>,
    /// The pairs of probes, the first of the list first, at which it shows which way a connection runs.
    parted: Vec<[usize; 2]>,
    /// Whether so many run the other way that one of which it does not show may be one of them.
    mixed: bool,
}

impl Order {
    /// As somebody says who knows, and for all connections: none runs the other way.
    #[must_use]
    pub const fn pinned(probes: Vec<usize>) -> Self {
        Self { probes, weakest: None, parted: Vec::new(), mixed: false }
    }

    /// The probes, the nearest to the client first, each by its place in the list of them.
    #[must_use]
    pub fn probes(&self) -> &[usize] {
        &self.probes
    }

    /// The probe of this rank, 0 next to the client, for connections that run this way.
    #[must_use]
    pub fn probe(&self, way: Way, rank: usize) -> usize {
        match way {
            Way::Along | Way::Unknown => self.probes[rank],
            Way::Against => self.probes[self.probes.len() - 1 - rank],
        }
    }

    /// Whether so many connections run the other way that one of which it does not show may be one of them.
    pub(super) const fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Whether it shows at these two probes which way a connection runs.
    pub(super) fn parts(&self, one: usize, two: usize) -> bool {
        self.parted.contains(&[one.min(two), one.max(two)])
    }

    /// Of the connections that tell two neighbours apart, the share that agrees with this order, whichever way they run,
    /// for the pair of neighbours with the least. `None` when it was pinned, or when no connection tells some pair apart.
    #[must_use]
    pub fn sure(&self) -> Option<f64> {
        self.weakest.map(|(agree, of)| agree as f64 / of as f64)
    }

    /// How many connections tell that pair apart.
    #[must_use]
    pub fn voters(&self) -> Option<u64> {
        self.weakest.map(|(_, of)| of)
    }
}

/// What connections say of the order, pair by pair.
#[derive(Clone, Debug)]
pub struct Votes {
    /// How many say that the first probe of a pair is nearer to the client than the second.
    nearer: Vec<Vec<u64>>,
    ballots: Ballots,
    connections: u64,
}

impl Votes {
    /// None yet, on so many probes.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self { nearer: vec![vec![0; probes]; probes], ballots: Ballots::default(), connections: 0 }
    }

    /// How many connections have voted.
    #[must_use]
    pub const fn connections(&self) -> u64 {
        self.connections
    }

    /// Hears a connection. Towards the server `S` falls and `C` rises; where the two contradict each other for a pair
    /// of probes, it says nothing of them. Nor does one that both ends opened: it has no client.
    pub fn hear(&mut self, connection: &Connection) {
        if connection.both_opened() {
            return;
        }
        let mut ballot = Ballot::default();
        for (place, one) in connection.sights.iter().enumerate() {
            for two in &connection.sights[place + 1..] {
                let (pair, turned) = ([one.probe, two.probe], [two.probe, one.probe]);
                let by_server = one.server.exact().zip(two.server.exact()).map(|(a, b)| b.cmp(&a));
                let by_client = one.client.exact().zip(two.client.exact()).map(|(a, b)| a.cmp(&b));
                match agreed(by_server, by_client) {
                    Ordering::Less => ballot.votes.push(pair),
                    Ordering::Greater => ballot.votes.push(turned),
                    Ordering::Equal => {}
                }
                match way::first(one, two)[..] {
                    [Ordering::Less, Ordering::Less] => ballot.clear.push(pair),
                    [Ordering::Greater, Ordering::Greater] => ballot.clear.push(turned),
                    [_, _] => ballot.torn.push(pair),
                    _ => {}
                }
            }
        }
        for [near, far] in &ballot.votes {
            self.nearer[*near][*far] += 1;
        }
        self.connections += u64::from(!ballot.votes.is_empty());
        self.ballots.cast(ballot);
    }

    /// Of the connections that tell these two apart, the share that says the first is nearer to the client.
    #[must_use]
    pub fn share(&self, first: usize, second: usize) -> Option<f64> {
        let (yes, no) = (self.nearer[first][second], self.nearer[second][first]);
        (yes + no > 0).then(|| yes as f64 / (yes + no) as f64)
    }

    /// The order with which most votes agree (Kemeny's), where those of connections that run the other way are turned.
    /// Votes that do not contradict each other are all kept, whichever pairs they are on; where they tell two probes
    /// apart neither by themselves nor by way of others, the list does.
    #[must_use]
    pub fn order(&self) -> Order {
        let line = Kemeny(self.line());
        let probes = line.order();
        Order { weakest: line.weakest(&probes), ..self.pinned(probes) }
    }

    /// The votes, as if all connections ran one way: of those that say which way they run. Where nobody else tells two probes apart, and
    /// where all run one way, the others are asked too.
    fn line(&self) -> Vec<Vec<u64>> {
        let [most, turned] = self.ballots.sides();
        let none = || vec![vec![0; self.nearer.len()]; self.nearer.len()];
        let (mut said, mut unsaid) = (none(), self.nearer.clone());
        for (side, is_turned) in [(most, false), (turned, true)] {
            for (ballot, count) in side {
                for [near, far] in &ballot.votes {
                    unsaid[*near][*far] -= count;
                    let [near, far] = if is_turned { [far, near] } else { [near, far] };
                    said[*near][*far] += count;
                }
            }
        }
        let is_mixed = self.ballots.are_mixed();
        for (one, two) in (0..said.len()).flat_map(|one| (0..one).map(move |two| (one, two))) {
            if !is_mixed || said[one][two] + said[two][one] == 0 {
                said[one][two] += unsaid[one][two];
                said[two][one] += unsaid[two][one];
            }
        }
        said
    }

    /// The order that somebody says who knows; the votes tell no more than where it shows which way a connection runs, and
    /// whether they run both ways.
    #[must_use]
    pub fn pinned(&self, probes: Vec<usize>) -> Order {
        let Self { ballots, .. } = self;
        Order { probes, weakest: None, parted: ballots.parted(), mixed: ballots.are_mixed() }
    }
}

fn agreed(one: Option<Ordering>, other: Option<Ordering>) -> Ordering {
    match (one.unwrap_or(Ordering::Equal), other.unwrap_or(Ordering::Equal)) {
        (vote, Ordering::Equal) | (Ordering::Equal, vote) => vote,
        (one, other) if one == other => one,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
