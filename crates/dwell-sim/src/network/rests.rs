//! What sources of cross traffic send while nobody draws their packets.

use super::Picos;
use super::cross::Source;
use super::meter::{Class, Counted, Meter};
use crate::random::Stream;

/// A link's queue forgets, so that cross traffic that nobody feels is not drawn packet by packet. Counters miss nothing
/// of it: how many packets came in a rest is drawn at once, from chances of its own.
#[derive(Clone, Debug)]
pub(super) struct Rests {
    chance: Stream,
    counted_until: Picos,
    drawn_until: Picos,
}

impl Rests {
    pub(super) fn new(chance: Stream) -> Self {
        Self { chance, counted_until: Picos::MIN, drawn_until: Picos::MIN }
    }

    /// What comes before this is counted already, also where it is drawn later.
    pub(super) fn counted_until(&self) -> Picos {
        self.counted_until
    }

    /// All that comes up to then was drawn, and counted one by one.
    pub(super) fn drawn(&mut self, until: Picos) {
        self.drawn_until = self.drawn_until.max(until);
    }

    /// The sources rest up to `until`. Some of that may have been drawn while nobody knew that they could: it is drawn again, and is not to be
    /// counted again.
    pub(super) fn rest(&mut self, sources: &[Source], until: Picos, meter: &mut Meter, counted: Counted) {
        self.pass(sources, until, meter, counted);
        self.counted_until = self.counted_until.max(self.drawn_until);
    }

    /// Counts what `sources` send from their next packets up to `until`.
    pub(super) fn pass(&mut self, sources: &[Source], until: Picos, meter: &mut Meter, counted: Counted) {
        for source in sources {
            let from = source.next.max(self.counted_until);
            let bytes = source.sends(from, until, &mut self.chance, |size| counted.of(size));
            meter.spread(from, until, Class::Cross, bytes);
        }
        self.counted_until = self.counted_until.max(until);
    }
}
