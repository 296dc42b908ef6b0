//! What is kept of each of many flows, in a bounded place.

use super::super::{Endpoint, FlowSeed};
use crate::unit::Nanos;

/// Flows whose hashes fall together, among which the one that was silent for longest gives way.
const WAYS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Flow<T> {
    /// The ends, the lower one first.
    ends: [Endpoint; 2],
    touched: Nanos,
    state: T,
}

type Set<T> = [Option<Flow<T>>; WAYS];

/// What is kept of each flow. A flow that was silent for too long begins anew; where there is no place for another, the
/// one of four that was silent for longest is forgotten, and counted.
#[derive(Debug)]
pub(super) struct Flows<T> {
    /// The hashes of the flows of each set: close together, so that all others need no look.
    hashes: Box<[[u32; WAYS]]>,
    /// What is not used takes no memory.
    sets: Box<[Option<Box<Set<T>>>]>,
    seed: FlowSeed,
    patience: Nanos,
    forgotten: u64,
}

impl<T: Default> Flows<T> {
    pub(super) fn new(flows: usize, patience: Nanos) -> Self {
        let sets = (flows / WAYS).max(1);
        Self {
            hashes: vec![[0; WAYS]; sets].into_boxed_slice(),
            sets: (0..sets).map(|_| None).collect(),
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
        let (_, set) = self.set(from, to);
        let mut ways = self.sets[set].iter().flat_map(|ways| ways.iter().flatten());
        ways.any(|flow| flow.ends == ends && (at - flow.touched).abs() <= self.patience)
    }

    /// What is kept of the flow, and whether `from` is the lower of its two ends.
    pub(super) fn of(&mut self, from: &Endpoint, to: &Endpoint, at: Nanos) -> (&mut T, bool) {
        let (ends, is_low) = sorted(from, to);
        let (hash, set) = self.set(from, to);
        let ways = self.sets[set].get_or_insert_with(|| Box::new([const { None }; WAYS]));
        let hashes = &mut self.hashes[set];
        let patience = self.patience;
        let is_fresh = |flow: &Flow<T>| (at - flow.touched).abs() <= patience;
        let is_it =
            |way: &usize| hashes[*way] == hash && ways[*way].as_ref().is_some_and(|flow| flow.ends == ends);
        let way = (0..WAYS).find(is_it).unwrap_or_else(|| {
            let silent = |way: &Option<Flow<T>>| way.as_ref().map(|flow| flow.touched);
            let way = (0..WAYS).min_by_key(|way| silent(&ways[*way])).unwrap_or(0);
            self.forgotten += u64::from(ways[way].take().is_some_and(|flow| is_fresh(&flow)));
            hashes[way] = hash;
            way
        });
        let flow = ways[way].get_or_insert_with(|| Flow { ends, touched: at, state: T::default() });
        if !is_fresh(flow) {
            flow.state = T::default();
        }
        flow.touched = at;
        (&mut flow.state, is_low)
    }

    /// The hash of the flow, and its set.
    fn set(&self, from: &Endpoint, to: &Endpoint) -> (u32, usize) {
        let hash = self.seed.of(from, to).0;
        (hash, hash as usize % self.sets.len())
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
