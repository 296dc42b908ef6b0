//! What was seen of a run of TCP connections: samples at both ends, each on its own clock, from the same beginning.

use crate::stats::quantile::median;
use crate::train::Direction;
use crate::unit::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A run of one or several TCP connections in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Which way the data went.
    pub direction: Direction,
    /// How long the receiver was to count.
    pub asked: Nanos,
    /// Whether the receiver sized its window by SOBAS.
    pub autotuned: bool,
    /// What the connections were.
    pub connection: Connection,
    /// At the sending end, in the order of time.
    pub sender: Vec<SenderSample>,
    /// At the receiving end, in the order of time; zero is the first byte's arrival.
    pub receiver: Vec<ReceiverSample>,
}

/// What does not change while connections last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Congestion control of the sender.
    pub congestion: String,
    /// Payload of a full segment.
    pub segment: Bytes,
    /// What a full segment's IP packet has beside: headers of IP and TCP with options.
    pub headers: Bytes,
}

/// What the scheduler did with the thread that moves a connection's data, counted from its start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// Time on a core.
    pub running: Nanos,
    /// Time that it could have run and had no core.
    pub waiting: Nanos,
}

impl Threads {
    /// The share of `span` in which it ran or wanted to, from `before` on.
    #[must_use]
    pub fn busy_since(self, before: Self, span: Nanos) -> f64 {
        let busy = (self.running - before.running) + (self.waiting - before.waiting);
        busy.as_f64() / span.as_f64().max(1.0)
    }
}

/// A connection as its sender's kernel tells it (TCP_INFO); times and counts are from its beginning.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// Smoothed round-trip time.
    pub rtt: Nanos,
    /// The least round-trip time.
    pub min_rtt: Nanos,
    /// Congestion window, in segments.
    pub window: u32,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Segments with data sent, those sent again too.
    pub segments: u64,
    /// Time with something to send or to be acknowledged.
    pub busy: Nanos,
    /// Of it, stalled by the receiver's window.
    pub receiver_limited: Nanos,
    /// Of it, stalled by the sender's socket buffer.
    pub buffer_limited: Nanos,
    /// Its thread.
    pub thread: Threads,
}

/// A connection as its receiver sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// Bytes that the program has read.
    pub received: Bytes,
    /// Bytes that wait to be read.
    pub unread: Bytes,
    /// Round-trip time as the receiver's kernel has it.
    pub rtt: Nanos,
    /// The least of it.
    pub min_rtt: Nanos,
    /// The window that it was told to keep to; `None`: the kernel's own.
    pub window: Option<Bytes>,
    /// Its thread.
    pub thread: Threads,
}

/// What a host did in all since the sample before.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// Share of its time that the busiest core was busy; `None`: not known.
    pub busiest_core: Option<f64>,
}

/// One look at the sending end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SenderSample {
    /// When.
    pub at: Nanos,
    /// Connection by connection.
    pub connections: Vec<Sender>,
    /// The host.
    pub host: HostLoad,
}

/// One look at the receiving end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiverSample {
    /// When.
    pub at: Nanos,
    /// Connection by connection.
    pub connections: Vec<Receiver>,
    /// The host.
    pub host: HostLoad,
}

impl ReceiverSample {
    /// Bytes read on all connections.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.connections.iter().fold(0, |sum, one| sum.saturating_add(one.received.0))
    }
}

/// One sub-interval of a run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// When it began.
    pub from: Nanos,
    /// How long it lasted.
    pub span: Nanos,
    /// The rate at which the program read.
    pub rate: BitRate,
    /// Median of the sender's round-trip time in it, where one was told.
    pub rtt: Option<Nanos>,
}

impl Transfer {
    /// Connections in it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.receiver.last().map_or(0, |sample| sample.connections.len())
    }

    /// How long the receiver counted.
    #[must_use]
    pub fn span(&self) -> Nanos {
        self.receiver.last().map_or(Nanos::ZERO, |sample| sample.at)
    }

    /// Bytes that the program read.
    #[must_use]
    pub fn received(&self) -> Bytes {
        Bytes(self.receiver.last().map_or(0, ReceiverSample::received))
    }

    /// The run in sub-intervals of about `length`, as its samples cut it; a rest shorter than half of that is left out.
    #[must_use]
    pub fn intervals(&self, length: Nanos) -> Vec<Interval> {
        let mut intervals = Vec::new();
        let (mut from, mut bytes) = (Nanos::ZERO, 0);
        let last = self.receiver.len().saturating_sub(1);
        for (index, sample) in self.receiver.iter().enumerate() {
            let span = sample.at - from;
            let due = span >= length || (index == last && span.0 > length.0 / 2);
            if !due || span <= Nanos::ZERO {
                continue;
            }
            let received = sample.received();
            let bits = received.saturating_sub(bytes) as f64 * 8.0;
            let rtts: Vec<f64> = self.rtts(from, sample.at).collect();
            intervals.push(Interval {
                from,
                span,
                rate: BitRate((bits / span.as_secs_f64()) as u64),
                rtt: median(&rtts).map(Nanos::from_f64),
            });
            (from, bytes) = (sample.at, received);
        }
        intervals
    }

    /// The rate of its second half, when its ramp is over.
    #[must_use]
    pub fn later_rate(&self) -> BitRate {
        let Some(last) = self.receiver.last() else { return BitRate(0) };
        let Some(half) = self.receiver.iter().find(|sample| sample.at.0 >= last.at.0 / 2) else {
            return BitRate(0);
        };
        let bits = last.received().saturating_sub(half.received()) as f64 * 8.0;
        BitRate((bits / (last.at - half.at).as_secs_f64().max(1e-9)) as u64)
    }

    /// The sender's round-trip times within a part of the run, of all connections.
    pub fn rtts(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = f64> + '_ {
        let within = self.sender.iter().filter(move |sample| sample.at > from && sample.at <= to);
        within.flat_map(|sample| &sample.connections).map(|one| one.rtt.as_f64()).filter(|rtt| *rtt > 0.0)
    }
}
