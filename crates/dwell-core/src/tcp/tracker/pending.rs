//! Which flows may have a handshake in progress, told by one load.

use super::super::Glance;
use super::tags::{FREE, Tags};

/// Which ways of which flows may matter to a handshake in progress: a tag for each. It may say yes of one that does not, of one in
/// sixty where there are four to a word, never no of one that does. The byte to spare counts those that had no place in their word.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    words: Box<[Tags]>,
    /// The upper bits of a glance tell its word.
    shift: u32,
}

/// Where in a glance the tag is: below what tells the word.
const TAG: u32 = 32;

#[inline(always)]
const fn tag_of(glance: Glance) -> u8 {
    let tag = (glance.0 >> TAG) as u8;
    if tag == FREE { 1 } else { tag }
}

impl Pending {
    /// Of so many words, a power of two.
    pub(super) fn new(words: usize) -> Self {
        Self {
            words: vec![Tags::default(); words].into_boxed_slice(),
            shift: u64::BITS - words.trailing_zeros(),
        }
    }

    #[inline(always)]
    const fn place(&self, glance: Glance) -> usize {
        (glance.0 >> self.shift) as usize
    }

    /// Whether what goes this way may matter.
    #[inline(always)]
    pub(super) fn has(&self, glance: Glance) -> bool {
        let word = self.words[self.place(glance)];
        word.has(tag_of(glance)) || word.spare() != 0
    }

    /// One more.
    pub(super) fn add(&mut self, glance: Glance) {
        let place = self.place(glance);
        let word = &mut self.words[place];
        match word.first(FREE) {
            Some(way) => word.set(way, tag_of(glance)),
            None => word.set_spare(word.spare().saturating_add(1)),
        }
    }

    /// One less. A count that has been full stays so: how many it has missed is not known.
    pub(super) fn remove(&mut self, glance: Glance) {
        let place = self.place(glance);
        let word = &mut self.words[place];
        match word.first(tag_of(glance)) {
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
        /// Many that look alike come and go: none is denied that is there, and in the end none is left.
        #[test]
        fn none_is_denied_that_is_there(steps in prop::collection::vec((0..12_u64, 0..4_u32), 0..400)) {
            let glance = |number: u64| Glance((number % 2) << 62 | (number % 5) << TAG);
            let mut pending = Pending::new(4);
            let mut there: Vec<u64> = Vec::new();
            for (number, step) in steps {
                match (step, there.iter().position(|one| *one == number)) {
                    (0 | 1, Some(place)) => pending.remove(glance(there.swap_remove(place))),
                    (0 | 1, None) => {}
                    _ => {
                        there.push(number);
                        pending.add(glance(number));
                    }
                }
                prop_assert!(there.iter().all(|number| pending.has(glance(*number))));
            }
            there.into_iter().for_each(|number| pending.remove(glance(number)));
            prop_assert!((0..12).all(|number| !pending.has(glance(number))));
        }
    }
}
