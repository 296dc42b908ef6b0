//! Packets that wait for turns, where they do not go as they come.

use super::super::backlog::Backlog;
use super::super::parcel::{Arrival, Exit};
use super::super::{Picos, WhyLost};
use super::Hop;

impl Hop {
    /// Sends a packet at once where nobody is before it, or else lets it wait for its turn.
    // Apart, as `serve` is, so that first come, first served stays one tight loop.
    #[inline(never)]
    pub(super) fn take_turn(&mut self, arrival: Arrival, exits: &mut impl FnMut(Exit)) {
        let at = arrival.at;
        match &mut self.backlog {
            Some(backlog) if !backlog.is_empty() || self.free > at => {
                // Hardly ever any, and then one or a few.
                let mut dropped = Vec::new();
                backlog.push(arrival, |arrival| dropped.push(arrival));
                for arrival in dropped {
                    self.drop(&arrival, at, WhyLost::QueueFull, exits);
                }
            }
            _ => {
                let slot = self.send(at, arrival.size);
                self.come_out(arrival, slot, exits);
            }
        }
    }

    /// Gives turns to those that wait, up to `until`. Whether anybody had one.
    #[inline(never)]
    pub(super) fn serve(&mut self, until: Picos, exits: &mut impl FnMut(Exit)) -> bool {
        let mut served = false;
        while self.free <= until
            && let Some(next) = self.backlog.as_mut().and_then(Backlog::pop)
        {
            if next.parcel.goes_on() {
                self.settled = self.settled.max(self.free);
            }
            let slot = self.send(self.free, next.size);
            self.come_out(next, slot, exits);
            served = true;
        }
        served
    }

    /// Time that those will take whose turns are still open.
    pub(super) fn open_work(&self) -> Picos {
        self.backlog.as_ref().map_or(0, |backlog| self.tempo.time_for(backlog.bytes()))
    }
}
