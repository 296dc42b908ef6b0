//! One link at work, with the queue in front of it.

use super::cross::Source;
use super::{Picos, WhyLost};
use crate::link::{LinkSpec, QueueLimit};
use crate::random::Stream;
use crate::times::Times;
use dwell_core::{Bytes, Nanos};
use rand::RngExt;
use std::collections::VecDeque;

/// A packet that somebody wants to hear of again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Probe {
    pub(super) key: u64,
    pub(super) waited: Picos,
    /// When its last bit left the first link's near end.
    pub(super) departed: Option<Picos>,
}

/// A packet that goes on after this link, or came from the one before it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Parcel {
    /// Injected.
    Probe(Probe),
    /// Of cross traffic, with the links that it still passes.
    Cross { links_left: usize },
}

/// A packet at the far end of the link, or lost on it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Exit {
    Passed { at: Picos, size: Bytes, parcel: Parcel },
    Lost { at: Picos, key: u64, why: WhyLost },
}

#[derive(Copy, Clone, Debug)]
struct Arrival {
    at: Picos,
    size: Bytes,
    parcel: Parcel,
}

/// When a packet that the queue took begins to be sent, and when its last bit is out.
struct Slot {
    start: Picos,
    sent: Picos,
}

#[derive(Clone, Debug)]
pub(super) struct Hop {
    link: LinkSpec,
    picos_per_byte: f64,
    propagation: Picos,
    sources: Vec<Source>,
    /// From the link before, or injected; in order of time.
    arrivals: VecDeque<Arrival>,
    /// When the next packet's first bit may go.
    free: Picos,
    /// When the last packet that went on reached the far end: none may overtake it.
    last_exit: Picos,
    /// Packets waiting: when each begins to be sent, and its size.
    waiting: VecDeque<(Picos, Bytes)>,
    waiting_bytes: u64,
    /// How long cross traffic of long ago shows in the queue; `None`: all of it must be drawn.
    memory: Option<Picos>,
    /// Share of the link's time that the sources may take for long.
    load: f64,
    /// When the queue has got over the last packet from before.
    settled: Picos,
    chance: Stream,
    packets: u64,
}

impl Hop {
    /// `streams` gives the random stream of each part of the link.
    pub(super) fn new(link: &LinkSpec, streams: impl Fn(u64) -> Stream) -> Self {
        let sources = link.cross.iter().zip(1..);
        let mut hop = Self {
            picos_per_byte: link.rate.map_or(0.0, |rate| 8e12 / rate.0 as f64),
            propagation: link.propagation.0.saturating_mul(super::PICOS),
            sources: sources.filter_map(|(spec, part)| Source::new(spec, link, streams(part))).collect(),
            arrivals: VecDeque::new(),
            free: 0,
            last_exit: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            memory: None,
            load: 0.0,
            settled: 0,
            chance: streams(0),
            packets: 0,
            link: link.clone(),
        };
        hop.load = hop.sources.iter().map(|source| source.most).sum();
        hop.memory = hop.memory();
        hop
    }

    /// Twenty relaxation times of the queue, each at most s / (1 - sqrt(rho))^2 for packets of s and load rho (that
    /// of M/M/1; Cohen 1982): the difference that the state before it makes has shrunk by exp(-20).
    fn memory(&self) -> Option<Picos> {
        let longest = self.sources.iter().map(|source| self.busy(source.largest)).max()?;
        let leaves_here = self.sources.iter().all(|source| source.hops == 1);
        (leaves_here && self.load < 0.95)
            .then(|| (20.0 * longest as f64 / (1.0 - self.load.sqrt()).powi(2)) as Picos)
    }

    /// A packet comes from before; not before any that came so far.
    pub(super) fn arrives(&mut self, at: Picos, size: Bytes, parcel: Parcel) {
        self.arrivals.push_back(Arrival { at, size, parcel });
    }

    /// The last arrival from before that is not yet worked off.
    pub(super) fn latest_arrival(&self) -> Option<Picos> {
        self.arrivals.back().map(|arrival| arrival.at)
    }

    /// The first injected packet that is not yet worked off.
    pub(super) fn next_probe(&self) -> Option<Picos> {
        let mut arrivals = self.arrivals.iter();
        arrivals.find(|arrival| matches!(arrival.parcel, Parcel::Probe(_))).map(|arrival| arrival.at)
    }

    /// Packets accepted or dropped so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// The least time from a packet's arrival here to its arrival at the far end.
    pub(super) fn least_passage(&self) -> Picos {
        self.time_for(self.link.framing.padded(Bytes(0))) + self.propagation
    }

    /// Given that everything that arrives here up to `horizon` is known: up to when is everything known that comes
    /// out at the far end?
    pub(super) fn horizon_after(&self, horizon: Picos) -> Picos {
        // A queue that may forget promises nothing of what fills it.
        let free = if self.memory.is_some() { 0 } else { self.free };
        horizon.max(free).saturating_add(self.least_passage()).max(self.last_exit)
    }

    /// Works off all arrivals up to `horizon`, cross traffic before a packet that comes at the same instant.
    pub(super) fn work_off(&mut self, horizon: Picos, mut exits: impl FnMut(Exit)) {
        loop {
            let arrival = self.arrivals.front().map(|arrival| arrival.at);
            let drawn_until = self.skip_to(arrival).min(horizon);
            match (self.next_crossing(), arrival) {
                (Some((index, at)), _)
                    if at <= drawn_until && arrival.is_none_or(|arrival| at <= arrival) =>
                {
                    let source = &mut self.sources[index];
                    let (size, links_left) = (source.size, source.hops);
                    source.step();
                    self.carry(Arrival { at, size, parcel: Parcel::Cross { links_left } }, &mut exits);
                }
                (_, Some(at)) if at <= horizon => {
                    if let Some(arrival) = self.arrivals.pop_front() {
                        self.carry(arrival, &mut exits);
                        let backlog = (self.free - at).max(0) as f64;
                        self.settled = at.saturating_add((backlog / (1.0 - self.load).max(0.05)) as Picos);
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips cross traffic that the next packet from before cannot feel: where that one comes later than twice the
    /// memory after the queue settled, sources rest until one memory before it, and the queue is empty then. Whether
    /// they rest follows from the packets from before alone, not from the steps of the engine. Returns up to when
    /// cross traffic is to be drawn.
    fn skip_to(&mut self, arrival: Option<Picos>) -> Picos {
        let Some(memory) = self.memory else { return Picos::MAX };
        let awake = self.settled.saturating_add(2 * memory);
        match arrival {
            // Not known yet. Further than this nothing drawn could be of use.
            None => awake,
            Some(at) if at <= awake => at,
            Some(at) => {
                let resumed = at - memory;
                self.sources.iter_mut().for_each(|source| source.resume(resumed));
                self.waiting.clear();
                self.waiting_bytes = 0;
                self.free = resumed;
                self.settled = at;
                at
            }
        }
    }

    /// The source whose packet comes next, and when.
    fn next_crossing(&self) -> Option<(usize, Picos)> {
        let next = self.sources.iter().map(|source| source.next).enumerate();
        next.min_by_key(|(_, at)| *at)
    }

    /// Queues, sends and propagates one packet.
    fn carry(&mut self, Arrival { at, size, parcel }: Arrival, exits: &mut impl FnMut(Exit)) {
        self.packets += 1;
        let Some(Slot { start, sent }) = self.enqueue(at, size) else {
            if let Parcel::Probe(Probe { key, .. }) = parcel {
                exits(Exit::Lost { at, key, why: WhyLost::QueueFull });
            }
            return;
        };
        let parcel = match parcel {
            Parcel::Cross { links_left: 1 } => return,
            Parcel::Cross { links_left } => Parcel::Cross { links_left: links_left - 1 },
            Parcel::Probe(Probe { key, waited, departed }) => {
                Parcel::Probe(Probe { key, waited: waited + (start - at), departed: departed.or(Some(sent)) })
            }
        };
        let jitter = match &self.link.jitter {
            Times::Fixed(Nanos::ZERO) => 0,
            jitter => jitter.sample(&mut self.chance).0.saturating_mul(super::PICOS),
        };
        let damaged = self.link.loss > 0.0 && self.chance.random::<f64>() < self.link.loss;
        let at = sent.saturating_add(self.propagation).saturating_add(jitter).max(self.last_exit);
        self.last_exit = at;
        match parcel {
            Parcel::Probe(Probe { key, .. }) if damaged => {
                exits(Exit::Lost { at, key, why: WhyLost::Damaged });
            }
            Parcel::Cross { .. } if damaged => {}
            parcel => exits(Exit::Passed { at, size, parcel }),
        }
    }

    /// When a packet that comes at `at` is sent; `None` if the queue is full.
    fn enqueue(&mut self, at: Picos, size: Bytes) -> Option<Slot> {
        let start = self.free.max(at);
        if self.link.queue != QueueLimit::Unlimited {
            while let Some((began, size)) = self.waiting.front().copied()
                && began <= at
            {
                self.waiting.pop_front();
                self.waiting_bytes -= size.0;
            }
            if start > at {
                let full = match self.link.queue {
                    QueueLimit::Unlimited => false,
                    QueueLimit::Packets(limit) => self.waiting.len() as u64 >= limit,
                    QueueLimit::Bytes(limit) => self.waiting_bytes.saturating_add(size.0) > limit.0,
                };
                if full {
                    return None;
                }
                self.waiting.push_back((start, size));
                self.waiting_bytes += size.0;
            }
        }
        let framing = self.link.framing;
        let sent = start.saturating_add(self.time_for(framing.padded(size)));
        self.free = sent.saturating_add(self.time_for(framing.gap()));
        Some(Slot { start, sent })
    }

    /// How long a packet keeps the link busy.
    fn busy(&self, size: Bytes) -> Picos {
        self.time_for(self.link.framing.occupied(size))
    }

    fn time_for(&self, size: Bytes) -> Picos {
        (size.0 as f64 * self.picos_per_byte + 0.5) as Picos
    }
}
