//! In which order the probes stand, from client to server.

use super::Connection;
use std::cmp::{Ordering, Reverse};

/// The order of probes, from client to server.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    probes: Vec<usize>,
    /// Of the pair of neighbours with the least agreement: how many agree, of how many.
    weakest: Option<(u64, u64)>,
}

impl Order {
    /// As somebody says who knows.
    #[must_use]
    pub const fn pinned(probes: Vec<usize>) -> Self {
        Self { probes, weakest: None }
    }

    /// The probes, the nearest to the client first, each by its place in the list of them.
    #[must_use]
    pub fn probes(&self) -> &[usize] {
        &self.probes
    }

    /// Of the connections that tell two neighbours apart, the share that agrees with this order, for the pair of
    /// neighbours with the least. `None` when it was pinned, or when no connection tells some pair apart.
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

/// So many probes whose votes contradict each other are put in the best of all orders; of more, in one that moving no one
/// of them betters.
const EXACT: usize = 12;

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

    /// The order with which most votes agree (Kemeny's). Votes that do not contradict each other are all kept, whichever
    /// pairs they are on; where they tell two probes apart neither by themselves nor by way of others, the list does.
    #[must_use]
    pub fn order(&self) -> Order {
        let ahead = self.ahead();
        let count = ahead.len();
        let behind = |probe: usize| ahead[probe].iter().filter(|is| **is).count();
        // Who is ahead of each other by way of others stands in a circle, which is known by its first.
        let circle = |probe: usize| (0..count).find(|other| ahead[probe][*other] && ahead[*other][probe]);
        let mut probes: Vec<usize> = (0..count).collect();
        // Whoever is ahead of another is ahead of all that this one is ahead of.
        probes.sort_by_key(|probe| (Reverse(behind(*probe)), circle(*probe)));
        for circle in probes.chunk_by_mut(|one, two| ahead[*one][*two] && ahead[*two][*one]) {
            self.settle(circle);
        }
        let told = probes.windows(2).map(|pair| {
            let [yes, no] = [self.nearer[pair[0]][pair[1]], self.nearer[pair[1]][pair[0]]];
            (yes + no > 0).then_some((yes, yes + no))
        });
        let told: Option<Vec<(u64, u64)>> = told.collect();
        let share = |(agree, of): &(u64, u64)| *agree as f64 / *of as f64;
        let weakest = told.and_then(|told| {
            told.into_iter().min_by(|a, b| share(a).total_cmp(&share(b)).then(a.1.cmp(&b.1)))
        });
        Order { probes, weakest }
    }

    /// Who is ahead of whom, by most of the votes on a pair or by way of others; each of itself too.
    fn ahead(&self) -> Vec<Vec<bool>> {
        let count = self.nearer.len();
        let wins = |one: usize, two: usize| one == two || self.nearer[one][two] > self.nearer[two][one];
        let mut ahead: Vec<Vec<bool>> =
            (0..count).map(|one| (0..count).map(|two| wins(one, two)).collect()).collect();
        for by in 0..count {
            let further = ahead[by].clone();
            for row in ahead.iter_mut().filter(|row| row[by]) {
                row.iter_mut().zip(&further).for_each(|(is, further)| *is |= further);
            }
        }
        ahead
    }

    /// Puts these in the order with which most votes agree.
    fn settle(&self, probes: &mut [usize]) {
        if probes.len() <= EXACT {
            self.settle_all(probes);
        } else {
            while self.settle_one(probes) {}
        }
    }

    /// Of all orders, by the best one of each set of probes: whoever is last in it, the others are in the best of theirs.
    fn settle_all(&self, probes: &mut [usize]) {
        let given = probes.to_vec();
        let count = given.len();
        let of = |set: usize| (0..count).filter(move |place| set >> place & 1 == 1);
        let mut best = vec![(0u64, 0usize); 1 << count];
        for set in 1..best.len() {
            let ends = of(set).map(|last| {
                let others = set & !(1 << last);
                let agree: u64 = of(others).map(|other| self.nearer[given[other]][given[last]]).sum();
                (best[others].0 + agree, last)
            });
            best[set] = ends.max().unwrap_or_default();
        }
        let mut set = best.len() - 1;
        for probe in probes.iter_mut().rev() {
            let last = best[set].1;
            *probe = given[last];
            set &= !(1 << last);
        }
    }

    /// Moves the first one that stands better elsewhere to where it stands best. Returns whether there was one.
    fn settle_one(&self, probes: &mut [usize]) -> bool {
        for from in 0..probes.len() {
            // What is gained by moving it past its neighbours, one after another, to either side.
            let gain = |passed: usize, later: bool| {
                let [one, two] = [probes[from], probes[passed]];
                let (now, then) = if later { (one, two) } else { (two, one) };
                self.nearer[then][now] as i64 - self.nearer[now][then] as i64
            };
            let sums = |sum: &mut i64, (passed, gain): (usize, i64)| {
                *sum += gain;
                Some((*sum, passed))
            };
            let later = (from + 1..probes.len()).map(|to| (to, gain(to, true))).scan(0, sums);
            let sooner = (0..from).rev().map(|to| (to, gain(to, false))).scan(0, sums);
            if let Some((gained, to)) = later.chain(sooner).max()
                && gained > 0
            {
                if to > from {
                    probes[from..=to].rotate_left(1);
                } else {
                    probes[to..=from].rotate_right(1);
                }
                return true;
            }
        }
        false
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
