//! Keeps a session to its rate.

use std::thread;
use std::time::{Duration, Instant};

/// How far a session may be ahead of its rate.
const AHEAD: Duration = Duration::from_secs(1);

/// What a session may still send (the generic cell rate algorithm).
pub(super) struct Rate {
    each: Duration,
    /// When all that came is paid off.
    paid: Instant,
}

impl Rate {
    pub(super) fn new(per_second: u64) -> Self {
        Self {
            each: Duration::from_secs(1) / u32::try_from(per_second.max(1)).unwrap_or(u32::MAX),
            paid: Instant::now(),
        }
    }

    /// Counts what came, and waits until that may go on.
    pub(super) fn wait(&mut self, records: usize) {
        thread::sleep(self.enter(Instant::now(), records));
    }

    fn enter(&mut self, now: Instant, records: usize) -> Duration {
        self.paid = self.paid.max(now) + self.each * u32::try_from(records).unwrap_or(u32::MAX);
        self.paid.saturating_duration_since(now + AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_rate_in_the_long_run() {
        let start = Instant::now();
        let mut rate = Rate::new(1_000);
        let mut now = start;
        for _ in 0..100 {
            now += rate.enter(now, 100);
        }
        // Ten seconds' worth, of which one may be ahead.
        let took = now - start;
        assert!((Duration::from_millis(8_900)..=Duration::from_millis(9_100)).contains(&took), "{took:?}");
    }
}
