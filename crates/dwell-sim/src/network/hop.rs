//! One link at work, with the queue in front of it.

use super::backlog::Backlog;
use super::bucket::Bucket;
use super::cross::{Fate, Source};
use super::meter::{Class, Counted, Meter};
use super::rests::Rests;
use super::{Picos, Tempo, WhyLost};
use crate::link::{LinkSpec, QueueLimit};
use crate::random::Stream;
use crate::times::Times;
use dwell_core::truth::LinkCount;
use dwell_core::unit::ETHERNET_OVERHEAD;
use dwell_core::{BitRate, Bytes, Nanos};
use rand::RngExt;
use std::collections::VecDeque;

/// The stream of chance for what is not drawn; sources have those from 1 on.
const RESTS: u64 = u64::MAX;

/// A packet that somebody wants to hear of again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Probe {
    pub(super) key: u64,
    pub(super) waited: Picos,
    /// When its last bit left the first link's near end.
    pub(super) departed: Option<Picos>,
    /// The link at whose far end it leaves, from 0; beyond the last: at the path's.
    pub(super) last: usize,
}

/// Whose packet it is, where links tell flows or classes apart.
#[derive(Copy, Clone, Debug)]
pub(super) struct Owner {
    /// Number of its flow, from 1 on; the injected packets are flow 0.
    pub(super) flow: u32,
    pub(super) priority: u8,
}

/// A packet that goes on after this link, or came from the one before it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Parcel {
    /// Injected.
    Probe(Probe),
    /// Of cross traffic, with the links that it still passes.
    Cross { links_left: usize, owner: Owner },
}

impl Parcel {
    pub(super) fn flow_number(&self) -> u32 {
        match self {
            Self::Probe(_) => 0,
            Self::Cross { owner, .. } => owner.flow,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Probe(_) => Class::Own,
            Self::Cross { .. } => Class::Cross,
        }
    }

    /// Whether it goes no further than the far end of the link with this number.
    pub(super) fn leaves_after(&self, link: usize) -> bool {
        matches!(self, Self::Probe(probe) if probe.last == link)
    }

    /// Whether anybody hears of it again after the link that it comes to.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(self, Self::Cross { links_left: 1, .. })
    }
}

/// A packet at the far end of the link, or lost on it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Exit {
    Passed { at: Picos, size: Bytes, parcel: Parcel },
    Lost { at: Picos, key: u64, why: WhyLost },
}

/// A packet that comes to the link.
#[derive(Copy, Clone, Debug)]
pub(super) struct Arrival {
    pub(super) at: Picos,
    pub(super) size: Bytes,
    pub(super) parcel: Parcel,
}

/// When a packet begins to be sent, and when its last bit is out.
struct Slot {
    start: Picos,
    sent: Picos,
}

#[derive(Clone, Debug)]
pub(super) struct Hop {
    link: LinkSpec,
    tempo: Tempo,
    counted: Counted,
    propagation: Picos,
    /// Larger packets do not pass.
    largest: Bytes,
    sources: Vec<Source>,
    /// Of each source's packets.
    owners: Vec<Owner>,
    /// From the link before, or injected; in order of time.
    arrivals: VecDeque<Arrival>,
    /// When the injected ones among `arrivals` come.
    probe_arrivals: VecDeque<Picos>,
    /// When the next packet's first bit may go.
    free: Picos,
    bucket: Option<Bucket>,
    policer: Option<Bucket>,
    /// When the last packet that went on reached the far end: none may overtake it.
    last_exit: Picos,
    /// Packets waiting, first come, first served: when each begins to be sent, and its size.
    waiting: VecDeque<(Picos, Bytes)>,
    waiting_bytes: u64,
    /// Packets waiting whose turns are still open; `None`: first come, first served.
    backlog: Option<Backlog>,
    /// How long cross traffic of long ago shows in the queue; `None`: all of it must be drawn.
    memory: Option<Picos>,
    /// Share of the link's time that the sources may take for long.
    load: f64,
    /// When the queue has got over the last packet from before.
    settled: Picos,
    chance: Stream,
    packets: u64,
    meter: Meter,
    /// Of what is not drawn.
    rests: Rests,
    /// Whether any source wants to hear what becomes of its packets.
    reacts: bool,
}

impl Hop {
    /// `streams` gives the random stream of each part of the link; its flows are numbered from `first_flow` on.
    pub(super) fn new(link: &LinkSpec, first_flow: u32, streams: impl Fn(u64) -> Stream) -> Self {
        let numbered = link.cross.iter().zip(first_flow..).zip(1..);
        let (sources, owners) = numbered
            .filter_map(|((spec, flow), part)| {
                let owner = Owner { flow, priority: spec.priority };
                Source::new(spec, link, streams(part)).map(|source| (source, owner))
            })
            .unzip();
        let mut hop = Self {
            tempo: Tempo::of(link.rate),
            counted: Counted::of_link(link),
            propagation: link.propagation.0.saturating_mul(super::PICOS),
            largest: link.mtu.map_or(Bytes(u64::MAX), |mtu| mtu + ETHERNET_OVERHEAD),
            sources,
            owners,
            arrivals: VecDeque::new(),
            probe_arrivals: VecDeque::new(),
            free: 0,
            bucket: link.shaper.as_ref().map(Bucket::new),
            policer: link.policer.as_ref().map(Bucket::policing),
            last_exit: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            backlog: Backlog::new(link.discipline, link.queue),
            memory: None,
            load: 0.0,
            settled: 0,
            chance: streams(0),
            packets: 0,
            meter: Meter::new(),
            rests: Rests::new(streams(RESTS)),
            reacts: false,
            link: link.clone(),
        };
        hop.reacts = hop.sources.iter().any(Source::reacts);
        hop.load = hop.sources.iter().map(|source| source.most).sum();
        hop.memory = hop.memory();
        hop
    }

    /// Twenty relaxation times of the queue, each at most s / (1 - sqrt(rho))^2 for packets of s and load rho (that
    /// of M/M/1; Cohen 1982): the difference that the state before it makes has shrunk by exp(-20).
    fn memory(&self) -> Option<Picos> {
        let longest = self.sources.iter().map(|source| self.busy(source.largest)).max()?;
        let leaves_here = self.sources.iter().all(|source| source.hops == 1);
        // A bucket that was emptied long ago may not be full yet.
        (leaves_here && self.bucket.is_none() && self.policer.is_none() && self.load < 0.95)
            .then(|| (20.0 * longest as f64 / (1.0 - self.load.sqrt()).powi(2)) as Picos)
    }

    /// A packet comes; not before what is worked off.
    pub(super) fn arrives(&mut self, at: Picos, size: Bytes, parcel: Parcel) {
        if matches!(parcel, Parcel::Probe(_)) {
            put(&mut self.probe_arrivals, at, |at| *at);
        }
        put(&mut self.arrivals, Arrival { at, size, parcel }, |arrival| arrival.at);
    }

    /// The last arrival from before that is not yet worked off.
    pub(super) fn latest_arrival(&self) -> Option<Picos> {
        self.arrivals.back().map(|arrival| arrival.at)
    }

    /// Up to when the link must be worked off for the sake of an injected packet that came to it.
    pub(super) fn next_probe(&self) -> Option<Picos> {
        // Where one waits, the next turn may be its own.
        let turn = self.backlog.as_ref().filter(|backlog| backlog.has_probes()).map(|_| self.free);
        self.probe_arrivals.front().copied().into_iter().chain(turn).min()
    }

    /// Packets accepted or dropped so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// The least time from a packet's arrival here to its arrival at the far end.
    pub(super) fn least_passage(&self) -> Picos {
        self.tempo.time_for(self.link.framing.padded(Bytes(0))) + self.propagation
    }

    /// How fast packets may follow one another at most; `None`: at once.
    pub(super) fn pace(&self) -> Option<BitRate> {
        let peak = self.link.shaper.and_then(|shaper| shaper.peak);
        self.link.rate.into_iter().chain(peak).min()
    }

    /// Packets for each picosecond that enter here and go on to the next link.
    pub(super) fn going_on(&self) -> f64 {
        let going_on = self.link.cross.iter().filter(|cross| cross.hops > 1);
        going_on.map(|cross| cross.packets_per_second(&self.link) * 1e-12).sum()
    }

    /// Given that everything that arrives here up to `horizon` is known: up to when is everything known that comes
    /// out at the far end?
    pub(super) fn horizon_after(&self, horizon: Picos) -> Picos {
        // A queue that may forget promises nothing of what fills it.
        let free = if self.memory.is_some() { 0 } else { self.free };
        horizon.max(free).saturating_add(self.least_passage()).max(self.last_exit)
    }

    /// Works off all arrivals up to `horizon`, cross traffic before a packet that comes at the same instant. Turns
    /// come before arrivals at the same instant: whoever may still come is not there yet.
    pub(super) fn work_off(&mut self, horizon: Picos, mut exits: impl FnMut(Exit)) {
        loop {
            let arrival = self.arrivals.front().map(|arrival| arrival.at);
            if self.backlog.is_some() {
                let crossing = self.next_crossing().map_or(horizon, |(_, at)| at);
                let until = arrival.map_or(horizon, |at| at.min(horizon)).min(crossing);
                // Whoever hears of a turn may come before the next one.
                let turn = if self.reacts { until.min(self.free) } else { until };
                if self.serve(turn, &mut exits) && self.reacts {
                    continue;
                }
            }
            let drawn_until = self.skip_to(arrival).min(horizon);
            match (self.next_crossing(), arrival) {
                (Some((index, at)), _)
                    if at <= drawn_until && arrival.is_none_or(|arrival| at <= arrival) =>
                {
                    let source = &mut self.sources[index];
                    let (size, links_left) = (source.size, source.hops);
                    source.step();
                    let parcel = Parcel::Cross { links_left, owner: self.owners[index] };
                    self.carry(Arrival { at, size, parcel }, &mut exits);
                    self.sources[index].plan();
                }
                (_, Some(at)) if at <= horizon => {
                    if let Some(arrival) = self.arrivals.pop_front() {
                        if matches!(arrival.parcel, Parcel::Probe(_)) {
                            self.probe_arrivals.pop_front();
                        }
                        self.carry(arrival, &mut exits);
                        let backlog = (self.free - at).max(0) as f64 + self.open_work() as f64;
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
        if self.backlog.as_ref().is_some_and(Backlog::is_followed) {
            // Whoever comes next may take its turn.
            return arrival.unwrap_or(Picos::MAX);
        }
        let awake = self.settled.saturating_add(2 * memory);
        match arrival {
            // Not known yet. Further than this nothing drawn could be of use.
            None => awake,
            Some(at) if at <= awake => at,
            Some(at) => {
                let resumed = at - memory;
                self.rests.pass(&self.sources, resumed, &mut self.meter, self.counted);
                self.sources.iter_mut().for_each(|source| source.resume(resumed));
                self.waiting.clear();
                self.waiting_bytes = 0;
                self.backlog.iter_mut().for_each(Backlog::clear);
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
    fn carry(&mut self, arrival: Arrival, exits: &mut impl FnMut(Exit)) {
        self.packets += 1;
        if arrival.size > self.largest {
            return self.drop(&arrival, arrival.at, WhyLost::TooBig, exits);
        }
        let size = self.link.framing.padded(arrival.size);
        if self.policer.as_mut().is_some_and(|policer| !policer.admits(arrival.at, size)) {
            return self.drop(&arrival, arrival.at, WhyLost::Policed, exits);
        }
        if self.backlog.is_some() {
            return self.take_turn(arrival, exits);
        }
        match self.enqueue(arrival.at, arrival.size) {
            Some(slot) => self.come_out(arrival, slot, exits),
            None => self.drop(&arrival, arrival.at, WhyLost::QueueFull, exits),
        }
    }

    /// Drops a packet before it is sent.
    fn drop(&mut self, arrival: &Arrival, at: Picos, why: WhyLost, exits: &mut impl FnMut(Exit)) {
        if arrival.parcel.class() == Class::Cross {
            self.meter.add(at, Class::Dropped, self.counted.of(arrival.size));
        }
        if self.reacts {
            self.tell(arrival, Fate::Dropped(at));
        }
        lose(arrival, at, why, exits);
    }

    /// Sends a packet at once where nobody is before it, or else lets it wait for its turn.
    // Apart, as `serve` is, so that first come, first served stays one tight loop.
    #[inline(never)]
    fn take_turn(&mut self, arrival: Arrival, exits: &mut impl FnMut(Exit)) {
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
    fn serve(&mut self, until: Picos, exits: &mut impl FnMut(Exit)) -> bool {
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

    /// Tells the source of a packet what became of it.
    #[inline(never)]
    fn tell(&mut self, arrival: &Arrival, fate: Fate) {
        let flow = arrival.parcel.flow_number();
        if let Some(index) = self.owners.iter().position(|owner| owner.flow == flow) {
            self.sources[index].hears(arrival.at, fate);
        }
    }

    /// Time that those will take whose turns are still open.
    fn open_work(&self) -> Picos {
        self.backlog.as_ref().map_or(0, |backlog| self.tempo.time_for(backlog.bytes()))
    }

    /// When a packet that comes at `at` is sent, first come, first served; `None` if the queue is full.
    #[inline]
    fn enqueue(&mut self, at: Picos, size: Bytes) -> Option<Slot> {
        if self.link.queue == QueueLimit::Unlimited {
            return Some(self.send(at, size));
        }
        while let Some((began, size)) = self.waiting.front().copied()
            && began <= at
        {
            self.waiting.pop_front();
            self.waiting_bytes -= size.0;
        }
        if self.free > at || !self.waiting.is_empty() {
            let full = match self.link.queue {
                QueueLimit::Unlimited => false,
                QueueLimit::Packets(limit) => self.waiting.len() as u64 >= limit,
                QueueLimit::Bytes(limit) => self.waiting_bytes.saturating_add(size.0) > limit.0,
            };
            if full {
                return None;
            }
        }
        let slot = self.send(at, size);
        if slot.start > at {
            self.waiting.push_back((slot.start, size));
            self.waiting_bytes += size.0;
        }
        Some(slot)
    }

    /// Sends a packet as soon as the link is free and the bucket holds enough, from `from` on.
    #[inline(always)]
    fn send(&mut self, from: Picos, size: Bytes) -> Slot {
        let framing = self.link.framing;
        let padded = framing.padded(size);
        let mut start = self.free.max(from);
        if let Some(bucket) = &mut self.bucket {
            start = bucket.take(start, padded);
        }
        let sent = start.saturating_add(self.tempo.time_for(padded));
        self.free = sent.saturating_add(self.tempo.time_for(framing.gap()));
        if let Some(bucket) = &self.bucket {
            self.free = self.free.max(start.saturating_add(bucket.spacing(padded)));
        }
        Slot { start, sent }
    }

    /// What becomes of a packet once it is sent.
    #[inline(always)]
    fn come_out(&mut self, arrival: Arrival, Slot { start, sent }: Slot, exits: &mut impl FnMut(Exit)) {
        let Arrival { at: came, size, parcel } = arrival;
        // What comes before a rest was counted to has been counted with it.
        if came >= self.rests.counted_until() || parcel.class() == Class::Own {
            self.meter.add(start, parcel.class(), self.counted.of(size));
        }
        if self.reacts && parcel.class() == Class::Cross {
            let damaged = happens(self.link.loss, &mut self.chance);
            self.tell(&arrival, if damaged { Fate::Dropped(sent) } else { Fate::Passed(sent) });
        }
        let parcel = match parcel {
            Parcel::Cross { links_left: 1, .. } => return,
            Parcel::Cross { links_left, owner } => Parcel::Cross { links_left: links_left - 1, owner },
            Parcel::Probe(Probe { key, waited, departed, last }) => Parcel::Probe(Probe {
                key,
                last,
                waited: waited + (start - came),
                departed: departed.or(Some(sent)),
            }),
        };
        let jitter = match &self.link.jitter {
            Times::Fixed(Nanos::ZERO) => 0,
            jitter => jitter.sample(&mut self.chance).0.saturating_mul(super::PICOS),
        };
        let damaged = happens(self.link.loss, &mut self.chance);
        let mut at = sent.saturating_add(self.propagation).saturating_add(jitter).max(self.last_exit);
        self.last_exit = at;
        if damaged {
            return lose(&arrival, at, WhyLost::Damaged, exits);
        }
        if let Some(reordering) = &self.link.reordering
            && happens(reordering.share, &mut self.chance)
        {
            let by = reordering.by.sample(&mut self.chance);
            at = at.saturating_add(by.0.saturating_mul(super::PICOS));
        }
        let copies = 1 + u32::from(happens(self.link.duplication, &mut self.chance));
        (0..copies).for_each(|_| exits(Exit::Passed { at, size, parcel }));
    }

    /// How long a packet keeps the link busy.
    fn busy(&self, size: Bytes) -> Picos {
        self.tempo.time_for(self.link.framing.occupied(size))
    }

    /// What the link, number `link` of its path, carried up to `at`, in bytes that packets take of a link; `largest` is
    /// the largest packet under test. Of those, `share` takes this link.
    pub(super) fn count(&mut self, at: Picos, link: usize, share: f64, largest: Bytes) -> LinkCount {
        if self.memory.is_some() {
            self.rests.pass(&self.sources, at, &mut self.meter, self.counted);
        }
        let [own, cross, cross_dropped] = self.meter.until(at);
        let scale = self.counted.scale(largest);
        let rate = self.counted.rate.map(|rate| BitRate((rate.0 as f64 * scale).round() as u64));
        let [own, cross, cross_dropped] = [own, cross, cross_dropped].map(|bytes| bytes * scale);
        LinkCount { link, rate, share, own, cross, cross_dropped }
    }

    /// Packets that there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let backlog = self.backlog.as_ref().map_or(0, Backlog::room);
        self.arrivals.capacity() + self.probe_arrivals.capacity() + self.waiting.capacity() + backlog
    }
}

/// Puts `item` behind all that are not later. Packets of the link before come in order; only what was injected in the
/// middle of the path may be there already with a later time.
fn put<T>(queue: &mut VecDeque<T>, item: T, at: impl Fn(&T) -> Picos) {
    let time = at(&item);
    match queue.back() {
        Some(back) if at(back) > time => {
            let place = queue.partition_point(|other| at(other) <= time);
            queue.insert(place, item);
        }
        _ => queue.push_back(item),
    }
}

/// Something that happens by chance; what never happens takes no draw.
fn happens(share: f64, chance: &mut Stream) -> bool {
    share > 0.0 && chance.random::<f64>() < share
}

/// Tells of a lost packet whoever wants to hear of it.
fn lose(arrival: &Arrival, at: Picos, why: WhyLost, exits: &mut impl FnMut(Exit)) {
    if let Parcel::Probe(Probe { key, .. }) = arrival.parcel {
        exits(Exit::Lost { at, key, why });
    }
}
