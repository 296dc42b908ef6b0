//! Whether CLOCK_REALTIME, which stamps a ring's packets, was set while they waited in it.

use crate::clock;
use dwell_core::Nanos;

/// The difference of the clocks is read to some 100 ns, and never changes but by a step; a smaller step is let pass.
const NOTICEABLE: Nanos = Nanos(10_000);

/// What was in the ring when a step was noticed has been handed over after so long: the kernel gives a block after
/// [`PATIENCE`](super::socket::PATIENCE) of 20 ms.
pub(super) const SETTLED: Nanos = Nanos::from_millis(100);

/// What the clocks showed so far.
pub(super) struct Steps {
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC.
    ahead: Nanos,
    /// When a step was noticed, on CLOCK_MONOTONIC, unless all that waited then has been taken.
    noticed: Option<Nanos>,
}

impl Steps {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self { ahead: clock::realtime_minus_monotonic(), noticed: None }
    }

    /// Whether some of what waits to be taken now may have been stamped before a step, and some after it.
    pub(super) fn look(&mut self) -> bool {
        self.see(clock::realtime_minus_monotonic(), clock::monotonic())
    }

    fn see(&mut self, ahead: Nanos, now: Nanos) -> bool {
        if (ahead - self.ahead).abs() > NOTICEABLE {
            (self.ahead, self.noticed) = (ahead, Some(now));
            return true;
        }
        let Some(noticed) = self.noticed else { return false };
        // What waits now still has it; what comes later has not.
        if now - noticed > SETTLED {
            self.noticed = None;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_noticed_until_all_that_waited_then_is_taken() {
        let at = Nanos::from_millis;
        let hour = at(3_600_000);
        for by in [at(50), Nanos(-20_000), at(-3_000)] {
            let mut steps = Steps { ahead: hour, noticed: None };
            let mut see = |ahead, millis| steps.see(ahead, at(millis));
            // Read a little differently each time.
            assert!(!see(hour + Nanos(300), 0) && !see(hour - Nanos(300), 20));
            assert!(see(hour + by, 40) && see(hour + by, 60) && see(hour + by, 139));
            assert!(see(hour + by, 141), "taken with what waited");
            assert!(!see(hour + by, 142) && !see(hour + by, 9_000));
            // And back.
            assert!(see(hour, 10_000) && see(hour, 10_200) && !see(hour, 10_201));
        }
    }

    #[test]
    fn a_clock_that_nobody_sets_is_not_said_to_be_set() {
        let mut steps = Steps::begin();
        assert!((0..1_000).all(|_| !steps.look()));
    }
}
