//! Packets that come out of links out of order, put in the order in which the next link sees them.

use super::Picos;
use super::parcel::{Exit, Parcel};
use dwell_core::Bytes;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A packet at the far end.
#[derive(Copy, Clone, Debug)]
struct Held {
    at: Picos,
    /// Which of the parallel links it came by, and its number there: at one instant they come in this order, however
    /// the engine is stepped.
    link: usize,
    number: u64,
    size: Bytes,
    parcel: Parcel,
}

impl Held {
    fn place(&self) -> (Picos, usize, u64) {
        (self.at, self.link, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// Holds packets until none can come before them any more.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    held: BinaryHeap<Reverse<Held>>,
    /// When the injected ones among them come out.
    probes: BinaryHeap<Reverse<Picos>>,
    numbered: u64,
}

impl InOrder {
    /// A packet that comes out of `link` at `at`. Those of one link are pushed in an order that the steps of the
    /// engine do not change.
    pub(super) fn push(&mut self, at: Picos, link: usize, size: Bytes, parcel: Parcel) {
        if matches!(parcel, Parcel::Probe(_)) {
            self.probes.push(Reverse(at));
        }
        self.numbered += 1;
        self.held.push(Reverse(Held { at, link, number: self.numbered, size, parcel }));
    }

    /// Lets those out that come before `horizon`, before which nothing more will be pushed.
    pub(super) fn release(&mut self, horizon: Picos, exits: &mut impl FnMut(Exit)) {
        while let Some(Reverse(first)) = self.held.peek()
            // At the end of time nothing comes later.
            && (first.at < horizon || horizon == Picos::MAX)
        {
            let Held { at, size, parcel, .. } = *first;
            self.held.pop();
            if matches!(parcel, Parcel::Probe(_)) {
                self.probes.pop();
            }
            exits(Exit::Passed { at, size, parcel });
        }
    }

    /// The time beyond which the horizon must be for the first injected packet to be let out.
    pub(super) fn next_probe(&self) -> Option<Picos> {
        self.probes.peek().map(|Reverse(at)| *at)
    }

    /// Packets that there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.held.capacity() + self.probes.capacity()
    }
}
