//! Where in a list things are that are found by a hash.

/// No place.
const NONE: u32 = u32::MAX;

const FEWEST: usize = 64;

/// Where in a list the things of each hash are: of a few bytes each, so that the things themselves lie close together.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// A power of two, of which half at most is used.
    slots: Vec<u32>,
    used: usize,
}

impl Places {
    /// The place of the thing with this hash that `is_it`; if there is none, the slot for it.
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(usize) -> bool) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mut slot = hash as usize & (self.slots.len() - 1);
        while self.slots[slot] != NONE {
            let place = self.slots[slot] as usize;
            if is_it(place) {
                return Ok(place);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        Err(slot)
    }

    /// Notes a place in the slot that was found free for it. `hash` tells that of each place.
    pub(super) fn put(&mut self, slot: usize, place: usize, hash: impl Fn(usize) -> u32) {
        self.used += 1;
        if self.used * 2 <= self.slots.len() {
            self.slots[slot] = place as u32;
            return;
        }
        self.slots = vec![NONE; (self.slots.len() * 2).max(FEWEST)];
        for place in 0..self.used {
            if let Err(slot) = self.find(hash(place), |_| false) {
                self.slots[slot] = place as u32;
            }
        }
    }

    /// The list is empty again.
    pub(super) fn clear(&mut self) {
        self.slots.fill(NONE);
        self.used = 0;
    }
}
