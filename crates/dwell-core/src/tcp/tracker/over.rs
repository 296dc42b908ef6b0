//! Handshakes that are over, as many as there is room for.

use super::super::{Endpoint, FlowHash};
use super::ended::{Ended, Ends, Packed};
use super::tags::{FREE, Tags, WAYS, tag};

/// Handshakes that are over: kept for a while, so that what comes late is not taken for another. Where there is no room,
/// one more takes the place of the one that has been there for longest, of all or of seven whose hashes fall together.
#[derive(Debug)]
pub(super) struct Over {
    /// The tags of each set, and in the byte to spare which of its ways is the next to be taken.
    sets: Box<[Tags]>,
    /// Where those of each set are. Of what has been overwritten the ends tell.
    places: Box<[[u32; WAYS]]>,
    /// One after the other as they ended, not by their sets: so each is written next to the last, and neither the cache
    /// nor what translates addresses is asked for a line that lies anywhere.
    ended: Vec<Packed>,
    /// The next to be written.
    next: usize,
}

/// A place among those that are over.
#[derive(Copy, Clone, Debug)]
pub(super) struct Past {
    set: usize,
    way: usize,
}

impl Over {
    /// Room for so many at least.
    pub(super) fn new(handshakes: usize) -> Self {
        let sets = handshakes.min(1 << 28).div_ceil(WAYS).max(1).next_power_of_two();
        Self {
            sets: vec![Tags::default(); sets].into_boxed_slice(),
            // What is not used of either takes no memory: it is not touched.
            places: vec![[0; WAYS]; sets].into_boxed_slice(),
            ended: Vec::with_capacity(sets * WAYS),
            next: 0,
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
        let known = |way: usize| self.ended.get(self.places[set][way] as usize).map(Ended::unpacked);
        tags.ways(tag(flow))
            .filter_map(|way| Some((Past { set, way }, known(way)?)))
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
        self.places[set][way] = self.next as u32;
        match self.ended.get_mut(self.next) {
            Some(oldest) => *oldest = ended.packed(),
            None => self.ended.push(ended.packed()),
        }
        self.next = (self.next + 1) % (self.sets.len() * WAYS);
    }

    pub(super) fn forget(&mut self, place: Past) {
        self.sets[place.set].set(place.way, FREE);
    }
}
