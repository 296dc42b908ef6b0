//! How much load a session may still put on the path: both ends keep the same account, so that a client waits and
//! is not refused.

use crate::protocol::{self, Announcement, Limits};
use dwell_core::Nanos;

/// A session's account (the generic cell rate algorithm): each fleet takes time for its bytes and packets at the
/// allowed rates, and the account may be ahead of the clock by a little.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Allowance {
    /// When all that was sent is paid off, on CLOCK_MONOTONIC.
    paid: Nanos,
    /// How far that may lie behind the end of a fleet.
    ahead: Nanos,
}

impl Allowance {
    /// Of an agent, who is generous: the client's clock and its own tell the start of a fleet differently.
    pub(crate) const LENIENT: Self = Self { paid: Nanos(i64::MIN), ahead: Nanos::from_millis(1_500) };

    /// Of a client.
    pub(crate) const STRICT: Self = Self { paid: Nanos(i64::MIN), ahead: Limits::AHEAD };

    /// How long to wait before the fleet may start.
    pub(crate) fn wait(&self, now: Nanos, limits: &Limits, fleet: &Announcement) -> Nanos {
        let paid = self.paid.max(now) + limits.cost(&fleet.fleet);
        (paid - self.ahead - protocol::duration(&fleet.fleet) - now).max(Nanos::ZERO)
    }

    /// Enters a fleet that starts now.
    pub(crate) fn enter(&mut self, now: Nanos, limits: &Limits, fleet: &Announcement) {
        self.paid = self.paid.max(now) + limits.cost(&fleet.fleet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::{Bytes, Departure, Train};

    #[test]
    fn holds_the_rate_in_the_long_run() {
        let limits = Limits { bytes_per_second: 1_000_000, ..Limits::default() };
        // Half a second of the allowed rate, in hardly any time.
        let train = Train::burst(Bytes(1000), 500);
        let fleet =
            Announcement { first: 0, grace: Nanos::ZERO, fleet: vec![Departure { pause: Nanos(1), train }] };
        let (mut client, mut agent) = (Allowance::STRICT, Allowance::LENIENT);
        let mut now = Nanos::from_secs(7);
        for _ in 0..20 {
            now += client.wait(now, &limits, &fleet);
            client.enter(now, &limits, &fleet);
            assert_eq!(agent.wait(now, &limits, &fleet), Nanos::ZERO);
            agent.enter(now, &limits, &fleet);
        }
        // Ten seconds' worth, of which one may be ahead.
        assert!((now - Nanos::from_secs(16)).abs() < Nanos::from_millis(1), "{now}");
        // Who does not wait is found out.
        for _ in 0..3 {
            agent.enter(now, &limits, &fleet);
        }
        assert!(agent.wait(now, &limits, &fleet) > Nanos::ZERO);
    }
}
