//! What both ends of a run have in common: threads that move data, and what is known of them.

use super::cores::{Cores, Thread};
use crate::channel::Channel;
use dwell_core::Nanos;
use dwell_core::throughput::{HostLoad, Threads};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver as Queue;
use std::time::Duration;

/// How far looks are apart.
pub(super) const LOOK: Nanos = Nanos::from_millis(100);
/// Bytes of one write and one read.
pub(super) const BLOCK: usize = 128 << 10;
/// For so long nothing may happen.
pub(super) const STALL: Nanos = Nanos::from_secs(5);
/// Threads look up so often whether they are to end.
pub(super) const GLANCE: Duration = Duration::from_millis(100);

pub(super) fn seconds(span: Nanos) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

/// One connection's thread, as others see it.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) bytes: AtomicU64,
    pub(super) ended: AtomicBool,
}

/// Tells that a thread has ended, however it ended.
pub(super) struct Ending<'a>(pub(super) &'a Progress);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

pub(super) fn threads(told: &Queue<(usize, Thread)>, count: usize) -> Vec<Option<Thread>> {
    let mut threads = vec![None; count];
    for (index, thread) in told.iter().take(count) {
        threads[index] = Some(thread);
    }
    threads
}

/// What is known of a thread: that it ended does not undo what was known before.
pub(super) fn note(thread: Option<Thread>, known: &mut Threads) -> Threads {
    *known = thread.and_then(Thread::told).unwrap_or(*known);
    *known
}

/// Without its session, a run has nobody to tell.
pub(super) fn still_open(channel: &Channel, at: Nanos) -> io::Result<()> {
    if channel.is_open() {
        return Ok(());
    }
    let what = format!("the other end closed the session after {}", seconds(at));
    Err(io::Error::new(ErrorKind::ConnectionAborted, what))
}

pub(super) fn host(cores: &mut Cores, first: bool) -> HostLoad {
    let load = cores.since_before();
    if first { HostLoad::default() } else { load }
}
