//! Many connections, one after the other and at once.

use super::exchange::exchange;
use super::nat::Nat;
use super::net::Sent;
use super::plan::{Course, Plan, View};
use super::tap::Passed;
use super::truth::Truth;
use super::way::Way;
use crate::random::{Stream, stream};
use dwell_core::Nanos;
use rand::RngExt as _;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Connections that run from clients to servers, past probes.
#[derive(Copy, Clone, Debug, PartialEq)]
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
    /// Beyond so many probes clients bear the addresses of a NAT.
    pub nat: Option<usize>,
    /// This probe hears the direction from client to server alone.
    pub one_way: Option<usize>,
    /// Each segment of a handshake is lost so often in each section, instead of as real ones are.
    pub loss: Option<f64>,
    /// Only connections that bear this label.
    pub label: Option<&'static str>,
}

impl Default for Population {
    fn default() -> Self {
        Self {
            connections: 1_000,
            probes: 1,
            seed: 1,
            data: 6,
            flood: 0,
            rate: 1_000,
            resolution: Nanos(1),
            nat: None,
            one_way: None,
            loss: None,
            label: None,
        }
    }
}

impl Population {
    /// One of which everything is drawn: more than anybody thinks of.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut rng = stream(seed, &[0x6472_6177]);
        let mut of = |values: &[u32]| values[rng.random_range(0..values.len())];
        let (connections, rate) = (of(&[300, 1_000, 3_000]), of(&[50, 300, 1_000, 5_000, 30_000]));
        let (probes, resolution) = (of(&[1, 2, 3, 4]), of(&[1, 1, 1_000, 1_000_000]));
        let (data, flood) = (of(&[0, 1, 2, 4, 8, 24]), of(&[0, 0, 0, 3_000]));
        let mut seldom = |share: f64, most: u32| rng.random_bool(share).then(|| rng.random_range(0..most));
        Self {
            connections,
            probes: probes as usize,
            seed,
            data,
            flood,
            rate,
            resolution: Nanos(resolution.into()),
            nat: seldom(0.25, probes).map(|probe| probe as usize),
            one_way: seldom(0.25, probes).map(|probe| probe as usize),
            loss: seldom(0.3, 30).map(|percent| f64::from(percent) / 100.0),
            label: None,
        }
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
    /// What is true from probe to probe, where that is asked for.
    ways: Option<Vec<Way>>,
    nat: Nat,
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
            ways: None,
            nat: Nat::default(),
            clocks,
        }
    }
}

impl Passings {
    /// Keeps what is true from probe to probe too, for [`Self::take_ways`].
    #[must_use]
    pub fn with_ways(self) -> Self {
        Self { ways: Some(Vec::new()), ..self }
    }

    /// What is true from probe to probe of the connections whose truths came since this was asked last.
    pub fn take_ways(&mut self) -> Vec<Way> {
        self.ways.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Begins the next connection, or SYN of a flood.
    fn begin(&mut self) {
        let Population { connections, flood, rate, .. } = self.population;
        let all = u64::from(connections) + u64::from(flood);
        let floods = self.rng.random_range(0..all) < u64::from(flood);
        self.begun += 1;
        if floods {
            let mut plan = self.plain();
            (plan.course, plan.flood) = (Course::Silent, true);
            plan.labels.push("flood");
            self.run(&plan);
        } else {
            let plan = self.drawn();
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

    fn plain(&mut self) -> Plan {
        let Population { probes, data, .. } = self.population;
        Plan::plain(&mut self.rng, self.next, probes, data)
    }

    /// A connection as peculiar as the population asks for.
    fn drawn(&mut self) -> Plan {
        let Population { label, loss, one_way, .. } = self.population;
        let mut plan = loop {
            let mut plan = self.plain();
            plan.complicate(&mut self.rng);
            if label.is_none_or(|label| plan.labels.contains(&label)) {
                break plan;
            }
        };
        if let Some(loss) = loss {
            (plan.losses, plan.loss) = (Vec::new(), loss);
        }
        if let Some(view) = one_way.and_then(|probe| plan.views.get_mut(probe)) {
            *view = View::Forward;
        }
        plan
    }

    fn run(&mut self, plan: &Plan) {
        let (connection, probes) = (self.connections, self.population.probes);
        let Nanos(tick) = self.population.resolution;
        let mut sent = exchange(plan, &mut self.rng);
        for at in sent.iter_mut().flat_map(|sent| sent.passed.iter_mut().flatten()) {
            *at = Nanos(at.0 - at.0 % tick);
        }
        let outside = self.population.nat.map(|behind| (behind, self.nat.outside(plan.client.end)));
        let mut truths: Vec<_> =
            (0..probes).map(|probe| Truth::of(plan, &sent, connection, probe, Nanos(tick))).collect();
        self.connections += 1;
        if let Some((behind, outside)) = outside {
            truths.iter_mut().skip(behind).for_each(|truth| truth.client = outside);
        }
        if let Some(ways) = &mut self.ways {
            ways.push(Way::of(plan, &sent, truths.clone(), Nanos(tick)));
        }
        self.truths.extend(truths);
        for probe in 0..probes {
            if let Some((_, outside)) = outside.filter(|(behind, _)| probe >= *behind) {
                let client = plan.client.end;
                sent.iter_mut().for_each(|sent| sent.what = sent.what.rewritten(client, outside));
            }
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
