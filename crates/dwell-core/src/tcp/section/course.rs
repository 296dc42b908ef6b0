//! A section in the course of time.

use super::Distribution;
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// So many spans of time are told apart at most: past that, each two become one.
const SLOTS: usize = 240;

/// Distributions by spans of time: a minute each, or, of a long time, a power of two of minutes.
#[derive(Clone, Debug)]
pub struct Course {
    width: Nanos,
    slots: BTreeMap<i64, Distribution>,
}

impl Default for Course {
    fn default() -> Self {
        Self { width: Nanos::from_secs(60), slots: BTreeMap::new() }
    }
}

impl Course {
    /// Adds a time that was measured at an instant.
    pub fn add(&mut self, at: Nanos, time: Nanos) {
        self.slots.entry(at.0.div_euclid(self.width.0)).or_default().add(time);
        while self.slots.len() > SLOTS {
            self.width = Nanos(self.width.0.saturating_mul(2));
            for (slot, times) in std::mem::take(&mut self.slots) {
                self.slots.entry(slot.div_euclid(2)).or_default().merge(&times);
            }
        }
    }

    /// How long each span is.
    #[must_use]
    pub const fn width(&self) -> Nanos {
        self.width
    }

    /// The spans' beginnings and what was measured in them, the earliest first.
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = (Nanos, &Distribution)> {
        self.slots.iter().map(|(slot, times)| (Nanos(slot.saturating_mul(self.width.0)), times))
    }

    /// The median of the last span, and what is normal: the median of the medians of all spans before it. `None`
    /// before there are three of those.
    #[must_use]
    pub fn now_and_normal(&self) -> Option<(Nanos, Nanos)> {
        let mut medians: Vec<Nanos> = self.slots.values().filter_map(|times| times.quantile(0.5)).collect();
        let now = medians.pop()?;
        if medians.len() < 3 {
            return None;
        }
        let middle = medians.len() / 2;
        let (_, normal, _) = medians.select_nth_unstable(middle);
        Some((now, *normal))
    }
}

#[cfg(test)]
mod tests {
    use super::{Course, Nanos, SLOTS};

    #[test]
    fn a_long_time_is_told_more_coarsely_and_loses_nothing() {
        let mut course = Course::default();
        for minute in 0..1_000 {
            course.add(Nanos::from_secs(60 * minute), Nanos(minute));
        }
        assert!(course.slots().count() <= SLOTS);
        assert_eq!(course.width(), Nanos::from_secs(480));
        assert_eq!(course.slots().map(|(_, times)| times.len()).sum::<u64>(), 1_000);
    }

    #[test]
    fn now_is_held_against_the_time_before() {
        let mut course = Course::default();
        for minute in 0..3 {
            course.add(Nanos::from_secs(60 * minute), Nanos(10 + minute));
        }
        assert_eq!(course.now_and_normal(), None);
        course.add(Nanos::from_secs(180), Nanos(500));
        assert_eq!(course.now_and_normal(), Some((Nanos(500), Nanos(11))));
    }
}
