//! Many connections, one after the other and at once.

use super::exchange::{Sent, exchange};
use super::plan::{Course, Plan, View};
use super::tap::Passed;
use super::truth::Truth;
use crate::random::{Stream, stream};
use dwell_core::Nanos;
use rand::RngExt as _;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Connections that run from clients to servers, past probes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// How many connections.
    pub connections: u32,
    /// Places on their way at which they are seen.
    pub probes: usize,
    /// Of everything that is drawn.
    pub seed: u64,
    /// Mean number of segments in a server's answer.
    pub data: u32,
    /// SYNs from addresses that answer nothing, spread among the connections.
    pub flood: u32,
    /// Connections that begin in a second.
    pub rate: u32,
    /// The probes' clocks tell times to this.
    pub resolution: Nanos,
}

impl Default for Population {
    fn default() -> Self {
        Self { connections: 1_000, probes: 1, seed: 1, data: 6, flood: 0, rate: 1_000, resolution: Nanos(1) }
    }
}

/// What comes out: a connection's truth before any of its packets, packets in the order in which the probes see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Of one connection at one probe.
    Truth(Box<Truth>),
    /// A packet that passed a probe.
    Passed(Passed),
}

/// A packet that will be told of, by when, and then in the order of drawing.
struct Waiting {
    order: (Nanos, u64),
    passed: Passed,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

/// What passes the probes.
pub struct Passings {
    population: Population,
    rng: Stream,
    /// When the next connection begins.
    next: Nanos,
    begun: u32,
    connections: u32,
    number: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
    truths: VecDeque<Truth>,
    /// What each probe's clock is ahead of the first.
    clocks: Vec<Nanos>,
}

/// The first connection begins then: clocks count from 1970.
const EPOCH: Nanos = Nanos::from_secs(1_700_000_000);

impl Population {
    /// What passes its probes: always the same for the same population.
    #[must_use]
    pub fn passings(self) -> Passings {
        let mut rng = stream(self.seed, &[0x7061_7373]);
        let clocks = (0..self.probes)
            .map(|probe| match probe {
                0 => Nanos::ZERO,
                // No two probes share a clock.
                _ => Nanos(rng.random_range(-3_000_000..3_000_000)) * 1_000,
            })
            .collect();
        Passings {
            population: self,
            rng,
            next: EPOCH,
            begun: 0,
            connections: 0,
            number: 0,
            waiting: BinaryHeap::new(),
            truths: VecDeque::new(),
            clocks,
        }
    }
}

impl Passings {
    /// Begins the next connection, or SYN of a flood.
    fn begin(&mut self) {
        let Population { connections, probes, data, flood, rate, .. } = self.population;
        let all = u64::from(connections) + u64::from(flood);
        let floods = self.rng.random_range(0..all) < u64::from(flood);
        self.begun += 1;
        let mut plan = Plan::plain(&mut self.rng, self.next, probes, data);
        if floods {
            (plan.course, plan.flood) = (Course::Silent, true);
            plan.labels.push("flood");
            self.run(&plan);
        } else {
            plan.complicate(&mut self.rng);
            if self.rng.random_bool(0.02) {
                let (old, new) = plan.again(&mut self.rng);
                self.run(&old);
                self.run(&new);
            } else {
                self.run(&plan);
            }
        }
        let whole = f64::from(rate) * all as f64 / f64::from(connections.max(1));
        self.next += Nanos::from_f64(-(1.0 - self.rng.random::<f64>()).ln() * 1e9 / whole);
    }

    fn run(&mut self, plan: &Plan) {
        let (connection, probes) = (self.connections, self.population.probes);
        let Nanos(tick) = self.population.resolution;
        let mut sent = exchange(plan, &mut self.rng);
        for at in sent.iter_mut().flat_map(|sent| sent.passed.iter_mut().flatten()) {
            *at = Nanos(at.0 - at.0 % tick);
        }
        let truths: Vec<_> =
            (0..probes).map(|probe| Truth::of(plan, &sent, connection, probe, Nanos(tick))).collect();
        self.connections += 1;
        self.truths.extend(truths);
        for probe in 0..probes {
            for packet in &sent {
                self.tell(packet, connection, probe, plan.views[probe]);
            }
        }
    }

    fn tell(&mut self, sent: &Sent, connection: u32, probe: usize, view: View) {
        let Some(at) = sent.passed[probe] else { return };
        let mut push = |at: Nanos, written: Nanos| {
            let passed = Passed { probe, connection, what: sent.what.moved(at + self.clocks[probe]) };
            self.number += 1;
            self.waiting.push(Reverse(Waiting { order: (written, self.number), passed }));
        };
        match view {
            View::Shuffled => {
                let late = Nanos::from_micros(self.rng.random_range(0..300));
                push(at, at + late);
            }
            View::Mirrored => {
                let later = at + Nanos::from_micros(self.rng.random_range(1..300));
                push(at, at);
                push(later, later);
            }
            _ => push(at, at),
        }
    }
}

impl Iterator for Passings {
    type Item = Told;

    fn next(&mut self) -> Option<Told> {
        let Population { connections, flood, .. } = self.population;
        loop {
            if let Some(truth) = self.truths.pop_front() {
                return Some(Told::Truth(Box::new(truth)));
            }
            let more = self.begun < connections + flood;
            match self.waiting.peek() {
                // Nothing that is yet to begin passes sooner.
                Some(Reverse(waiting)) if !more || waiting.order.0 < self.next => {
                    return self.waiting.pop().map(|Reverse(waiting)| Told::Passed(waiting.passed));
                }
                _ if more => self.begin(),
                _ => return None,
            }
        }
    }
}
