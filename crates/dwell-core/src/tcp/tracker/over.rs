//! Handshakes that are over, as many as there is room for.

use super::super::{Endpoint, FlowHash};
use super::ended::{Ended, Ends, Packed};
use super::tags::{FREE, Tags, WAYS, tag};
use std::hint::black_box;

/// Handshakes that are over: kept for a while, so that what comes late is not taken for another. They lie in the order in
/// which they ended, so that memory is written as it is read fastest. Where there is no room, one more takes the place of
/// the oldest; and of eight whose hashes fall together, the oldest is found no longer.
#[derive(Debug)]
pub(super) struct Over {
    /// The tags of each set, and in the byte to spare which of its ways is the next to be taken.
    sets: Box<[Tags]>,
    /// Where that is which each way of a set stands for: perhaps another meanwhile.
    places: Box<[[u32; WAYS]]>,
    /// What is not used takes no memory: it is not touched.
    ended: Box<[Packed]>,
    next: u32,
}

/// A way of a set.
#[derive(Copy, Clone, Debug)]
pub(super) struct Past {
    set: usize,
    way: usize,
}

impl Over {
    /// Room for so many at least.
    pub(super) fn new(handshakes: usize) -> Self {
        let sets = handshakes.min(1 << 30).div_ceil(WAYS).max(1).next_power_of_two();
        Self {
            sets: vec![Tags::default(); sets].into_boxed_slice(),
            places: vec![[0; WAYS]; sets].into_boxed_slice(),
            ended: vec![[0; 8]; sets * WAYS].into_boxed_slice(),
            next: 0,
        }
    }

    const fn set(&self, flow: FlowHash) -> usize {
        // There are a power of two.
        flow.0 as usize & (self.sets.len() - 1)
    }

    /// Brings near where a flow is to be found, or kept.
    #[inline]
    pub(super) fn foresee(&self, flow: FlowHash) {
        black_box(self.sets[self.set(flow)].spare());
    }

    /// The one between these two, whichever was the client.
    pub(super) fn find(&self, flow: FlowHash, one: &Endpoint, other: &Endpoint) -> Option<(Past, Ended)> {
        let set = self.set(flow);
        let tags = self.sets[set];
        if !tags.has(tag(flow)) {
            return None;
        }
        let ends = Ends::of(one, other);
        let ways = tags.ways(tag(flow)).map(|way| Past { set, way });
        ways.map(|past| (past, Ended::unpacked(&self.ended[self.places[set][past.way] as usize])))
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
        self.places[set][way] = self.next;
        self.ended[self.next as usize] = ended.packed();
        self.next = (self.next + 1) % self.ended.len() as u32;
    }

    pub(super) fn forget(&mut self, Past { set, way }: Past) {
        self.sets[set].set(way, FREE);
        // Another way may have stood for this place before it was taken by this one.
        self.ended[self.places[set][way] as usize] = [0; 8];
    }
}
