//! How busy this host and a thread of it are.

use dwell_core::Nanos;
use dwell_core::throughput::{HostLoad, Threads};
use nix::unistd::{Pid, gettid};
use std::fs;

/// Looks at all cores, and tells what happened since the look before.
#[derive(Default)]
pub(super) struct Cores(Vec<(u64, u64)>);

impl Cores {
    pub(super) fn since_before(&mut self) -> HostLoad {
        let now = fs::read_to_string("/proc/stat").map(|text| ticks(&text)).unwrap_or_default();
        let before = std::mem::replace(&mut self.0, now);
        let share = |((busy, all), (busy_before, all_before)): (&(u64, u64), &(u64, u64))| {
            let all = all.saturating_sub(*all_before);
            // A core that was idle all the time may not have counted a tick.
            (all > 0).then(|| busy.saturating_sub(*busy_before) as f64 / all as f64)
        };
        let shares = self.0.iter().zip(&before).filter_map(share);
        HostLoad { busiest_core: shares.reduce(f64::max) }
    }
}

/// Busy and all ticks of each core.
fn ticks(stat: &str) -> Vec<(u64, u64)> {
    let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    let core = |line: &str| {
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map_while(|n| n.parse().ok()).collect();
        let all = ticks.iter().sum::<u64>();
        // The fourth and fifth are idle: with nothing to do, and waiting for a disk.
        let idle = ticks.iter().skip(3).take(2).sum::<u64>();
        (all - idle, all)
    };
    cores.map(core).collect()
}

/// A thread of this process, to be asked about by others.
#[derive(Copy, Clone)]
pub(super) struct Thread(Pid);

impl Thread {
    /// The calling one.
    pub(super) fn current() -> Self {
        Self(gettid())
    }

    /// What the scheduler did with it so far; `None`: it ended.
    pub(super) fn told(self) -> Option<Threads> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.0)).ok()?;
        let mut figures = text.split_whitespace().map_while(|n| n.parse().ok());
        Some(Threads { running: Nanos(figures.next()?), waiting: Nanos(figures.next()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn ticks_of_cores() {
        let stat = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        assert_eq!(ticks(stat), [(27, 72), (6, 8)]);
    }

    #[test]
    fn a_thread_that_spins_is_busy() {
        let thread = Thread::current();
        let before = thread.told().unwrap();
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {}
        let busy = thread.told().unwrap().busy_since(before, Nanos::from_millis(50));
        assert!(busy > 0.8, "{busy}");
    }
}
