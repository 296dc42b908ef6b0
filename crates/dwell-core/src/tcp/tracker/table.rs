//! Where handshakes are kept: found by their ends, ordered by age.

use super::super::{Endpoint, FlowHash, FlowSeed, Glance};
use super::crowd::{Crowds, Places};
use super::pending::Pending;
use super::progress::Progress;
use crate::unit::Nanos;

/// How far a handshake is. Nobody of one class takes a place from another class that has no more than its share.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A SYN/ACK whose SYN did not pass.
    Stray,
    /// Established, but what tells more of it may still come.
    Held,
    /// A SYN without an answer.
    Unanswered,
    /// SYN and SYN/ACK.
    Answered,
}

impl Class {
    /// All, the first to go first.
    pub(super) const ALL: [Self; 4] = [Self::Stray, Self::Held, Self::Unanswered, Self::Answered];

    /// Its share of `places`. Together they are all: when all are taken, some class has its share or more.
    const fn share(self, places: u32) -> u32 {
        match self {
            Self::Stray | Self::Held => places / 8,
            Self::Unanswered => places / 4,
            Self::Answered => places - 2 * (places / 8) - places / 4,
        }
    }
}

/// No place.
const NONE: u32 = u32::MAX;

/// Words of tags, to begin with. They become twice as many when there are so many handshakes to each: so what is looked at
/// for every packet is as small as can be, and stays in a core's own cache.
const FEWEST: usize = 1 << 10;
const EACH: usize = 2;

/// Buckets for each word of tags.
const BUCKETS: usize = 4;

/// When places are sought for others: so many of the oldest are looked at for one of a crowd.
const LOOKED_AT: usize = 16;

/// What finds a handshake and orders it. Apart from what is known of it, so that it stays in a core's own cache:
/// whoever is moved among others of its age touches these too.
#[derive(Clone, Debug)]
struct Node {
    /// When its last segment passed.
    touched: Nanos,
    flow: FlowHash,
    /// The next in the bucket, or the next free place.
    chain: u32,
    older: u32,
    younger: u32,
    crowd: Places,
    class: Class,
    /// What the server sends without SYN and RST matters no longer.
    client_only: bool,
    /// How often the clock had been set when it began.
    steps: u16,
}

/// What one handshake takes.
#[cfg(test)]
pub(super) const PLACE_BYTES: usize = size_of::<Node>() + size_of::<Progress>();

#[derive(Copy, Clone, Debug)]
struct Ages {
    oldest: u32,
    youngest: u32,
    count: u32,
}

/// A place in the table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// Handshakes, a bounded number.
#[derive(Clone, Debug)]
pub(super) struct Table {
    nodes: Vec<Node>,
    /// What is known of each, in the same places.
    known: Vec<Progress>,
    buckets: Box<[u32]>,
    pending: Pending,
    free: u32,
    ages: [Ages; Class::ALL.len()],
    places: u32,
    seed: FlowSeed,
    crowds: Crowds,
}

impl Table {
    pub(super) fn new(handshakes: usize) -> Self {
        let places = u32::try_from(handshakes).unwrap_or(NONE).clamp(8, 1 << 30);
        Self {
            // What is not used takes no memory: it is not touched.
            nodes: Vec::with_capacity(places as usize),
            known: Vec::with_capacity(places as usize),
            buckets: vec![NONE; FEWEST * BUCKETS].into_boxed_slice(),
            pending: Pending::new(FEWEST),
            free: NONE,
            ages: [Ages { oldest: NONE, youngest: NONE, count: 0 }; Class::ALL.len()],
            places,
            seed: FlowSeed::random(),
            crowds: Crowds::new(handshakes),
        }
    }

    #[inline]
    pub(super) const fn seed(&self) -> &FlowSeed {
        &self.seed
    }

    #[inline(always)]
    pub(super) fn pending(&self, glance: Glance) -> bool {
        self.pending.has(glance)
    }

    /// The handshake between these two, whichever is the client.
    #[inline(always)]
    pub(super) fn find(&self, flow: FlowHash, one: &Endpoint, other: &Endpoint) -> Option<Place> {
        let mut at = self.buckets[self.bucket(flow)];
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.flow == flow && self.known[at as usize].is_between(one, other) {
                return Some(Place(at));
            }
            at = node.chain;
        }
        None
    }

    /// When its last segment passed.
    pub(super) fn touched(&self, place: Place) -> Nanos {
        self.nodes[place.0 as usize].touched
    }

    /// How often the clock had been set when it began.
    pub(super) fn steps(&self, place: Place) -> u16 {
        self.nodes[place.0 as usize].steps
    }

    pub(super) fn flow(&self, place: Place) -> FlowHash {
        self.nodes[place.0 as usize].flow
    }

    pub(super) fn touch(&mut self, place: Place, at: Nanos) {
        self.nodes[place.0 as usize].touched = at;
    }

    pub(super) fn at(&self, place: Place) -> &Progress {
        &self.known[place.0 as usize]
    }

    pub(super) fn at_mut(&mut self, place: Place) -> &mut Progress {
        &mut self.known[place.0 as usize]
    }

    pub(super) fn class(&self, place: Place) -> Class {
        self.nodes[place.0 as usize].class
    }

    /// What the server sends without SYN and RST matters to it no longer.
    pub(super) fn hear_client_only(&mut self, place: Place) {
        if !self.nodes[place.0 as usize].client_only {
            let [_, from_server] = self.glances(self.at(place));
            self.pending.remove(from_server);
            self.nodes[place.0 as usize].client_only = true;
        }
    }

    /// What the client and what the server sends, at a glance. Not kept, for it takes a few steps, and what is kept of each is
    /// large enough.
    fn glances(&self, known: &Progress) -> [Glance; 2] {
        let (client, server) = known.ends();
        [self.seed.glance(client, server), self.seed.glance(server, client)]
    }

    /// What matters to one, at a glance.
    fn mattering(&self, place: Place) -> impl Iterator<Item = Glance> + use<> {
        let matter = if self.nodes[place.0 as usize].client_only { 1 } else { 2 };
        self.glances(self.at(place)).into_iter().take(matter)
    }

    /// The one of a class that has been untouched for longest.
    pub(super) fn oldest(&self, class: Class) -> Option<Place> {
        let oldest = self.ages[class as usize].oldest;
        (oldest != NONE).then_some(Place(oldest))
    }

    /// The next younger one of its class.
    fn younger(&self, place: Place) -> Option<Place> {
        let younger = self.nodes[place.0 as usize].younger;
        (younger != NONE).then_some(Place(younger))
    }

    /// Which one has to go before another comes, if all places are taken.
    pub(super) fn in_the_way(&mut self) -> Option<Place> {
        if self.taken() < self.places {
            return None;
        }
        let class = Class::ALL
            .into_iter()
            .find(|class| self.ages[*class as usize].count >= class.share(self.places))?;
        // One of a crowd goes first, and those before it are set back in age. Where there is no crowd the oldest goes:
        // the others keep their turns.
        let oldest = std::iter::successors(self.oldest(class), |place| self.younger(*place));
        let is_crowded = |place: &Place| self.crowds.is_crowded(self.nodes[place.0 as usize].crowd);
        let before = oldest.take(LOOKED_AT).position(|place| is_crowded(&place)).unwrap_or(0);
        for _ in 0..before {
            self.age(self.oldest(class)?, class);
        }
        self.oldest(class)
    }

    /// Keeps one more. There must be a place: see [`Self::in_the_way`].
    pub(super) fn insert(&mut self, flow: FlowHash, progress: Progress, class: Class, steps: u16) {
        if self.taken() as usize >= EACH * self.buckets.len() / BUCKETS {
            self.grow();
        }
        let touched = progress.begun();
        let (client, server) = progress.ends();
        let bucket = self.bucket(flow);
        let crowd = self.crowds.enter(client, server);
        self.glances(&progress).into_iter().for_each(|glance| self.pending.add(glance));
        let chain = self.buckets[bucket];
        let node = Node {
            touched,
            flow,
            chain,
            older: NONE,
            younger: NONE,
            crowd,
            class,
            client_only: false,
            steps,
        };
        let at = if self.free == NONE {
            self.nodes.push(node);
            self.known.push(progress);
            self.nodes.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = self.nodes[at as usize].chain;
            self.nodes[at as usize] = node;
            self.known[at as usize] = progress;
            at
        };
        self.buckets[bucket] = at;
        self.append(at, class);
    }

    /// Handshakes that are kept.
    const fn taken(&self) -> u32 {
        let [a, b, c, d] = &self.ages;
        a.count + b.count + c.count + d.count
    }

    /// Finds all of them by twice as many tags and buckets.
    #[cold]
    fn grow(&mut self) {
        self.pending = Pending::new(2 * self.buckets.len() / BUCKETS);
        self.buckets = vec![NONE; 2 * self.buckets.len()].into_boxed_slice();
        for class in Class::ALL {
            let mut next = self.oldest(class);
            while let Some(place) = next {
                self.mattering(place).for_each(|glance| self.pending.add(glance));
                let bucket = self.bucket(self.flow(place));
                self.nodes[place.0 as usize].chain = std::mem::replace(&mut self.buckets[bucket], place.0);
                next = self.younger(place);
            }
        }
    }

    /// Makes it the youngest of a class.
    pub(super) fn age(&mut self, place: Place, class: Class) {
        self.unlink(place.0);
        self.nodes[place.0 as usize].class = class;
        self.append(place.0, class);
    }

    /// Forgets one.
    pub(super) fn remove(&mut self, place: Place) {
        let at = place.0;
        self.unlink(at);
        self.mattering(place).for_each(|glance| self.pending.remove(glance));
        let node = &self.nodes[at as usize];
        self.crowds.leave(node.crowd);
        let (chain, bucket) = (node.chain, self.bucket(node.flow));
        let mut link = self.buckets[bucket];
        if link == at {
            self.buckets[bucket] = chain;
        } else {
            while self.nodes[link as usize].chain != at {
                link = self.nodes[link as usize].chain;
            }
            self.nodes[link as usize].chain = chain;
        }
        self.nodes[at as usize].chain = self.free;
        self.free = at;
    }

    fn append(&mut self, at: u32, class: Class) {
        let ages = &mut self.ages[class as usize];
        let youngest = ages.youngest;
        ages.youngest = at;
        ages.count += 1;
        if youngest == NONE {
            ages.oldest = at;
        } else {
            self.nodes[youngest as usize].younger = at;
        }
        let node = &mut self.nodes[at as usize];
        (node.older, node.younger) = (youngest, NONE);
    }

    fn unlink(&mut self, at: u32) {
        let node = &self.nodes[at as usize];
        let (older, younger, class) = (node.older, node.younger, node.class as usize);
        if older == NONE {
            self.ages[class].oldest = younger;
        } else {
            self.nodes[older as usize].younger = younger;
        }
        if younger == NONE {
            self.ages[class].youngest = older;
        } else {
            self.nodes[younger as usize].older = older;
        }
        self.ages[class].count -= 1;
    }

    const fn bucket(&self, flow: FlowHash) -> usize {
        // There are a power of two.
        flow.0 as usize & (self.buckets.len() - 1)
    }

    /// Places in use, and those that there are room for.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.nodes.len(), self.nodes.capacity())
    }
}
