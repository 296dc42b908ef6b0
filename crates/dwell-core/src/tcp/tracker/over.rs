//! Handshakes that are over, as many as there is room for.

use super::super::{Endpoint, FlowHash};
use super::ended::{Ended, Ends, Packed};
use super::tags::{FREE, Tags, WAYS, tag};

/// Handshakes that are over: kept for a while, so that what comes late is not taken for another. Where there is no room,
/// one more takes the place of the one that has been there for longest, of seven.
#[derive(Debug)]
pub(super) struct Over {
    /// The tags of each set, and in the byte to spare which of its places is the next to be taken.
    sets: Box<[Tags]>,
    /// In the same places, [`WAYS`] to a set. What is not used takes no memory: it is not touched.
    ended: Box<[Packed]>,
}

/// A place among those that are over.
#[derive(Copy, Clone, Debug)]
pub(super) struct Past {
    set: usize,
    way: usize,
}

impl Past {
    const fn index(self) -> usize {
        self.set * WAYS + self.way
    }
}

impl Over {
    /// Room for so many at least.
    pub(super) fn new(handshakes: usize) -> Self {
        let sets = handshakes.min(1 << 30).div_ceil(WAYS).max(1).next_power_of_two();
        Self {
            sets: vec![Tags::default(); sets].into_boxed_slice(),
            ended: vec![[0; 8]; sets * WAYS].into_boxed_slice(),
        }
    }

    const fn set(&self, flow: FlowHash) -> usize {
        // There are a power of two.
        flow.0 as usize & (self.sets.len() - 1)
    }

    /// The one between these two, whichever was the client.
    pub(super) fn find(&self, flow: FlowHash, one: &Endpoint, other: &Endpoint) -> Option<(Past, Ended)> {
        let set = self.set(flow);
        let tags = self.sets[set];
        if !tags.has(tag(flow)) {
            return None;
        }
        let ends = Ends::of(one, other);
        let places = tags.ways(tag(flow)).map(|way| Past { set, way });
        places
            .map(|place| (place, Ended::unpacked(&self.ended[place.index()])))
            .find(|(_, ended)| ended.is_between(&ends))
    }

    /// One more, which must not be there yet.
    pub(super) fn keep(&mut self, flow: FlowHash, ended: &Ended) {
        let set = self.set(flow);
        let tags = &mut self.sets[set];
        let way = tags.first(FREE).unwrap_or_else(|| {
            let next = usize::from(tags.spare());
            tags.set_spare(((next + 1) % WAYS) as u8);
            next
        });
        tags.set(way, tag(flow));
        self.ended[Past { set, way }.index()] = ended.packed();
    }

    pub(super) fn forget(&mut self, place: Past) {
        self.sets[place.set].set(place.way, FREE);
    }
}
