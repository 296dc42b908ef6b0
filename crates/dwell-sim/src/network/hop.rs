//! One link at work, with the queue in front of it.

mod sending;
mod turns;

use super::backlog::Backlog;
use super::bucket::Bucket;
use super::cross::{Fate, Source};
use super::meter::{Class, Counted, Meter};
use super::parcel::{Arrival, Exit, Owner, Parcel, lose};
use super::rests::Rests;
use super::{Picos, Tempo, WhyLost};
use crate::link::LinkSpec;
use crate::random::Stream;
use dwell_core::truth::LinkCount;
use dwell_core::unit::ETHERNET_OVERHEAD;
use dwell_core::{BitRate, Bytes, Nanos};
use std::collections::VecDeque;

/// The stream of chance for what is not drawn; sources have those from 1 on.
const RESTS: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Hop {
    link: LinkSpec,
    tempo: Tempo,
    counted: Counted,
    propagation: Picos,
    /// From when on it is another, and which.
    reroute: Option<(Picos, Picos)>,
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

fn picos(time: Nanos) -> Picos {
    time.0.saturating_mul(super::PICOS)
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
            propagation: picos(link.propagation),
            reroute: link.reroute.map(|reroute| (picos(reroute.at), picos(reroute.propagation))),
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
        let later = self.reroute.map_or(self.propagation, |(_, propagation)| propagation);
        self.tempo.time_for(self.link.framing.padded(Bytes(0))) + self.propagation.min(later)
    }

    /// What a packet takes to the far end that is sent then.
    #[inline(always)]
    fn propagation_at(&self, sent: Picos) -> Picos {
        match self.reroute {
            Some((at, propagation)) if sent >= at => propagation,
            _ => self.propagation,
        }
    }

    /// How fast packets may follow one another at most; `None`: at once.
    pub(super) fn pace(&self) -> Option<BitRate> {
        let peak = self.link.shaper.and_then(|shaper| shaper.peak);
        self.link.rate.into_iter().chain(peak).min()
    }

    /// Packets for each picosecond that enter here and go on to the next link.
    pub(super) fn going_on(&self) -> f64 {
        let going_on = self.link.cross.iter().filter(|cross| cross.hops > 1);
        going_on.map(|cross| self.link.packets_of(cross) * 1e-12).sum()
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
                _ => return self.rests.drawn(drawn_until),
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
                self.rests.rest(&self.sources, resumed, &mut self.meter, self.counted);
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

    /// Tells the source of a packet what became of it.
    #[inline(never)]
    fn tell(&mut self, arrival: &Arrival, fate: Fate) {
        let flow = arrival.parcel.flow_number();
        if let Some(index) = self.owners.iter().position(|owner| owner.flow == flow) {
            self.sources[index].hears(arrival.at, fate);
        }
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
