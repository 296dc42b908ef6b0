//! In which order the probes stand, from client to server.

use super::Connection;
use std::cmp::{Ordering, Reverse};

/// The order of probes, from client to server.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    probes: Vec<usize>,
    sure: Option<f64>,
}

impl Order {
    /// As somebody says who knows.
    #[must_use]
    pub const fn pinned(probes: Vec<usize>) -> Self {
        Self { probes, sure: None }
    }

    /// The probes, the nearest to the client first, each by its place in the list of them.
    #[must_use]
    pub fn probes(&self) -> &[usize] {
        &self.probes
    }

    /// Of the connections that tell two neighbours apart, the share that agrees with this order, for the pair of
    /// neighbours with the least. `None` when it was pinned, or when no connection tells some pair apart.
    #[must_use]
    pub const fn sure(&self) -> Option<f64> {
        self.sure
    }
}

/// What connections say of the order, pair by pair.
#[derive(Clone, Debug)]
pub struct Votes {
    /// How many say that the first probe of a pair is nearer to the client than the second.
    nearer: Vec<Vec<u64>>,
    connections: u64,
}

impl Votes {
    /// None yet, on so many probes.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self { nearer: vec![vec![0; probes]; probes], connections: 0 }
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
        let mut voted = false;
        for (place, one) in connection.sights.iter().enumerate() {
            for two in &connection.sights[place + 1..] {
                let by_server = one.server.exact().zip(two.server.exact()).map(|(a, b)| b.cmp(&a));
                let by_client = one.client.exact().zip(two.client.exact()).map(|(a, b)| a.cmp(&b));
                match agreed(by_server, by_client) {
                    Ordering::Less => self.nearer[one.probe][two.probe] += 1,
                    Ordering::Greater => self.nearer[two.probe][one.probe] += 1,
                    Ordering::Equal => continue,
                }
                voted = true;
            }
        }
        self.connections += u64::from(voted);
    }

    /// Of the connections that tell these two apart, the share that says the first is nearer to the client.
    #[must_use]
    pub fn share(&self, first: usize, second: usize) -> Option<f64> {
        let (yes, no) = (self.nearer[first][second], self.nearer[second][first]);
        (yes + no > 0).then(|| yes as f64 / (yes + no) as f64)
    }

    /// The order that wins most pairs.
    #[must_use]
    pub fn order(&self) -> Order {
        let count = self.nearer.len();
        let wins = |probe: usize| {
            (0..count).filter(|other| self.share(probe, *other).is_some_and(|share| share > 0.5)).count()
        };
        let losses = |probe: usize| {
            (0..count).filter(|other| self.share(probe, *other).is_some_and(|share| share < 0.5)).count()
        };
        let mut probes: Vec<usize> = (0..count).collect();
        probes.sort_by_key(|probe| Reverse(wins(*probe) as i64 - losses(*probe) as i64));
        let shares = probes.windows(2).map(|pair| self.share(pair[0], pair[1]));
        let sure =
            shares.collect::<Option<Vec<f64>>>().and_then(|shares| shares.into_iter().reduce(f64::min));
        Order { probes, sure }
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
