//! One direction of the forwarder: frames enter at the first link, the engine says when each reaches the far host's
//! NIC, and the NIC when it is handed to that host's kernel.

use crate::nic_stage::NicStage;
use dwell_core::truth::Reading;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_sim::nic::{Delivery, Nic};
use dwell_sim::{LinkSpec, Network, Outcome};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// What a frame is longer on the wire than what a packet socket sees: check sequence 4, preamble and delimiter 8.
const UNSEEN: u64 = 12;

/// Frames that may be under way in one direction; more are dropped and counted.
const MOST_UNDER_WAY: usize = 100_000;

/// How often an idle path's cross traffic is worked off, so that it does not pile up until the next frame comes.
pub(crate) const CROSS_PERIOD: Nanos = Nanos::from_millis(2);

/// What is kept of a frame: its headers, of whatever they are.
const HEAD: usize = 128;

/// A frame that was carried, or lost, with what engine and NIC asked; instants on CLOCK_REALTIME.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) direction: Direction,
    /// Its first bytes.
    pub(crate) head: [u8; HEAD],
    /// On the wire.
    pub(crate) size: Bytes,
    /// When it came to the first link.
    pub(crate) entered: Nanos,
    /// What became of it; `None`: the engine lost it.
    pub(crate) arrival: Option<Arrival>,
}

/// How a frame was to arrive.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When its last bit was due at the far host's NIC by the engine.
    pub(crate) due: Nanos,
    /// When it reached the emulated NIC: later where the forwarder could not be that quick. Without a NIC, the same.
    pub(crate) reached: Nanos,
    /// When the emulated NIC was to hand it to the kernel; without one, the same.
    pub(crate) handed: Nanos,
    /// What it waited in queues.
    pub(crate) waited: Nanos,
    /// By how much its sending began later than it had to.
    pub(crate) late: Nanos,
}

impl Arrival {
    /// When the scenario has the kernel get it.
    pub(crate) fn asked(&self) -> Nanos {
        self.due + (self.handed - self.reached)
    }
}

/// A frame on its way; instants on the engine's clock but for `stamp`.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    /// By CLOCK_REALTIME.
    stamp: Nanos,
    /// The same instant on the engine's clock.
    entered: Nanos,
    /// When it is due at the NIC, once the engine has said.
    due: Nanos,
    waited: Nanos,
}

impl Frame {
    fn size(&self) -> Bytes {
        Bytes(self.bytes.len() as u64 + UNSEEN)
    }

    /// An instant of the engine's clock on CLOCK_REALTIME.
    fn by_stamp(&self, at: Nanos) -> Nanos {
        self.stamp + (at - self.entered)
    }

    /// What became of it: how the NIC handed it over and by how much too late, or that the engine lost it.
    pub(crate) fn carried(&self, direction: Direction, delivery: Option<(Delivery, Nanos)>) -> Carried {
        let arrival = |(Delivery { reached, delivered, .. }, late)| Arrival {
            due: self.by_stamp(self.due),
            reached: self.by_stamp(reached),
            handed: self.by_stamp(delivered),
            waited: self.waited,
            late,
        };
        let mut head = [0; HEAD];
        head.iter_mut().zip(&self.bytes).for_each(|(to, byte)| *to = *byte);
        Carried { direction, head, size: self.size(), entered: self.stamp, arrival: delivery.map(arrival) }
    }
}

/// One direction.
pub(crate) struct Lane {
    pub(crate) direction: Direction,
    network: Network,
    pub(crate) has_cross: bool,
    frames: HashMap<u64, Frame>,
    next_key: u64,
    /// What the engine has let through, by when it is due at the NIC.
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    nic: Nic,
    pub(crate) stage: NicStage,
    /// How far the NIC's time is.
    nic_at: Nanos,
    /// Frames that wait in the NIC.
    held: usize,
    /// What the NIC has decided to hand over.
    ready: VecDeque<Delivery>,
    deliveries: Vec<Delivery>,
    advanced: Nanos,
    outcomes: Vec<Outcome>,
}

impl Lane {
    pub(crate) fn new(direction: Direction, links: &[LinkSpec], stage: NicStage, seed: u64) -> Self {
        Self {
            direction,
            network: Network::new(links, seed),
            has_cross: links.iter().any(|link| !link.cross.is_empty()),
            frames: HashMap::new(),
            next_key: 0,
            due: BinaryHeap::new(),
            nic: stage.machine(),
            stage,
            nic_at: Nanos::ZERO,
            held: 0,
            ready: VecDeque::new(),
            deliveries: Vec::new(),
            advanced: Nanos::ZERO,
            outcomes: Vec::new(),
        }
    }

    /// Whether as much is under way as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() >= MOST_UNDER_WAY
    }

    /// A frame that the kernel stamped at `stamp`, `entered` on the engine's clock, comes to the first link.
    pub(crate) fn enter(&mut self, bytes: Vec<u8>, stamp: Nanos, entered: Nanos) {
        let frame = Frame { bytes, stamp, entered, due: entered, waited: Nanos::ZERO };
        let key = self.next_key;
        self.next_key += 1;
        self.network.inject(entered, key, frame.size());
        self.frames.insert(key, frame);
    }

    /// When the engine has something to decide next.
    pub(crate) fn wake_at(&self) -> Option<Nanos> {
        self.network.wake_at()
    }

    /// Lets the engine decide what can be decided now; appends what it lost. It is never taken further than it must:
    /// a frame that the kernel has stamped may still be on its way to us, and the engine would let it enter late.
    pub(crate) fn decide(&mut self, now: Nanos, lost: &mut Vec<Frame>) {
        while let Some(at) = self.network.wake_at().filter(|at| *at <= now) {
            self.network.advance(at, &mut self.outcomes);
            self.advanced = at;
        }
        if self.has_cross && now - self.advanced > CROSS_PERIOD {
            self.catch_up(now);
        }
        for outcome in self.outcomes.drain(..) {
            match outcome {
                Outcome::Leaves { key, at, waited, .. } => {
                    if let Some(frame) = self.frames.get_mut(&key) {
                        (frame.due, frame.waited) = (at, waited);
                    }
                    self.due.push(Reverse((at, key)));
                }
                Outcome::Lost { key, .. } => lost.extend(self.frames.remove(&key)),
            }
        }
    }

    /// What the links carried up to `now`, or shortly before.
    pub(crate) fn reading(&mut self, now: Nanos, largest: Bytes) -> Reading {
        self.catch_up(now);
        self.network.reading(now, largest)
    }

    /// Takes the engine as far as no frame can still be on its way to it.
    fn catch_up(&mut self, now: Nanos) {
        self.advanced = self.advanced.max(now - CROSS_PERIOD / 2);
        self.network.advance(self.advanced, &mut self.outcomes);
    }

    /// Lets what is due at the NIC up to `until` reach it. Before `soonest` nothing can be handed over any more.
    pub(crate) fn reach(&mut self, until: Nanos, soonest: Nanos) {
        while let Some(Reverse((at, key))) = self.due.peek().copied().filter(|next| next.0.0 <= until) {
            self.due.pop();
            // The NIC's time does not run backwards.
            let mut at = self.nic_at.max(at);
            // What interrupts at once reaches it only when that can be: a throttle's quiet time counts from there.
            // What waits for others, or others for it, comes in time.
            if self.stage.holds() {
                let interrupt = self.interrupts_at(at, key);
                if interrupt < soonest && (self.held == 0 || interrupt == at) {
                    at = soonest;
                }
            }
            self.nic_at = at;
            self.nic.arrives(at, key);
            self.held += 1;
            self.decided(at);
        }
    }

    /// Takes from the NIC what it hands over up to `until`.
    fn decided(&mut self, until: Nanos) {
        self.nic.deliver(until, &mut self.deliveries);
        self.held -= self.deliveries.len();
        self.ready.extend(self.deliveries.drain(..));
    }

    /// When a frame that reaches the NIC at `at` would be handed over.
    fn interrupts_at(&self, at: Nanos, key: u64) -> Nanos {
        let mut trial = self.nic.clone();
        trial.arrives(at, key);
        let mut deliveries = Vec::new();
        trial.deliver(Nanos::MAX, &mut deliveries);
        deliveries.last().map_or(at, |delivery| delivery.delivered)
    }

    /// When something must be done for the far host next: frames handed over, or brought to the NIC.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let handed = self.ready.front().map(|delivery| delivery.delivered).or_else(|| self.nic.due());
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        [handed, due].into_iter().flatten().min()
    }

    /// How many frames are handed over at the next event.
    pub(crate) fn next_batch(&self) -> usize {
        match self.ready.front() {
            None => self.held,
            Some(first) => self.ready.iter().take_while(|other| other.delivered == first.delivered).count(),
        }
    }

    /// Takes the frames that are handed over up to `until`.
    pub(crate) fn take(&mut self, until: Nanos, batch: &mut Vec<(Frame, Delivery)>) {
        self.decided(until);
        while let Some(delivery) = self.ready.front().copied().filter(|next| next.delivered <= until) {
            self.ready.pop_front();
            let frame = self.frames.remove(&delivery.key);
            batch.extend(frame.map(|frame| (frame, delivery)));
        }
    }
}
