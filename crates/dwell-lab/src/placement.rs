//! Which thread runs where.
//!
//! The sender and the forwarder share a core: the forwarder, of higher real-time priority, takes the core from the
//! sender's busy wait whenever a frame is due; so does cross traffic, unless it comes so often that it would take all. The receiver has a core to itself, so that nothing disturbs the
//! processing that is measured.

use dwell_net::place;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The cores of a lab.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cores {
    /// Sender and forwarder.
    pub sender: usize,
    /// Receiver.
    pub receiver: usize,
}

impl Cores {
    /// The first and the second core that this process may use; with one core, that one for all.
    #[must_use]
    pub fn allowed() -> Self {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let mut allowed = (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false));
        let sender = allowed.next().unwrap_or(0);
        Self { sender, receiver: allowed.next().unwrap_or(sender) }
    }

    /// Whether sender and receiver have a core each.
    #[must_use]
    pub fn apart(self) -> bool {
        self.sender != self.receiver
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.apart() {
            write!(f, "sender's side on core {}, receiver on core {}", self.sender, self.receiver)
        } else {
            write!(f, "all on core {}", self.sender)
        }
    }
}

/// What a thread does in a lab, which says how urgent it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Above the sender: a frame is due while the sender is busy.
    Forwarder,
    Sender,
    Receiver,
}

/// Keeps a core awake until `stop`: one that sleeps wakes a thread tens of microseconds late, one that is busy with
/// this, which gives way to everybody, within a few. So it is for the sender's core, not for that of a receiver: how
/// it wakes is what is measured.
pub(crate) fn keep_awake(core: usize, stop: &AtomicBool) {
    place::yield_to_all();
    if place::pin_current_thread(core).is_ok() {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
}

/// Puts the calling thread where its role belongs. Tells whether it got its real-time priority.
pub(crate) fn settle(role: Role, cores: Cores) -> bool {
    // The lab's own packets are sent and received as trains are: with the lowest real-time priority.
    let (core, priority) = match role {
        Role::Forwarder => (cores.sender, 2),
        Role::Sender => (cores.sender, 1),
        Role::Receiver => (cores.receiver, 1),
    };
    place::sharpen_timers();
    // A core that went off line meanwhile leaves the thread where the kernel puts it.
    let _ = place::pin_current_thread(core);
    place::real_time_priority(priority)
}
