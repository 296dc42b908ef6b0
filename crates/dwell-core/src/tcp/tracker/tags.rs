//! Seven tags of a byte each in one word, all compared at once.

use super::super::FlowHash;

/// Tags in a word.
pub(super) const WAYS: usize = 7;

/// No tag.
pub(super) const FREE: u8 = 0;

const LOWEST: u64 = 0x0001_0101_0101_0101;

/// Seven tags, and a byte to spare.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Tags(u64);

/// The tag of a flow: bits of its hash that choose no place in any table here.
#[inline]
pub(super) const fn tag(flow: FlowHash) -> u8 {
    let tag = (flow.0 >> 24) as u8;
    if tag == FREE { 1 } else { tag }
}

impl Tags {
    /// The upper bits of those bytes that are equal to `tag`; the lowest is so for certain, others may not.
    #[inline]
    const fn equal(self, tag: u8) -> u64 {
        let differing = self.0 ^ (LOWEST * tag as u64);
        differing.wrapping_sub(LOWEST) & !differing & LOWEST << 7
    }

    #[inline]
    pub(super) const fn has(self, tag: u8) -> bool {
        self.equal(tag) != 0
    }

    /// The first place of a tag.
    pub(super) fn first(self, tag: u8) -> Option<usize> {
        self.ways(tag).next()
    }

    /// The places of a tag, and perhaps some more.
    pub(super) fn ways(self, tag: u8) -> impl Iterator<Item = usize> {
        let mut left = self.equal(tag);
        std::iter::from_fn(move || {
            let way = (left != 0).then(|| left.trailing_zeros() as usize / 8);
            left &= left.wrapping_sub(1);
            way
        })
    }

    pub(super) const fn set(&mut self, way: usize, tag: u8) {
        self.0 = self.0 & !(0xff << (8 * way)) | (tag as u64) << (8 * way);
    }

    pub(super) const fn at(self, way: usize) -> u8 {
        (self.0 >> (8 * way)) as u8
    }

    #[inline]
    pub(super) const fn spare(self) -> u8 {
        self.at(WAYS)
    }

    pub(super) const fn set_spare(&mut self, spare: u8) {
        self.set(WAYS, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_is_found_where_it_is(tags: [u8; WAYS], spare: u8, sought: u8) {
            let mut word = Tags::default();
            word.set_spare(spare);
            tags.into_iter().enumerate().for_each(|(way, tag)| word.set(way, tag));
            prop_assert_eq!(word.spare(), spare);
            prop_assert!((0..WAYS).all(|way| word.at(way) == tags[way]));
            for sought in tags.into_iter().chain([sought]) {
                prop_assert_eq!(word.has(sought), tags.contains(&sought));
                prop_assert_eq!(word.first(sought), tags.iter().position(|tag| *tag == sought));
                let told: Vec<usize> = word.ways(sought).collect();
                prop_assert!((0..WAYS).filter(|way| tags[*way] == sought).all(|way| told.contains(&way)));
            }
        }
    }
}
