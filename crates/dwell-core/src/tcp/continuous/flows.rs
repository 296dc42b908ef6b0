//! What is kept of each of many flows, in a bounded place.

use super::super::{Endpoint, FlowHash};
use crate::unit::Nanos;

/// Flows whose hashes fall together, among which the one that was silent for longest gives way.
const WAYS: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Flow<T> {
    /// The ends, first the one that was heard first.
    ends: [Endpoint; 2],
    touched: Nanos,
    state: T,
}

impl<T> Flow<T> {
    /// Whether `from` is the first of its ends; `None` if these are not its ends.
    fn is_first(&self, from: &Endpoint, to: &Endpoint) -> Option<bool> {
        let [first, second] = &self.ends;
        if first == from && second == to {
            return Some(true);
        }
        (first == to && second == from).then_some(false)
    }
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
    patience: Nanos,
    forgotten: u64,
}

impl<T: Default> Flows<T> {
    pub(super) fn new(flows: usize, patience: Nanos) -> Self {
        let sets = (flows / WAYS).max(1);
        Self {
            hashes: vec![[0; WAYS]; sets].into_boxed_slice(),
            sets: (0..sets).map(|_| None).collect(),
            patience,
            forgotten: 0,
        }
    }

    /// How many flows had to give way to others while they were not silent for long.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Whether anything is kept of the flow.
    pub(super) fn has(&self, flow: FlowHash, from: &Endpoint, to: &Endpoint, at: Nanos) -> bool {
        let mut ways = self.sets[self.set(flow)].iter().flat_map(|ways| ways.iter().flatten());
        ways.any(|flow| flow.is_first(from, to).is_some() && (at - flow.touched).abs() <= self.patience)
    }

    /// What is kept of the flow, and whether `from` is the one of its two ends that was heard first.
    pub(super) fn of(&mut self, flow: FlowHash, from: &Endpoint, to: &Endpoint, at: Nanos) -> (&mut T, bool) {
        let (hash, set) = (flow.0, self.set(flow));
        let ways = self.sets[set].get_or_insert_with(|| Box::new([const { None }; WAYS]));
        let hashes = &mut self.hashes[set];
        let patience = self.patience;
        let is_fresh = |flow: &Flow<T>| (at - flow.touched).abs() <= patience;
        let found = (0..WAYS).filter(|way| hashes[*way] == hash).find_map(|way| {
            let is_first = ways[way].as_ref()?.is_first(from, to)?;
            Some((way, is_first))
        });
        let (way, is_first) = found.unwrap_or_else(|| {
            let silent = |way: &Option<Flow<T>>| way.as_ref().map(|flow| flow.touched);
            let way = (0..WAYS).min_by_key(|way| silent(&ways[*way])).unwrap_or(0);
            self.forgotten += u64::from(ways[way].take().is_some_and(|flow| is_fresh(&flow)));
            hashes[way] = hash;
            (way, true)
        });
        let flow =
            ways[way].get_or_insert_with(|| Flow { ends: [*from, *to], touched: at, state: T::default() });
        if !is_fresh(flow) {
            flow.state = T::default();
        }
        flow.touched = at;
        (&mut flow.state, is_first)
    }

    const fn set(&self, flow: FlowHash) -> usize {
        flow.0 as usize % self.sets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, FlowHash, Flows, Nanos};
    use std::net::{IpAddr, Ipv4Addr};

    fn end(port: u16) -> Endpoint {
        Endpoint { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port }
    }

    /// All fall together.
    const FLOW: FlowHash = FlowHash(7);

    #[test]
    fn both_directions_are_one_flow_until_it_is_silent() {
        let mut flows = Flows::<u32>::new(64, Nanos(10));
        *flows.of(FLOW, &end(1), &end(2), Nanos(0)).0 = 7;
        assert!(
            flows.has(FLOW, &end(2), &end(1), Nanos(10)) && !flows.has(FLOW, &end(2), &end(1), Nanos(11))
        );
        assert!(!flows.has(FLOW, &end(1), &end(3), Nanos(0)));
        assert_eq!(flows.of(FLOW, &end(2), &end(1), Nanos(10)), (&mut 7, false));
        assert_eq!(flows.of(FLOW, &end(1), &end(2), Nanos(21)), (&mut 0, true));
    }

    #[test]
    fn the_most_silent_gives_way_and_is_counted() {
        let mut flows = Flows::<u32>::new(4, Nanos(100));
        for port in 1..=5 {
            *flows.of(FLOW, &end(port), &end(9), Nanos(i64::from(port))).0 = u32::from(port);
        }
        assert_eq!(flows.forgotten(), 1);
        assert_eq!(*flows.of(FLOW, &end(5), &end(9), Nanos(6)).0, 5);
        assert_eq!(*flows.of(FLOW, &end(1), &end(9), Nanos(6)).0, 0);
    }
}
