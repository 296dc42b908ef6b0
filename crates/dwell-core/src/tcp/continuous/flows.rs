//! What is kept of each of many flows, in a bounded place.

use super::super::{Endpoint, FlowHash};
use super::By;
use super::sample::Trip;
use super::shortest::{SIGNS, Shortest, Told};
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

/// In the order in which it is looked at, and from the beginning of a line of the cache on: of a flow that was not heard for a while
/// each line has to come from afar, and that takes longer than all that is done with it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Flow<T> {
    /// The ends, first the one that was heard first.
    ends: [Endpoint; 2],
    /// When it was heard last.
    touched: Nanos,
    /// How often the clock had been set by then.
    steps: u16,
    /// Its place is among those that the interval has something of.
    is_listed: bool,
    shortest: Shortest,
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

    fn is_fresh(&self, at: Nanos, patience: Nanos) -> bool {
        at.is_near(self.touched, patience)
    }
}

/// What finds the flows of a set: little enough for those of all sets to stay in a core's own cache.
#[derive(Copy, Clone, Debug)]
struct Heads {
    hashes: [u32; WAYS],
    /// The place of each; [`NONE`] where there is none.
    places: [u32; WAYS],
}

const NONE: u32 = u32::MAX;

impl Heads {
    /// The places of flows of this hash, and [`NONE`], where nothing lies. All are compared at once.
    #[inline]
    fn of(&self, flow: FlowHash) -> impl Iterator<Item = usize> + use<'_> {
        let equal = |way: usize| u32::from(self.hashes[way] == flow.0) << way;
        let mut left = (0..WAYS).fold(0, |ways, way| ways | equal(way));
        std::iter::from_fn(move || {
            let way = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(self.places[way] as usize)
        })
    }
}

/// What is kept of each flow. A flow that was silent for too long, or while the clock was set, begins anew; where there is
/// no place for another, the one of four that was silent for longest is forgotten, and counted.
#[derive(Debug)]
pub(super) struct Flows<T> {
    heads: Box<[Heads]>,
    /// One behind the other as they came; one that takes another's place lies where that lay.
    flows: Vec<Flow<T>>,
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
pub(super) struct Place(u32);

/// A flow that is kept.
pub(super) struct Kept<'a, T> {
    pub(super) state: &'a mut T,
    /// Whether the one that sends is the one of its two ends that was heard first.
    pub(super) is_first: bool,
    /// How long nothing was heard of it.
    pub(super) silence: Nanos,
    pub(super) beside: Beside<'a>,
}

/// What the interval that is not over has of a flow that is kept.
pub(super) struct Beside<'a> {
    pub(super) place: Place,
    /// The ends, first the one that was heard first.
    pub(super) ends: &'a [Endpoint; 2],
    shortest: &'a mut Shortest,
    is_listed: &'a mut bool,
    heard: &'a mut Vec<Place>,
    signs: [By; SIGNS],
}

impl Beside<'_> {
    /// One more sample of it.
    pub(super) fn add(&mut self, trip: &Trip, value: Nanos) {
        if !std::mem::replace(self.is_listed, true) {
            self.heard.push(self.place);
        }
        let sign = trip.by as usize - self.signs[0] as usize;
        self.shortest.add(trip, value, sign);
    }
}

impl<T: State> Flows<T> {
    pub(super) fn new(flows: usize, patience: Nanos) -> Self {
        const { assert!(in_order(&T::SIGNS), "signs in the order of By") };
        let sets = (flows / WAYS).clamp(1, NONE as usize / WAYS);
        Self {
            heads: vec![Heads { hashes: [0; WAYS], places: [NONE; WAYS] }; sets].into_boxed_slice(),
            // What is not used takes no memory: it is not touched.
            flows: Vec::with_capacity(sets * WAYS),
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
        let is_it = |flow: &Flow<T>| flow.is_fresh(at, self.patience) && flow.is_first(from, to).is_some();
        self.heads[self.set(flow)].of(flow).any(|place| self.flows.get(place).is_some_and(is_it))
    }

    /// What is kept of the flow.
    #[inline]
    pub(super) fn of(&mut self, flow: FlowHash, from: &Endpoint, to: &Endpoint, at: Nanos) -> Kept<'_, T> {
        let is_first = |place: usize| Some((place, self.flows.get(place)?.is_first(from, to)?));
        let found = self.heads[self.set(flow)].of(flow).find_map(is_first);
        let (place, is_first) = found.unwrap_or_else(|| (self.begin(flow, [*from, *to], at), true));
        let Flow { ends, touched, steps, is_listed, shortest, state } = &mut self.flows[place];
        let silence = at - *touched;
        if !at.is_near(*touched, self.patience) || *steps != self.steps {
            *state = T::default();
            *steps = self.steps;
        }
        *touched = at;
        let (place, heard) = (Place(place as u32), &mut self.heard);
        Kept {
            state,
            is_first,
            silence,
            beside: Beside { place, ends, shortest, is_listed, heard, signs: T::SIGNS },
        }
    }

    /// The place of a flow that begins: one that was free, or that of the flow of its set that was silent for longest.
    fn begin(&mut self, flow: FlowHash, ends: [Endpoint; 2], at: Nanos) -> usize {
        let heads = &mut self.heads[self.set(flow)];
        let begun = |is_listed| Flow {
            ends,
            touched: at,
            steps: self.steps,
            is_listed,
            shortest: Shortest::default(),
            state: T::default(),
        };
        if let Some(way) = (0..WAYS).find(|way| heads.places[*way] == NONE) {
            let place = self.flows.len();
            self.flows.push(begun(false));
            (heads.hashes[way], heads.places[way]) = (flow.0, place as u32);
            return place;
        }
        let silent = |way: &usize| self.flows[heads.places[*way] as usize].touched;
        let way = (0..WAYS).min_by_key(silent).unwrap_or(0);
        heads.hashes[way] = flow.0;
        let place = heads.places[way] as usize;
        let gone = &mut self.flows[place];
        self.forgotten += u64::from(gone.is_fresh(at, self.patience));
        let gone = std::mem::replace(gone, begun(gone.is_listed));
        self.parted.extend(gone.shortest.told(gone.ends, T::SIGNS));
        place
    }

    /// What the interval that is not over has of the flow that has this place.
    pub(super) fn beside(&mut self, place: Place) -> Beside<'_> {
        let Flow { ends, is_listed, shortest, .. } = &mut self.flows[place.0 as usize];
        Beside { place, ends, shortest, is_listed, heard: &mut self.heard, signs: T::SIGNS }
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
            let flow = &mut self.flows[place.0 as usize];
            flow.is_listed = false;
            over.extend(std::mem::take(&mut flow.shortest).told(flow.ends, T::SIGNS));
        }
    }

    /// What one flow takes.
    #[cfg(test)]
    pub(super) const FLOW_BYTES: usize = size_of::<Flow<T>>() + size_of::<Heads>() / WAYS;

    /// Places that the interval has something of.
    #[cfg(test)]
    pub(super) const fn heard(&self) -> usize {
        self.heard.len()
    }

    /// By the upper bits, without a division.
    const fn set(&self, flow: FlowHash) -> usize {
        ((flow.0 as u64 * self.heads.len() as u64) >> u32::BITS) as usize
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
