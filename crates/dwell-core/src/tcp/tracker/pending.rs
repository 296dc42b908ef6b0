//! Which flows may have a handshake in progress, told by one load.

use super::super::FlowHash;
use super::tags::{FREE, Tags, tag};

/// 2^15 words: a quarter of a mebibyte, which stays in a core's second-level cache.
const WORDS: usize = 1 << 15;

/// Which flows may have a handshake in progress: a tag for each. It may say yes of a flow that has none, of one in a
/// hundred where there are 60,000, never no of one that has. The byte to spare counts those that had no place in their
/// word.
#[derive(Debug)]
pub(super) struct Pending(Box<[Tags]>);

impl Pending {
    pub(super) fn new() -> Self {
        Self(vec![Tags::default(); WORDS].into_boxed_slice())
    }

    const fn place(flow: FlowHash) -> usize {
        flow.0 as usize % WORDS
    }

    #[inline]
    pub(super) fn has(&self, flow: FlowHash) -> bool {
        let word = self.0[Self::place(flow)];
        word.has(tag(flow)) || word.spare() != 0
    }

    pub(super) fn add(&mut self, flow: FlowHash) {
        let word = &mut self.0[Self::place(flow)];
        match word.first(FREE) {
            Some(way) => word.set(way, tag(flow)),
            None => word.set_spare(word.spare().saturating_add(1)),
        }
    }

    /// A count that has been full stays so: how many it has missed is not known.
    pub(super) fn remove(&mut self, flow: FlowHash) {
        let word = &mut self.0[Self::place(flow)];
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
            let flow = |number: u32| FlowHash((number % 5) << 24 | number % 2);
            let mut pending = Pending::new();
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
