//! Which flows may have a handshake in progress, told by one load.

use super::super::FlowHash;

/// 2^18 counters of one byte: a quarter of a mebibyte, which stays in a core's second-level cache.
const COUNTERS: usize = 1 << 18;

/// Which flows may have a handshake in progress: a counter for each value of some bits of the flow's hash. It may say
/// yes of a flow that has none, never no of one that has.
#[derive(Debug)]
pub(super) struct Pending(Box<[u8]>);

impl Pending {
    pub(super) fn new() -> Self {
        Self(vec![0; COUNTERS].into_boxed_slice())
    }

    const fn place(flow: FlowHash) -> usize {
        flow.0 as usize % COUNTERS
    }

    #[inline]
    pub(super) fn has(&self, flow: FlowHash) -> bool {
        self.0[Self::place(flow)] != 0
    }

    pub(super) fn add(&mut self, flow: FlowHash) {
        let counter = &mut self.0[Self::place(flow)];
        *counter = counter.saturating_add(1);
    }

    /// A counter that has been full stays so: how many it has missed is not known.
    pub(super) fn remove(&mut self, flow: FlowHash) {
        let counter = &mut self.0[Self::place(flow)];
        if *counter < u8::MAX {
            *counter = counter.saturating_sub(1);
        }
    }
}
