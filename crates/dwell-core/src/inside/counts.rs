//! How often each of many things occurred, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;

/// Things that are told apart; later ones are counted together.
const LIMIT: usize = 1_000;

/// How often each thing occurred.
#[derive(Clone, Debug)]
pub struct Counts<T> {
    each: HashMap<T, u64>,
    others: u64,
}

impl<T> Default for Counts<T> {
    fn default() -> Self {
        Self { each: HashMap::new(), others: 0 }
    }
}

impl<T: Eq + Hash + Clone> Counts<T> {
    /// Counts one.
    pub fn add(&mut self, thing: &T) {
        if let Some(count) = self.each.get_mut(thing) {
            *count += 1;
        } else if self.each.len() < LIMIT {
            self.each.insert(thing.clone(), 1);
        } else {
            self.others += 1;
        }
    }

    /// Each with its count, the most frequent first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(T, u64)>
    where
        T: Ord,
    {
        let mut all: Vec<_> = self.each.iter().map(|(thing, count)| (thing.clone(), *count)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// Those that came when there was no more room to tell them apart.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }

    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.each.values().sum::<u64>() + self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_forgotten_when_there_is_no_more_room() {
        let mut counts = Counts::default();
        (0..3_000).for_each(|thing| counts.add(&(thing % 1_500)));
        assert_eq!(counts.ranked().len(), LIMIT);
        assert_eq!((counts.sum(), counts.others()), (3_000, 1_000));
        counts.add(&7);
        assert_eq!(counts.ranked()[0], (7, 3));
    }
}
