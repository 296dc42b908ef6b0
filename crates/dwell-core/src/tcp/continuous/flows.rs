//! What is kept of each of many flows, in a bounded place.

use super::super::{Endpoint, FlowSeed};
use crate::unit::Nanos;

/// Flows whose hashes fall together, among which the one that was silent for longest gives way.
const WAYS: usize = 4;

#[derive(Debug)]
pub(super) struct Flow<T> {
    /// The ends, the lower one first.
    ends: [Endpoint; 2],
    touched: Nanos,
    state: T,
}

/// What is kept of each flow. A flow that was silent for too long begins anew; where there is no place for another, the
/// one of four that was silent for longest is forgotten, and counted.
#[derive(Debug)]
pub(super) struct Flows<T> {
    sets: Box<[[Option<Flow<T>>; WAYS]]>,
    seed: FlowSeed,
    patience: Nanos,
    forgotten: u64,
}

impl<T: Default> Flows<T> {
    pub(super) fn new(flows: usize, patience: Nanos) -> Self {
        let sets = (flows / WAYS).max(1);
        Self {
            sets: (0..sets).map(|_| [const { None }; WAYS]).collect(),
            seed: FlowSeed::random(),
            patience,
            forgotten: 0,
        }
    }

    /// How many flows had to give way to others while they were not silent for long.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Whether anything is kept of the flow.
    pub(super) fn has(&self, from: &Endpoint, to: &Endpoint, at: Nanos) -> bool {
        let (ends, _) = sorted(from, to);
        let mut ways = self.sets[self.set(from, to)].iter().flatten();
        ways.any(|flow| flow.ends == ends && (at - flow.touched).abs() <= self.patience)
    }

    /// What is kept of the flow, and whether `from` is the lower of its two ends.
    pub(super) fn of(&mut self, from: &Endpoint, to: &Endpoint, at: Nanos) -> (&mut T, bool) {
        let (ends, is_low) = sorted(from, to);
        let set = self.set(from, to);
        let ways = &mut self.sets[set];
        let is_it = |way: &Option<Flow<T>>| way.as_ref().is_some_and(|flow| flow.ends == ends);
        let way = ways.iter().position(is_it).unwrap_or_else(|| {
            let silent = |way: &Option<Flow<T>>| way.as_ref().map(|flow| flow.touched);
            (0..WAYS).min_by_key(|way| silent(&ways[*way])).unwrap_or(0)
        });
        let patience = self.patience;
        let kept = ways[way].take();
        let is_fresh = |flow: &Flow<T>| (at - flow.touched).abs() <= patience;
        let state = match kept {
            Some(flow) if flow.ends == ends && is_fresh(&flow) => flow.state,
            Some(flow) => {
                self.forgotten += u64::from(flow.ends != ends && is_fresh(&flow));
                T::default()
            }
            None => T::default(),
        };
        (&mut ways[way].insert(Flow { ends, touched: at, state }).state, is_low)
    }

    fn set(&self, from: &Endpoint, to: &Endpoint) -> usize {
        self.seed.of(from, to).0 as usize % self.sets.len()
    }
}

/// Both ends, the lower one first, and whether that is `from`.
fn sorted(from: &Endpoint, to: &Endpoint) -> ([Endpoint; 2], bool) {
    if from <= to { ([*from, *to], true) } else { ([*to, *from], false) }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Flows, Nanos};
    use std::net::{IpAddr, Ipv4Addr};

    fn end(port: u16) -> Endpoint {
        Endpoint { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port }
    }

    #[test]
    fn both_directions_are_one_flow_until_it_is_silent() {
        let mut flows = Flows::<u32>::new(64, Nanos(10));
        *flows.of(&end(1), &end(2), Nanos(0)).0 = 7;
        assert!(flows.has(&end(2), &end(1), Nanos(10)) && !flows.has(&end(2), &end(1), Nanos(11)));
        assert!(!flows.has(&end(1), &end(3), Nanos(0)));
        assert_eq!(flows.of(&end(2), &end(1), Nanos(10)), (&mut 7, false));
        assert_eq!(flows.of(&end(1), &end(2), Nanos(21)), (&mut 0, true));
    }

    #[test]
    fn the_most_silent_gives_way_and_is_counted() {
        let mut flows = Flows::<u32>::new(4, Nanos(100));
        for port in 1..=5 {
            *flows.of(&end(port), &end(9), Nanos(i64::from(port))).0 = u32::from(port);
        }
        assert_eq!(flows.forgotten(), 1);
        assert_eq!(*flows.of(&end(5), &end(9), Nanos(6)).0, 5);
        assert_eq!(*flows.of(&end(1), &end(9), Nanos(6)).0, 0);
    }
}
