//! When the forwarder sleeps, when it is busy, and how early it must begin to send for a frame to be there in time.

use dwell_core::Nanos;
use dwell_net::clock;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::time::Duration;

/// How much of a thread's time may be spent busy-waiting. A real-time thread that is busy for 95 % of a second is
/// stopped by the kernel for the rest of it, and long before that it starves the sender on the same core.
#[derive(Debug)]
pub(crate) struct SpinBudget {
    left: Nanos,
    refilled: Nanos,
}

impl SpinBudget {
    /// Room for a burst of trains at one go.
    const MOST: Nanos = Nanos::from_millis(20);

    pub(crate) fn new(now: Nanos) -> Self {
        Self { left: Self::MOST, refilled: now }
    }

    /// Takes `span` out, if it is there. A quarter of the passing time flows in.
    pub(crate) fn take(&mut self, now: Nanos, span: Nanos) -> bool {
        self.left = (self.left + (now - self.refilled).max(Nanos::ZERO) / 4).min(Self::MOST);
        self.refilled = now;
        let enough = self.left >= span;
        if enough {
            self.left -= span;
        }
        enough
    }
}

/// Sleeps until one of `watched` is ready or `span` has passed. Tells whether one is ready.
pub(crate) fn sleep_on(watched: &mut [PollFd<'_>], span: Nanos) -> io::Result<bool> {
    let span = Duration::from_nanos(span.0.max(0).unsigned_abs());
    match ppoll(watched, Some(TimeSpec::from_duration(span)), None) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// By how much nine in ten of this thread's sleeps overrun at most.
pub(crate) fn oversleep() -> io::Result<Nanos> {
    let asked = Nanos::from_micros(100);
    let mut over = Vec::with_capacity(200);
    for _ in 0..200 {
        let start = clock::monotonic();
        sleep_on(&mut [], asked)?;
        over.push(clock::monotonic() - start - asked);
    }
    over.sort_unstable();
    Ok(over[over.len() * 9 / 10])
}

/// How long before a frame is due its sending must begin, by how long the thread had not sent: what was not used for
/// a while is slower.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lead {
    /// Idle time and lead, rising in idle time.
    steps: Vec<(Nanos, Nanos)>,
    /// What each further frame of a batch adds, where the first is stamped after the last was sent.
    further: Nanos,
}

impl Lead {
    /// From measured pairs of idle time and cost, and the cost of each further frame.
    pub(crate) fn new(mut steps: Vec<(Nanos, Nanos)>, further: Nanos) -> Self {
        steps.sort_unstable();
        Self { steps, further }
    }

    /// The lead of `frames` at once after `idle`.
    pub(crate) fn of(&self, frames: usize, idle: Nanos) -> Nanos {
        self.after(idle) + self.further * i64::try_from(frames.saturating_sub(1)).unwrap_or(0)
    }

    /// The lead after `idle`: linear between the measured ones.
    pub(crate) fn after(&self, idle: Nanos) -> Nanos {
        let upper = self.steps.partition_point(|(step, _)| *step <= idle);
        match (upper.checked_sub(1).map(|lower| self.steps[lower]), self.steps.get(upper)) {
            (None, None) => Nanos::ZERO,
            (Some((_, lead)), None) => lead,
            (None, Some((_, lead))) => *lead,
            (Some((from, low)), Some((to, high))) => {
                let share = (idle - from).as_f64() / (*to - from).as_f64();
                low + Nanos::from_f64(share * (*high - low).as_f64())
            }
        }
    }

    /// The longest.
    pub(crate) fn longest(&self) -> Nanos {
        self.steps.iter().map(|(_, lead)| *lead).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_is_linear_between_what_was_measured() {
        let lead = Lead::new(vec![(Nanos(1000), Nanos(50)), (Nanos(100), Nanos(20))], Nanos(3));
        assert_eq!(lead.after(Nanos(0)), Nanos(20));
        assert_eq!(lead.after(Nanos(550)), Nanos(35));
        assert_eq!(lead.after(Nanos(9000)), Nanos(50));
        assert_eq!(lead.of(5, Nanos(550)), Nanos(47));
        assert_eq!(Lead::default().after(Nanos(5)), Nanos::ZERO);
    }

    #[test]
    fn busy_waiting_is_limited_to_a_quarter_of_the_time() {
        let mut budget = SpinBudget::new(Nanos::ZERO);
        let mut spent = Nanos::ZERO;
        for millisecond in 0..1000 {
            if budget.take(Nanos::from_millis(millisecond), Nanos::from_millis(1)) {
                spent += Nanos::from_millis(1);
            }
        }
        assert!((Nanos::from_millis(250)..=Nanos::from_millis(270)).contains(&spent), "{spent}");
    }
}
