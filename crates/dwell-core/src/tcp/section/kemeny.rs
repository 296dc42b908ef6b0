//! The order with which most votes agree: Kemeny's (1959).

use std::cmp::Reverse;

/// So many probes whose votes contradict each other are put in the best of all orders; of more, in one that moving no one
/// of them betters.
const EXACT: usize = 12;

/// How many votes say that the first probe of a pair is nearer to the client than the second.
#[derive(Clone, Debug)]
pub(super) struct Kemeny(pub Vec<Vec<u64>>);

impl Kemeny {
    /// Votes that do not contradict each other are all kept, whichever pairs they are on; where they tell two probes
    /// apart neither by themselves nor by way of others, the list does.
    pub(super) fn order(&self) -> Vec<usize> {
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
        probes
    }

    /// Of the pair of neighbours with the least agreement in this order: how many agree, of how many. `None` where no
    /// vote is on some pair.
    pub(super) fn weakest(&self, order: &[usize]) -> Option<(u64, u64)> {
        let told = order.windows(2).map(|pair| {
            let [yes, no] = [self.0[pair[0]][pair[1]], self.0[pair[1]][pair[0]]];
            (yes + no > 0).then_some((yes, yes + no))
        });
        let told: Option<Vec<(u64, u64)>> = told.collect();
        let share = |(agree, of): &(u64, u64)| *agree as f64 / *of as f64;
        told?.into_iter().min_by(|a, b| share(a).total_cmp(&share(b)).then(a.1.cmp(&b.1)))
    }

    /// Who is ahead of whom, by most of the votes on a pair or by way of others; each of itself too.
    fn ahead(&self) -> Vec<Vec<bool>> {
        let count = self.0.len();
        let wins = |one: usize, two: usize| one == two || self.0[one][two] > self.0[two][one];
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
                let agree: u64 = of(others).map(|other| self.0[given[other]][given[last]]).sum();
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
                self.0[then][now] as i64 - self.0[now][then] as i64
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
