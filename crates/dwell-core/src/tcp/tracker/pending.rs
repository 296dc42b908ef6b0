//! Which flows may have a handshake in progress, told by one load.

use super::super::FlowHash;
use super::tags::{FREE, Tags, tag};

/// Which flows may have a handshake in progress: a tag for each. It may say yes of a flow that has none, of one in a
/// hundred where there are two to a word, never no of one that has. The byte to spare counts those that had no place in their
/// word.
#[derive(Debug)]
pub(super) struct Pending(Box<[Tags]>);

impl Pending {
    /// Of so many words, a power of two.
    pub(super) fn new(words: usize) -> Self {
        Self(vec![Tags::default(); words].into_boxed_slice())
    }

    const fn place(&self, flow: FlowHash) -> usize {
        flow.0 as usize & (self.0.len() - 1)
    }

    #[inline]
    pub(super) fn has(&self, flow: FlowHash) -> bool {
        let word = self.0[self.place(flow)];
        word.has(tag(flow)) || word.spare() != 0
    }

    pub(super) fn add(&mut self, flow: FlowHash) {
        let place = self.place(flow);
        let word = &mut self.0[place];
        match word.first(FREE) {
            Some(way) => word.set(way, tag(flow)),
            None => word.set_spare(word.spare().saturating_add(1)),
        }
    }

    /// A count that has been full stays so: how many it has missed is not known.
    pub(super) fn remove(&mut self, flow: FlowHash) {
        let place = self.place(flow);
        let word = &mut self.0[place];
        match word.first(tag(flow)) {
            Some(way) => word.set(way, FREE),
            None if word.spare() < u8::MAX => word.set_spare(word.spare().saturating_sub(1)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Many flows of few hashes come and go: none is denied that is there, and in the end none is left.
        #[test]
        fn no_flow_is_denied_that_is_there(steps in prop::collection::vec((0..12_u32, any::<bool>()), 0..400)) {
            let flow = |number: u32| FlowHash(((number % 5) << 24) + number % 2);
            let mut pending = Pending::new(4);
            let mut there = Vec::new();
            for (number, comes) in steps {
                if comes {
                    there.push(number);
                    pending.add(flow(number));
                } else if let Some(place) = there.iter().position(|one| *one == number) {
                    there.swap_remove(place);
                    pending.remove(flow(number));
                }
                prop_assert!(there.iter().all(|number| pending.has(flow(*number))));
            }
            there.into_iter().for_each(|number| pending.remove(flow(number)));
            prop_assert!((0..12).all(|number| !pending.has(flow(number))));
        }
    }
}
