//! Where a thread runs and how it is scheduled: what a measuring thread needs to be the same every time.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;

/// The core does not exist, or this process may not use it.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot pin a thread to core {core}: {source}; give a core that is on line and allowed to this process"
)]
pub struct PinError {
    /// The asked core.
    pub core: usize,
    #[source]
    source: nix::Error,
}

/// Pins the calling thread to one core.
///
/// # Errors
/// When there is no such core, or it is not allowed to this process.
pub fn pin_current_thread(core: usize) -> Result<(), PinError> {
    let mut set = CpuSet::new();
    set.set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|source| PinError { core, source })
}

/// Gives the calling thread a real-time priority (SCHED_FIFO), 1 being the lowest. Tells whether it was permitted:
/// it takes CAP_SYS_NICE, or a limit on real-time priority above zero.
#[must_use]
pub fn real_time_priority(priority: i32) -> bool {
    let parameter = nix::libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads `parameter`, which lives until it returns, and writes nothing.
    #[allow(unsafe_code)]
    let result = unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameter) };
    result == 0
}

/// Lets the calling thread run only when nobody else wants its core (SCHED_IDLE). Nobody needs a permission for it.
pub fn yield_to_all() {
    let parameter = nix::libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads `parameter`, which lives until it returns, and writes nothing.
    #[allow(unsafe_code)]
    let _ = unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_IDLE, &raw const parameter) };
}

/// Keeps what the process has in memory from being paged out. Tells whether it was permitted: it takes CAP_IPC_LOCK,
/// or a limit on locked memory that is large enough.
///
/// Only what the process has mapped now, because under a limit every later allocation over it would fail; and only
/// pages that it touches, because to fill in all others would take longer than to be rid of a few page faults.
#[must_use]
pub fn lock_memory() -> bool {
    // nix has no name for the second.
    let on_fault = MlockAllFlags::from_bits_retain(nix::libc::MCL_ONFAULT);
    mlockall(MlockAllFlags::MCL_CURRENT | on_fault).is_ok()
}

/// Lets the calling thread's timers fire as late as one nanosecond instead of the usual 50 us.
pub fn sharpen_timers() {
    // The kernel refuses this to nobody.
    let _ = set_timerslack(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_to_a_core_that_exists_and_says_which_does_not() {
        std::thread::spawn(|| pin_current_thread(0).unwrap()).join().unwrap();
        let error = pin_current_thread(1_000_000).unwrap_err();
        assert!(error.to_string().contains("core 1000000"), "{error}");
    }
}
