//! The trains themselves, and the pauses before them.

use super::Config;
use super::plan::{LEAST_PAUSE, Plan, TOGETHER};
use crate::stats::bootstrap::Indices;
use crate::stats::chance::spread;
use crate::stream::{occupied, stream};
use crate::train::{Departure, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// Makes trains, and counts them.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) size: Bytes,
    /// No packet is smaller.
    least: Bytes,
    chance: Indices,
    /// Packets so far.
    pub(super) packets: usize,
    /// Time that they have been spread over so far.
    pub(super) span: Nanos,
    /// The part of it in which none was sent, and the link had time for what they left waiting.
    pub(super) pauses: Nanos,
    /// Packets of the longest train.
    pub(super) longest: usize,
    /// How long it takes until what trains like the last leave is gone, nanoseconds for each packet: see [`Came`](super::came::Came).
    pub(super) drained: f64,
}

impl Sending {
    pub(super) fn new(config: &Config, facts: &PathFacts) -> Self {
        Self {
            size: facts.max_size,
            least: facts.min_size,
            chance: Indices::new(config.seed),
            packets: 0,
            span: Nanos::ZERO,
            pauses: Nanos::ZERO,
            longest: 0,
            drained: 0.0,
        }
    }

    /// What each packet takes of a link.
    pub(super) fn bits(&self) -> f64 {
        occupied(self.size)
    }

    /// What the longest train has in it.
    pub(super) fn most(&self) -> Bytes {
        Bytes(self.size.0 * self.longest as u64)
    }

    /// `count` bursts of so many packets.
    pub(super) fn bursts(&mut self, packets: usize, count: usize) -> Vec<Departure> {
        self.departures(&Train::burst(self.size, packets), count, LEAST_PAUSE, LEAST_PAUSE)
    }

    /// `count` bursts of so many packets half as large.
    pub(super) fn smaller(&mut self, packets: usize, count: usize) -> Vec<Departure> {
        let train = Train::burst(Bytes(self.size.0 / 2).max(self.least), packets);
        self.departures(&train, count, LEAST_PAUSE, LEAST_PAUSE)
    }

    /// One train of so many packets, `gap` apart.
    pub(super) fn stream(&mut self, gap: f64, packets: usize) -> Vec<Departure> {
        self.departures(&stream(self.size, Nanos::from_f64(gap), packets), 1, LEAST_PAUSE, LEAST_PAUSE)
    }

    /// `count` trains whose packets are `gap` apart behind a head of packets back to back.
    pub(super) fn headed(
        &mut self,
        gap: f64,
        pace: f64,
        count: usize,
        (head, packets): (usize, usize),
        plan: &Plan,
    ) -> Vec<Departure> {
        let mut train = stream(self.size, Nanos::from_f64(gap), head + packets);
        let together = head.min(TOGETHER);
        for packet in &mut train.packets[..together] {
            packet.hold = Nanos::ZERO;
        }
        for packet in &mut train.packets[together..head] {
            packet.hold = Nanos::from_f64(pace);
        }
        self.departures(&train, count, plan.pause, plan.drained(&train))
    }

    /// `count` trains of so many packets for a test, `gap` apart.
    pub(super) fn tests(&mut self, gap: f64, packets: usize, count: usize, plan: &Plan) -> Vec<Departure> {
        let train = stream(self.size, Nanos::from_f64(gap), packets);
        self.departures(&train, count, plan.pause, plan.drained(&train))
    }

    /// One train that is no part of what the answer is an average of.
    pub(super) fn beside(&mut self, train: Train, pause: Nanos) -> Vec<Departure> {
        self.longest = self.longest.max(train.packets.len());
        vec![Departure { pause, train }]
    }

    fn departures(&mut self, train: &Train, count: usize, pause: Nanos, drained: Nanos) -> Vec<Departure> {
        let drained = drained.max(Nanos::from_f64(self.drained * train.packets.len() as f64));
        let fleet: Vec<Departure> = (0..count)
            .map(|_| Departure { pause: spread(&mut self.chance, pause) + drained, train: train.clone() })
            .collect();
        self.packets += count * train.packets.len();
        self.longest = self.longest.max(train.packets.len());
        self.span += fleet.iter().map(Departure::lasts).sum();
        self.pauses += fleet.iter().map(|departure| departure.pause).sum();
        fleet
    }
}
