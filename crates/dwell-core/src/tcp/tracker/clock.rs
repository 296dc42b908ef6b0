//! Whether the clock that stamps packets was set.

use crate::unit::Nanos;

/// What is written down in another order than it came in is no further apart than this, and a clock that is set back by
/// less is not told from that. Who keeps clocks slews them where they are off by less than 128 ms (RFC 5905's step threshold).
const STEP: Nanos = Nanos::from_millis(100);

/// What packets show of it.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The latest time since it was set.
    newest: Nanos,
    /// How often that was, and when last, as it told the time then.
    steps: u16,
    last: Option<Nanos>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { newest: Nanos(i64::MIN), steps: 0, last: None }
    }
}

impl Clock {
    /// A packet passes. Tells whether it was set back before that.
    #[inline(always)]
    pub(super) fn see(&mut self, at: Nanos) -> bool {
        if at > self.newest {
            self.newest = at;
            return false;
        }
        let is_set_back = self.newest - at > STEP;
        if is_set_back {
            self.newest = at;
            self.step();
        }
        is_set_back
    }

    /// It was set, whichever way, between the packets that passed and the next one.
    #[cold]
    pub(super) fn step(&mut self) {
        self.steps = self.steps.wrapping_add(1);
        self.last = Some(self.newest);
    }

    /// How often it was set, so that what began before is told from what began after.
    pub(super) const fn steps(&self) -> u16 {
        self.steps
    }

    /// Whether it was within so long.
    pub(super) fn was_set(&self, within: Nanos) -> bool {
        self.last.is_some_and(|last| self.newest - last <= within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_set_back_by_more_than_what_is_written_in_another_order() {
        let mut clock = Clock::default();
        let at = |millis| Nanos::from_millis(millis);
        for millis in [5_000, 5_200, 5_101, 5_300] {
            clock.see(at(millis));
        }
        assert_eq!((clock.steps(), clock.was_set(at(9_000))), (0, false));
        clock.see(at(5_100));
        clock.see(at(5_150));
        assert_eq!((clock.steps(), clock.was_set(at(9_000))), (1, true));
        clock.see(at(20_000));
        assert_eq!((clock.steps(), clock.was_set(at(9_000))), (1, false));
    }
}
