//! What became of the packets.

use super::filter::Filter;
use super::socket::option;
use super::source::{Socket, Source};
use nix::sys::socket::getsockopt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What became of the packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct RingCounts {
    /// What the filter saw; `None` where the kernel runs none of ours.
    pub filtered: Option<Filtered>,
    /// Passed the filter, those that were dropped then too.
    pub passed: u64,
    /// Passed, and found the ring full.
    pub dropped: u64,
    /// How often the ring was full.
    pub freezes: u64,
    /// Without the NIC's stamp, where that was asked for.
    pub unstamped: u64,
    /// How often an interface went down. Nothing passed it until it was up again.
    pub downs: u64,
}

/// What the filter saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Packets of the interfaces.
    pub seen: u64,
    /// Ended within a header, and did not pass.
    pub cut: u64,
    /// Had more headers than are looked at, and did not pass.
    pub too_deep: u64,
}

/// Counts what became of the packets of one place.
pub struct Gauge {
    filter: Option<Filter>,
    unfiltered: Option<String>,
    /// Of each interface.
    sockets: Vec<Vec<Arc<Socket>>>,
    so_far: RingCounts,
}

impl Gauge {
    /// Of the rings of each interface.
    pub(super) fn new(filter: Option<Filter>, unfiltered: Option<String>, sources: &[Vec<Source>]) -> Self {
        let of_one =
            |sources: &Vec<Source>| sources.iter().map(|source| Arc::clone(&source.socket)).collect();
        let sockets = sources.iter().map(of_one).collect();
        Self { filter, unfiltered, sockets, so_far: RingCounts::default() }
    }

    /// Why every packet passes, where the kernel runs no filter of ours.
    #[must_use]
    pub fn unfiltered(&self) -> Option<&str> {
        self.unfiltered.as_deref()
    }

    /// What became of the packets so far.
    pub fn counts(&mut self) -> RingCounts {
        let so_far = &mut self.so_far;
        for socket in self.sockets.iter().flatten() {
            // It counts from the last time that it was asked. Nothing but a wrong size could make it fail.
            if let Ok(since) = getsockopt(&socket.fd, option::Statistics) {
                so_far.passed += u64::from(since.tp_packets);
                so_far.dropped += u64::from(since.tp_drops);
                so_far.freezes += u64::from(since.tp_freeze_q_cnt);
            }
        }
        let unstamped =
            self.sockets.iter().flatten().map(|socket| socket.unstamped.load(Ordering::Relaxed)).sum();
        // Each of an interface's sockets is told.
        let downs = |sockets: &Vec<Arc<Socket>>| {
            sockets.iter().map(|socket| socket.downs.load(Ordering::Relaxed)).max()
        };
        let downs = self.sockets.iter().filter_map(downs).sum();
        let filtered = self.filter.as_ref().map(Filter::counts);
        RingCounts { unstamped, downs, filtered, ..*so_far }
    }
}
