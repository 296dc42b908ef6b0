//! Packets that wait where the next one is not always the one that came first.

use super::parcel::{Arrival, Parcel};
use crate::link::{Discipline, QueueLimit};
use dwell_core::Bytes;
use dwell_core::unit::{ETHERNET_OVERHEAD, INTER_FRAME_GAP};
use std::collections::VecDeque;

/// What each flow may send before it is the next one's turn: a full frame, so that no turn is idle.
const QUANTUM: Bytes = Bytes(1500 + ETHERNET_OVERHEAD.0 + INTER_FRAME_GAP.0);

const CLASSES: usize = Discipline::HIGHEST as usize + 1;

/// Packets of one flow or class, in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Lane {
    packets: VecDeque<Arrival>,
    bytes: u64,
}

impl Lane {
    fn push(&mut self, arrival: Arrival) {
        self.bytes += arrival.size.0;
        self.packets.push_back(arrival);
    }

    fn pop(&mut self) -> Option<Arrival> {
        let first = self.packets.pop_front()?;
        self.bytes -= first.size.0;
        Some(first)
    }

    fn drop_last(&mut self) -> Option<Arrival> {
        let last = self.packets.pop_back()?;
        self.bytes -= last.size.0;
        Some(last)
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }
}

/// Who goes next.
#[derive(Clone, Debug)]
enum Turn {
    /// Of the highest lane with anything in it; lanes are classes.
    Highest {
        /// Class of the probes.
        probes: u8,
    },
    /// Deficit round robin (Shreedhar and Varghese, 1996, section III); lanes are flows.
    Round {
        /// Flows with anything to send, in the order of their turns.
        active: VecDeque<usize>,
        /// Bytes that each flow may still send.
        deficit: Vec<u64>,
        /// Whether the flow whose turn it is has had its quantum.
        granted: bool,
    },
}

/// The packets that wait in front of a link with a discipline of its own.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    lanes: Vec<Lane>,
    turn: Turn,
    limit: QueueLimit,
    packets: u64,
    bytes: u64,
    /// Packets that somebody hears of again: all but cross traffic that leaves after this link.
    followed: usize,
    probes: usize,
}

impl Backlog {
    /// `None`: first come, first served.
    pub(super) fn new(discipline: Discipline, limit: QueueLimit) -> Option<Self> {
        let (lanes, turn) = match discipline {
            Discipline::Fifo => return None,
            Discipline::Fair => {
                (0, Turn::Round { active: VecDeque::new(), deficit: Vec::new(), granted: false })
            }
            Discipline::Priority { probes } => (CLASSES, Turn::Highest { probes }),
        };
        let lanes = vec![Lane::default(); lanes];
        Some(Self { lanes, turn, limit, packets: 0, bytes: 0, followed: 0, probes: 0 })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether anything waits that somebody hears of again.
    pub(super) fn is_followed(&self) -> bool {
        self.followed > 0
    }

    /// Whether any injected packet waits.
    pub(super) fn has_probes(&self) -> bool {
        self.probes > 0
    }

    /// Bytes waiting.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// A packet comes, and waits. Those that the queue does not hold are passed to `dropped`.
    pub(super) fn push(&mut self, arrival: Arrival, mut dropped: impl FnMut(Arrival)) {
        let lane = self.lane_of(&arrival.parcel);
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, Lane::default);
        }
        if matches!(self.turn, Turn::Highest { .. }) && !self.has_room(&self.lanes[lane], arrival.size) {
            return dropped(arrival);
        }
        self.count(&arrival);
        self.lanes[lane].push(arrival);
        if let Turn::Round { active, deficit, .. } = &mut self.turn {
            deficit.resize(self.lanes.len(), 0);
            if self.lanes[lane].packets.len() == 1 {
                active.push_back(lane);
            }
            while self.is_over() {
                match self.drop_from_longest() {
                    Some(arrival) => dropped(arrival),
                    None => return,
                }
            }
        }
    }

    /// The packet that goes next.
    pub(super) fn pop(&mut self) -> Option<Arrival> {
        let next = match &mut self.turn {
            Turn::Highest { .. } => self.lanes.iter_mut().rev().find_map(Lane::pop),
            Turn::Round { active, deficit, granted } => loop {
                let flow = *active.front()?;
                let lane = &mut self.lanes[flow];
                if !std::mem::replace(granted, true) {
                    deficit[flow] += QUANTUM.0;
                }
                match lane.packets.front() {
                    Some(first) if first.size.0 <= deficit[flow] => {
                        deficit[flow] -= first.size.0;
                        let next = lane.pop();
                        if lane.packets.is_empty() {
                            deficit[flow] = 0;
                            active.pop_front();
                            *granted = false;
                        }
                        break next;
                    }
                    _ => {
                        active.rotate_left(1);
                        *granted = false;
                    }
                }
            },
        }?;
        self.discount(&next);
        Some(next)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Lane::clear);
        (self.packets, self.bytes, self.followed, self.probes) = (0, 0, 0, 0);
        if let Turn::Round { active, deficit, granted } = &mut self.turn {
            active.clear();
            deficit.fill(0);
            *granted = false;
        }
    }

    fn lane_of(&self, parcel: &Parcel) -> usize {
        match (&self.turn, parcel) {
            (Turn::Highest { probes }, Parcel::Probe(_)) => usize::from(*probes).min(CLASSES - 1),
            (Turn::Highest { .. }, Parcel::Cross { owner, .. }) => {
                usize::from(owner.priority).min(CLASSES - 1)
            }
            (Turn::Round { .. }, parcel) => parcel.flow_number() as usize,
        }
    }

    fn has_room(&self, lane: &Lane, size: Bytes) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (lane.packets.len() as u64) < limit,
            QueueLimit::Bytes(limit) => lane.bytes.saturating_add(size.0) <= limit.0,
        }
    }

    fn is_over(&self) -> bool {
        match self.limit {
            QueueLimit::Unlimited => false,
            QueueLimit::Packets(limit) => self.packets > limit,
            QueueLimit::Bytes(limit) => self.bytes > limit.0,
        }
    }

    /// So that who asks for too much loses, and not who asks for little (McKenney 1990, buffer stealing).
    fn drop_from_longest(&mut self) -> Option<Arrival> {
        let (flow, lane) = self.lanes.iter_mut().enumerate().max_by_key(|(_, lane)| lane.bytes)?;
        let last = lane.drop_last()?;
        if let Turn::Round { active, deficit, granted } = &mut self.turn
            && lane.packets.is_empty()
        {
            *granted &= active.front() != Some(&flow);
            active.retain(|other| *other != flow);
            deficit[flow] = 0;
        }
        self.discount(&last);
        Some(last)
    }

    fn count(&mut self, arrival: &Arrival) {
        self.packets += 1;
        self.bytes += arrival.size.0;
        self.followed += usize::from(arrival.parcel.goes_on());
        self.probes += usize::from(matches!(arrival.parcel, Parcel::Probe(_)));
    }

    fn discount(&mut self, arrival: &Arrival) {
        self.packets -= 1;
        self.bytes -= arrival.size.0;
        self.followed -= usize::from(arrival.parcel.goes_on());
        self.probes -= usize::from(matches!(arrival.parcel, Parcel::Probe(_)));
    }

    /// Packets that there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.lanes.iter().map(|lane| lane.packets.capacity()).sum()
    }
}
