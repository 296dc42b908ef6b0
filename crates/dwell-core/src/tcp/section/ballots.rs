//! What each connection says of the order as a whole: one that was opened from the other side says the contrary of
//! everything, and means the same line of probes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What one connection says, by pairs of probes of which the first is nearer to its client.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ballot {
    /// What it votes.
    pub votes: Vec<[usize; 2]>,
    /// What both of its estimates say, beyond what is rounded off.
    pub clear: Vec<[usize; 2]>,
    /// Pairs of which its two estimates do not say the same so clearly.
    pub torn: Vec<[usize; 2]>,
}

/// Ballots, and how many connections cast each.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballots(BTreeMap<Ballot, u64>);

impl Ballots {
    /// One more connection casts this.
    pub(super) fn cast(&mut self, ballot: Ballot) {
        *self.0.entry(ballot).or_default() += 1;
    }

    /// The pairs of probes, the first of the list first, at which it shows which way a connection runs. Where stamps are
    /// worse than the section is long, both estimates of some connections are wrong; but one of two is so more often. So
    /// those that say the contrary of most must be twice as many as those of which the estimates are torn.
    pub(super) fn parted(&self) -> Vec<[usize; 2]> {
        let mut told: BTreeMap<[usize; 2], [u64; 3]> = BTreeMap::new();
        for (ballot, count) in &self.0 {
            let clear = ballot.clear.iter().map(|pair| (pair, usize::from(pair[0] > pair[1])));
            for ([one, two], what) in clear.chain(ballot.torn.iter().map(|pair| (pair, 2))) {
                told.entry([*one.min(two), *one.max(two)]).or_default()[what] += count;
            }
        }
        let is_parted = |[one, two, torn]: [u64; 3]| 2 * torn <= one.min(two);
        told.into_iter().filter(|(_, told)| is_parted(*told)).map(|(pair, _)| pair).collect()
    }

    /// Whether as many run the other way as the highest percentile that is told, the 99th, would show.
    pub(super) fn are_mixed(&self) -> bool {
        let [most, turned] = self.sides().map(|side| many(&side));
        turned > 0 && 100 * turned >= most + turned
    }

    /// The ballots of connections that say which way they run, those of most first, and how many cast each. Whoever agrees with less of what was
    /// said before is turned, the most frequent ballots first: these are the least mistaken.
    pub(super) fn sides(&self) -> [Vec<(&Ballot, u64)>; 2] {
        let parted = self.parted();
        let is_parted = |[one, two]: &&[usize; 2]| parted.contains(&[*one.min(two), *one.max(two)]);
        let mut ballots: Vec<(&Ballot, u64)> =
            self.0.iter().map(|(ballot, count)| (ballot, *count)).collect();
        ballots.sort_by_key(|(_, count)| Reverse(*count));
        let mut line: BTreeMap<[usize; 2], u64> = BTreeMap::new();
        let mut sides = [Vec::new(), Vec::new()];
        for (ballot, count) in ballots {
            let said: Vec<[usize; 2]> = ballot.clear.iter().filter(is_parted).copied().collect();
            let contrary: Vec<[usize; 2]> = said.iter().map(|[near, far]| [*far, *near]).collect();
            let agree = |pairs: &[[usize; 2]]| pairs.iter().filter_map(|pair| line.get(pair)).sum::<u64>();
            let is_turned = agree(&contrary) > agree(&said);
            for pair in if is_turned { &contrary } else { &said } {
                *line.entry(*pair).or_default() += count;
            }
            if !said.is_empty() {
                sides[usize::from(is_turned)].push((ballot, count));
            }
        }
        if many(&sides[1]) > many(&sides[0]) {
            sides.reverse();
        }
        sides
    }
}

/// How many connections cast these.
fn many(side: &[(&Ballot, u64)]) -> u64 {
    side.iter().map(|(_, count)| count).sum()
}

#[cfg(test)]
#[path = "ballots_tests.rs"]
mod tests;
