//! How far the packets of several interfaces can be handed over in the order of their stamps.
//!
//! The kernel hands the packets of each over in blocks, some 20 ms after they passed. So one of two packets may be here
//! while the other, stamped before it, is not yet.

use super::blocks::BLOCKS;
use super::steps::SETTLED;
use dwell_core::Nanos;

/// Full blocks of one interface that wait for another's: with more, the kernel could run out of them.
const MOST: usize = BLOCKS / 2;

/// What is here of one interface.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Here {
    /// The stamp of its last packet that is here.
    pub(super) last: Option<i128>,
    /// Where more than [`MOST`] blocks are full: the stamp of the last packet of those that are too many.
    pub(super) pressing: Option<i128>,
}

impl Here {
    /// With so many full blocks, of which `last_of` tells the stamp of each one's last packet.
    pub(super) fn of(full: usize, last_of: impl Fn(usize) -> Option<i128>) -> Self {
        let last = |count: usize| count.checked_sub(1).and_then(&last_of);
        Self { last: last(full), pressing: last(full.saturating_sub(MOST)) }
    }
}

/// Up to which stamp all that passed is here.
#[derive(Debug)]
pub(super) struct Order {
    /// Nothing stamped before this is still to come.
    settled: Option<i128>,
    /// The latest stamp that was here when the clock (CLOCK_MONOTONIC) showed this.
    marked: (Nanos, Option<i128>),
}

impl Order {
    pub(super) const fn begin(now: Nanos) -> Self {
        Self { settled: None, marked: (now, None) }
    }

    /// Up to which stamp what is `here`, of each interface, can be handed over; `None`: nothing.
    pub(super) fn look(&mut self, now: Nanos, here: &[Here]) -> Option<i128> {
        // What was stamped before a packet that has been here for so long is here too.
        if now - self.marked.0 > SETTLED {
            self.settled = self.settled.max(self.marked.1);
            self.marked = (now, here.iter().filter_map(|here| here.last).max());
        }
        // Nothing of any of them is still to come that was stamped before the last that is here of it; and there is one of each.
        let reached = here.iter().map(|here| here.last).min().flatten();
        let pressing = here.iter().filter_map(|here| here.pressing).max();
        self.settled.max(reached).max(pressing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: i64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn here<const N: usize>(last: [Option<i128>; N]) -> [Here; N] {
        last.map(|last| Here { last, pressing: None })
    }

    #[test]
    fn what_is_here_of_all_is_handed_over_up_to_the_earliest() {
        let mut order = Order::begin(at(0));
        assert_eq!(order.look(at(1), &here([Some(70), Some(50)])), Some(50));
        assert_eq!(order.look(at(2), &here([Some(70), Some(90)])), Some(70));
    }

    #[test]
    fn what_waits_for_one_that_is_silent_is_handed_over_when_nothing_can_come_before_it() {
        let mut order = Order::begin(at(0));
        assert_eq!(order.look(at(50), &here([Some(70), None])), None);
        // Here at 101 ms, and so settled when that is as long ago.
        assert_eq!(order.look(at(101), &here([Some(80), None])), None);
        assert_eq!(order.look(at(201), &here([Some(90), None])), None);
        assert_eq!(order.look(at(202), &here([Some(95), None])), Some(80));
        assert_eq!(order.look(at(303), &here([Some(99), None])), Some(95));
        // And it stays so while nothing comes, and where the other comes back.
        assert_eq!(order.look(at(304), &here([None, None])), Some(95));
        assert_eq!(order.look(at(305), &here([Some(120), Some(110)])), Some(110));
    }

    #[test]
    fn nothing_waits_where_the_kernel_could_run_out_of_blocks() {
        let last_of = |number: usize| Some(number as i128 * 10);
        assert_eq!(Here::of(0, last_of).last, None);
        let few = Here::of(MOST, last_of);
        assert_eq!((few.last, few.pressing), (last_of(MOST - 1), None));
        let many = Here::of(MOST + 3, last_of);
        assert_eq!((many.last, many.pressing), (last_of(MOST + 2), last_of(2)));
        assert_eq!(Order::begin(at(0)).look(at(1), &[many, Here::default()]), last_of(2));
    }
}
