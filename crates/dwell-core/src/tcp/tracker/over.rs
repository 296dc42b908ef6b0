//! Handshakes that are over, as many as there is room for.

use super::super::{Endpoint, FlowHash, FlowSeed, Handshake};
use super::ended::{Ended, Packed};
use super::progress::Progress;
use super::tags::{FREE, Tags, WAYS, tag};
use crate::unit::Nanos;

/// Handshakes that are over: kept for a while, so that what comes late is not taken for another. Where there is no room,
/// one more takes the place of the one that has been there for longest, of all or of seven whose hashes fall together.
#[derive(Clone, Debug)]
pub(super) struct Over {
    /// The tags of each set, and in the byte to spare which of its ways is the next to be taken.
    sets: Box<[Tags]>,
    /// Where those of each set are. What has been overwritten is told by whose it is.
    places: Box<[[u32; WAYS]]>,
    /// One after the other as they ended, not by their sets: so each is written next to the last, and neither the cache
    /// nor what translates addresses is asked for a line that lies anywhere.
    ended: Vec<Packed>,
    /// The next to be written.
    next: usize,
    /// Of a second hash. Both together are 64 bits, and shared by two flows once in 10^19 times: the ends themselves would take more
    /// than all else.
    seed: FlowSeed,
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
            seed: FlowSeed::random(),
        }
    }

    fn whose(&self, flow: FlowHash, one: &Endpoint, other: &Endpoint) -> u64 {
        u64::from(flow.0) << 32 | u64::from(self.seed.of(one, other).0)
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
        let whose = self.whose(flow, one, other);
        let kept = |way: usize| self.ended.get(self.places[set][way] as usize);
        tags.ways(tag(flow))
            .filter_map(|way| Some((Past { set, way }, kept(way)?)))
            .find(|(_, kept)| kept.whose() == whose)
            .map(|(past, kept)| (past, Ended::unpacked(kept)))
    }

    /// One more, which must not be there yet.
    pub(super) fn keep(&mut self, flow: FlowHash, over: &Progress, told: &Handshake, touched: Nanos) {
        let packed = Ended::of(over, told, touched).packed(self.whose(flow, &over.client, &over.server));
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
            Some(oldest) => *oldest = packed,
            None => self.ended.push(packed),
        }
        self.next = (self.next + 1) % (self.sets.len() * WAYS);
    }

    pub(super) fn forget(&mut self, place: Past) {
        self.sets[place.set].set(place.way, FREE);
    }
}
