//! This host's clocks. Stamps are on CLOCK_REALTIME, because the kernel's are; waiting is on CLOCK_MONOTONIC,
//! because nobody steps that.

use dwell_core::Nanos;
use nix::time::{ClockId, clock_getres, clock_gettime};

fn read(clock: ClockId) -> Nanos {
    // None of these clocks can fail on Linux; zero would be seen at once as a stamp of 1970.
    clock_gettime(clock)
        .map_or(Nanos::ZERO, |time| Nanos(time.tv_sec().saturating_mul(1_000_000_000) + time.tv_nsec()))
}

/// The clock of all stamps.
#[must_use]
pub fn realtime() -> Nanos {
    read(ClockId::CLOCK_REALTIME)
}

/// The clock of all waiting.
#[must_use]
pub fn monotonic() -> Nanos {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of all threads of this process so far.
#[must_use]
pub fn own_cpu_time() -> Nanos {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Resolution of the clock of all stamps.
#[must_use]
pub fn resolution() -> Nanos {
    clock_getres(ClockId::CLOCK_REALTIME)
        .map_or(Nanos(1), |time| Nanos(time.tv_sec().saturating_mul(1_000_000_000) + time.tv_nsec()))
}

/// CLOCK_REALTIME minus CLOCK_MONOTONIC. NTP bends both alike, so the difference changes only when somebody steps
/// the clock. The reading with the narrowest bracket of several, so that a preemption does not look like a step.
#[must_use]
pub fn realtime_minus_monotonic() -> Nanos {
    let reading = || {
        let before = monotonic();
        let stamp = realtime();
        let after = monotonic();
        (after - before, stamp - (before + (after - before) / 2))
    };
    (0..5).map(|_| reading()).min().map_or(Nanos::ZERO, |(_, difference)| difference)
}

/// Whether somebody (NTP, PTP) keeps CLOCK_REALTIME, as the kernel tells; `None` where it does not tell.
#[must_use]
pub fn synchronised() -> Option<bool> {
    // SAFETY: timex is plain data of the kernel's interface; with `modes` zero the call only fills it in.
    #[allow(unsafe_code)]
    let (state, timex) = unsafe {
        let mut timex: nix::libc::timex = std::mem::zeroed();
        (nix::libc::adjtimex(&raw mut timex), timex)
    };
    (state >= 0).then_some(timex.status & nix::libc::STA_UNSYNC == 0)
}

/// A stamp that claims to be on CLOCK_REALTIME, taken when the program's own stamp was `application` or nearly then.
/// One that is far from it is on another clock, and no stamp of ours.
#[must_use]
pub fn plausible(stamp: Nanos, application: Nanos) -> Option<Nanos> {
    ((stamp - application).abs() < Nanos::from_secs(10)).then_some(stamp)
}

/// Busy-waits until CLOCK_MONOTONIC shows `instant`.
pub fn spin_until(instant: Nanos) {
    while monotonic() < instant {
        std::hint::spin_loop();
    }
}

/// The last stretch of every wait is a busy one: a timer wakes a thread tens of microseconds late, and a core that
/// just woke is slow.
const BUSY_STRETCH: Nanos = Nanos(150_000);

/// Sleeps until shortly before `instant` of CLOCK_MONOTONIC, and is busy for the rest.
pub fn wait_until(instant: Nanos) {
    let sleep = instant - monotonic() - BUSY_STRETCH;
    if sleep > Nanos::ZERO {
        std::thread::sleep(std::time::Duration::from_nanos(sleep.0.unsigned_abs()));
    }
    spin_until(instant);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_another_clock_is_none_of_ours() {
        let now = realtime();
        assert_eq!(plausible(now - Nanos::from_millis(3), now), Some(now - Nanos::from_millis(3)));
        // CLOCK_TAI is 37 s ahead, CLOCK_MONOTONIC began when the machine did.
        assert_eq!(plausible(now + Nanos::from_secs(37), now), None);
        assert_eq!(plausible(monotonic(), now), None);
    }

    #[test]
    fn waits_never_end_early() {
        let until = monotonic() + Nanos::from_micros(700);
        wait_until(until);
        assert!(monotonic() >= until);
    }

    #[test]
    fn the_difference_of_the_clocks_is_steady() {
        let first = realtime_minus_monotonic();
        let second = realtime_minus_monotonic();
        assert!((first - second).abs() < Nanos::from_millis(1), "{first} {second}");
    }
}
