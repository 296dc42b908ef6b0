//! What is kept of each of many flows, in a bounded place.

use super::super::{Endpoint, FlowHash};
use super::shortest::{SIGNS, Shortest, Told};
use super::{By, Sample};
use crate::unit::Nanos;

/// Flows whose hashes fall together, among which the one that was silent for longest gives way.
const WAYS: usize = 4;

/// What an interval has of flows that are forgotten is told before its end when it is so much.
const MUCH: usize = 4_096;

/// What is kept of a flow of some kind.
pub(super) trait State: Default {
    /// What tells the round trips of such a flow: each as far behind the first as in [`By`]; where they are less, the last again.
    const SIGNS: [By; SIGNS];
}

/// Whether the signs stand where they are looked for.
const fn in_order(signs: &[By; SIGNS]) -> bool {
    let mut place = 0;
    while place < SIGNS {
        let behind = signs[place] as usize - signs[0] as usize;
        if behind >= SIGNS || signs[behind] as usize != signs[place] as usize {
            return false;
        }
        place += 1;
    }
    true
}

#[derive(Clone, Debug)]
pub(super) struct Flow<T> {
    /// The ends, first the one that was heard first.
    ends: [Endpoint; 2],
    state: T,
    shortest: Shortest,
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

/// What finds the flows of a set, and tells which of them gives way: close together, so that all others need no look.
#[derive(Copy, Clone, Debug)]
struct Heads {
    hashes: [u32; WAYS],
    /// When each was heard last; [`NEVER`] where there is none.
    touched: [Nanos; WAYS],
    /// How often the clock had been set by then.
    steps: [u16; WAYS],
}

const NEVER: Nanos = Nanos(i64::MIN);

impl Heads {
    fn is_fresh(&self, way: usize, at: Nanos, patience: Nanos) -> bool {
        let touched = self.touched[way];
        touched != NEVER && (at - touched).abs() <= patience
    }
}

type Set<T> = [Option<Flow<T>>; WAYS];

/// What is kept of each flow. A flow that was silent for too long, or while the clock was set, begins anew; where there is
/// no place for another, the one of four that was silent for longest is forgotten, and counted.
#[derive(Debug)]
pub(super) struct Flows<T> {
    heads: Box<[Heads]>,
    /// What is not used takes no memory.
    sets: Box<[Option<Box<Set<T>>>]>,
    patience: Nanos,
    /// How often the clock was set.
    steps: u16,
    forgotten: u64,
    /// The places of those of which the interval that is not over has something, or had of one that gave way, each once.
    heard: Vec<Place>,
    /// What the interval has of those that are forgotten.
    parted: Vec<Told>,
}

/// The place of a flow.
#[derive(Copy, Clone, Debug)]
pub(super) struct Place {
    set: u32,
    way: u8,
}

/// A flow that is kept.
pub(super) struct Kept<'a, T> {
    pub(super) state: &'a mut T,
    /// Whether the one that sends is the one of its two ends that was heard first.
    pub(super) is_first: bool,
    pub(super) beside: Beside<'a>,
}

/// What the interval that is not over has of a flow that is kept.
pub(super) struct Beside<'a> {
    pub(super) place: Place,
    shortest: &'a mut Shortest,
    heard: &'a mut Vec<Place>,
    first: &'a Endpoint,
    signs: [By; SIGNS],
}

impl Beside<'_> {
    /// One more sample of it.
    pub(super) fn add(&mut self, sample: &Sample, value: Nanos) {
        if !std::mem::replace(&mut self.shortest.is_listed, true) {
            self.heard.push(self.place);
        }
        let sign = sample.by as usize - self.signs[0] as usize;
        self.shortest.add(sample, value, sample.to == *self.first, sign);
    }
}

impl<T: State> Flows<T> {
    pub(super) fn new(flows: usize, patience: Nanos) -> Self {
        const { assert!(in_order(&T::SIGNS), "signs in the order of By") };
        let sets = (flows / WAYS).max(1);
        Self {
            heads: vec![Heads { hashes: [0; WAYS], touched: [NEVER; WAYS], steps: [0; WAYS] }; sets]
                .into_boxed_slice(),
            sets: (0..sets).map(|_| None).collect(),
            patience,
            steps: 0,
            forgotten: 0,
            heard: Vec::new(),
            parted: Vec::new(),
        }
    }

    /// How many flows had to give way to others while they were not silent for long.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The clock was set: what lies between what was sent before and what is answered after is not known.
    pub(super) const fn clock_stepped(&mut self) {
        self.steps = self.steps.wrapping_add(1);
    }

    /// Whether anything is kept of the flow.
    pub(super) fn has(&self, flow: FlowHash, from: &Endpoint, to: &Endpoint, at: Nanos) -> bool {
        let set = self.set(flow);
        let heads = &self.heads[set];
        let is_it = |way: usize| self.sets[set].as_ref()?[way].as_ref()?.is_first(from, to);
        (0..WAYS).any(|way| heads.is_fresh(way, at, self.patience) && is_it(way).is_some())
    }

    /// What is kept of the flow.
    pub(super) fn of(&mut self, flow: FlowHash, from: &Endpoint, to: &Endpoint, at: Nanos) -> Kept<'_, T> {
        let (hash, set) = (flow.0, self.set(flow));
        let ways = self.sets[set].get_or_insert_with(|| Box::new([const { None }; WAYS]));
        let heads = &mut self.heads[set];
        let found = (0..WAYS).filter(|way| heads.hashes[*way] == hash).find_map(|way| {
            let is_first = ways[way].as_ref()?.is_first(from, to)?;
            Some((way, is_first))
        });
        let mut is_listed = false;
        let (way, is_first) = found.unwrap_or_else(|| {
            let way = (0..WAYS).min_by_key(|way| heads.touched[*way]).unwrap_or(0);
            if let Some(gone) = ways[way].take() {
                self.forgotten += u64::from(heads.is_fresh(way, at, self.patience));
                is_listed = gone.shortest.is_listed;
                self.parted.extend(gone.shortest.told(gone.ends, T::SIGNS));
            }
            (heads.hashes[way], heads.touched[way]) = (hash, at);
            (way, true)
        });
        let flow = ways[way].get_or_insert_with(|| Flow {
            ends: [*from, *to],
            state: T::default(),
            shortest: Shortest::none(is_listed),
        });
        if !heads.is_fresh(way, at, self.patience) || heads.steps[way] != self.steps {
            flow.state = T::default();
            heads.steps[way] = self.steps;
        }
        heads.touched[way] = at;
        let place = Place { set: set as u32, way: way as u8 };
        let Flow { ends: [first, _], state, shortest, .. } = flow;
        let beside = Beside { place, shortest, heard: &mut self.heard, first, signs: T::SIGNS };
        Kept { state, is_first, beside }
    }

    /// What the interval that is not over has of the flow that has this place.
    pub(super) fn beside(&mut self, place: Place) -> Option<Beside<'_>> {
        let Flow { ends: [first, _], shortest, .. } =
            self.sets[place.set as usize].as_mut()?[usize::from(place.way)].as_mut()?;
        Some(Beside { place, shortest, heard: &mut self.heard, first, signs: T::SIGNS })
    }

    /// What the interval has of those that are forgotten, as soon as that is much.
    #[inline]
    pub(super) fn parted(&mut self) -> Option<Vec<Told>> {
        (self.parted.len() >= MUCH).then(|| std::mem::take(&mut self.parted))
    }

    /// The interval is over: what it has of all flows.
    pub(super) fn part(&mut self, over: &mut Vec<Told>) {
        over.append(&mut self.parted);
        // Most have two or less.
        over.reserve(2 * self.heard.len());
        for place in self.heard.drain(..) {
            let ways = self.sets[place.set as usize].as_mut();
            if let Some(flow) = ways.and_then(|ways| ways[usize::from(place.way)].as_mut()) {
                over.extend(std::mem::take(&mut flow.shortest).told(flow.ends, T::SIGNS));
            }
        }
    }

    /// Places that the interval has something of.
    #[cfg(test)]
    pub(super) const fn heard(&self) -> usize {
        self.heard.len()
    }

    const fn set(&self, flow: FlowHash) -> usize {
        flow.0 as usize % self.sets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{By, Endpoint, FlowHash, Flows, Nanos, SIGNS, State};
    use std::net::{IpAddr, Ipv4Addr};

    fn end(port: u16) -> Endpoint {
        Endpoint { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port }
    }

    impl State for u32 {
        const SIGNS: [By; SIGNS] = [By::Timestamps, By::Acknowledgment, By::Response];
    }

    /// All fall together.
    const FLOW: FlowHash = FlowHash(7);

    #[test]
    fn both_directions_are_one_flow_until_it_is_silent() {
        let mut flows = Flows::<u32>::new(64, Nanos(10));
        let of = |flows: &mut Flows<u32>, from: u16, to: u16, at: i64| {
            let kept = flows.of(FLOW, &end(from), &end(to), Nanos(at));
            (*kept.state, kept.is_first)
        };
        *flows.of(FLOW, &end(1), &end(2), Nanos(0)).state = 7;
        assert!(
            flows.has(FLOW, &end(2), &end(1), Nanos(10)) && !flows.has(FLOW, &end(2), &end(1), Nanos(11))
        );
        assert!(!flows.has(FLOW, &end(1), &end(3), Nanos(0)));
        assert_eq!(of(&mut flows, 2, 1, 10), (7, false));
        assert_eq!(of(&mut flows, 1, 2, 21), (0, true));
        *flows.of(FLOW, &end(1), &end(2), Nanos(21)).state = 7;
        flows.clock_stepped();
        assert_eq!(of(&mut flows, 2, 1, 21), (0, false));
        *flows.of(FLOW, &end(1), &end(2), Nanos(21)).state = 7;
        assert_eq!(of(&mut flows, 2, 1, 21), (7, false));
    }

    #[test]
    fn the_most_silent_gives_way_and_is_counted() {
        let mut flows = Flows::<u32>::new(4, Nanos(100));
        for port in 1..=5 {
            *flows.of(FLOW, &end(port), &end(9), Nanos(i64::from(port))).state = u32::from(port);
        }
        assert_eq!(flows.forgotten(), 1);
        assert_eq!(*flows.of(FLOW, &end(5), &end(9), Nanos(6)).state, 5);
        assert_eq!(*flows.of(FLOW, &end(1), &end(9), Nanos(6)).state, 0);
    }
}
