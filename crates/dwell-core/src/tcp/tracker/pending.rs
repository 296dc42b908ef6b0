//! Which flows may have a handshake in progress, told by one load.

use super::super::{Glance, Way};
use super::tags::{FREE, Tags};

/// Which flows may have a handshake in progress, and which way of them matters: a tag for each, one of three. It may say yes
/// of a flow that has none, of one in sixty where there are two to a word, never no of one that has. The byte to spare counts
/// those that had no place in their word.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    words: Box<[Tags]>,
    /// The upper bits of a glance tell its word.
    shift: u32,
}

/// The tag of a flow both ways of which matter, or one alone.
#[inline(always)]
const fn tag_of(glance: Glance, only: Option<Way>) -> u8 {
    let turned = match only {
        None => 0,
        Some(Way::Up) => 0x5a,
        Some(Way::Down) => 0xa5,
    };
    let tag = (glance.0 >> TAG) as u8 ^ turned;
    if tag == FREE { 1 } else { tag }
}

/// Where in a glance the tag is: below what tells the word.
const TAG: u32 = 32;

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
    pub(super) fn has(&self, glance: Glance, way: Way) -> bool {
        let word = self.words[self.place(glance)];
        word.has(tag_of(glance, None)) || word.has(tag_of(glance, Some(way))) || word.spare() != 0
    }

    /// Whether there may be one at all.
    #[inline]
    pub(super) fn has_any(&self, glance: Glance) -> bool {
        self.has(glance, Way::Up) || self.has(glance, Way::Down)
    }

    /// One more: both ways of it matter, or one alone.
    pub(super) fn add(&mut self, glance: Glance, only: Option<Way>) {
        let place = self.place(glance);
        let word = &mut self.words[place];
        match word.first(FREE) {
            Some(way) => word.set(way, tag_of(glance, only)),
            None => word.set_spare(word.spare().saturating_add(1)),
        }
    }

    /// Of one both ways of which mattered one alone does from now on. One without a place is among those to spare yet.
    pub(super) fn narrow(&mut self, glance: Glance, only: Way) {
        let place = self.place(glance);
        let word = &mut self.words[place];
        if let Some(way) = word.first(tag_of(glance, None)) {
            word.set(way, tag_of(glance, Some(only)));
        }
    }

    /// A count that has been full stays so: how many it has missed is not known.
    pub(super) fn remove(&mut self, glance: Glance, only: Option<Way>) {
        let place = self.place(glance);
        let word = &mut self.words[place];
        match word.first(tag_of(glance, only)) {
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
        /// Many flows of few hashes come, of some one way matters in the end, and go: none is denied that is there, and in the
        /// end none is left.
        #[test]
        fn no_flow_is_denied_that_is_there(steps in prop::collection::vec((0..12_u32, 0..4_u32), 0..400)) {
            let flow = |number: u32| Glance(u64::from(number % 2) << 62 | u64::from(number % 5) << TAG);
            let mut pending = Pending::new(4);
            let mut there: Vec<(u32, Option<Way>)> = Vec::new();
            for (number, step) in steps {
                let place = there.iter().position(|(one, _)| *one == number);
                match (step, place) {
                    (0, Some(place)) => {
                        let (_, only) = there.swap_remove(place);
                        pending.remove(flow(number), only);
                    }
                    (1, Some(place)) if there[place].1.is_none() => {
                        let way = Way::of(number % 3, 1);
                        pending.narrow(flow(number), way);
                        there[place].1 = Some(way);
                    }
                    (0 | 1, _) => {}
                    _ => {
                        there.push((number, None));
                        pending.add(flow(number), None);
                    }
                }
                for (number, only) in &there {
                    let ways = only.map_or(vec![Way::Up, Way::Down], |way| vec![way]);
                    prop_assert!(ways.into_iter().all(|way| pending.has(flow(*number), way)));
                    prop_assert!(pending.has_any(flow(*number)));
                }
            }
            there.into_iter().for_each(|(number, only)| pending.remove(flow(number), only));
            prop_assert!((0..12).all(|number| !pending.has_any(flow(number))));
        }
    }

    #[test]
    fn the_way_that_does_not_matter_is_told() {
        let (flow, mut pending) = (Glance(77 << TAG), Pending::new(4));
        pending.add(flow, None);
        assert!(pending.has(flow, Way::Up) && pending.has(flow, Way::Down));
        pending.narrow(flow, Way::Down);
        assert!(!pending.has(flow, Way::Up) && pending.has(flow, Way::Down));
    }
}
