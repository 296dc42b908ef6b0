//! Traffic that reacts: one TCP connection over one link, without end.
//!
//! Each packet that the link sends is acknowledged a base round-trip time after its last bit has left, so queueing is
//! in the round-trip time, and what the link drops is noticed a round trip later. What a connection does about it is
//! RFC 5681 (slow start, `reno`) and RFC 9438 (`cubic`); a loss in a window too small to be noticed by duplicate
//! acknowledgements takes a retransmission time-out (RFC 6298, with Linux's least of 200 ms).

mod window;

use crate::scenario::quantity_text;
use dwell_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use window::Window;

/// One TCP connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Round-trip time without any queue.
    #[serde(with = "quantity_text::duration", default = "usual_rtt")]
    pub rtt: Nanos,
    /// How its window grows.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Most that may be under way: the receiver's window; without it, as much as the network takes.
    #[serde(with = "quantity_text::some_size", default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
}

impl TcpSpec {
    /// A path within a country.
    pub const RTT: Nanos = Nanos::from_millis(20);
}

fn usual_rtt() -> Nanos {
    TcpSpec::RTT
}

/// Congestion avoidance.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438, the default of Linux.
    #[default]
    Cubic,
}

/// Linux's least retransmission time-out, in picoseconds.
const LEAST_TIMEOUT: i64 = 200_000_000_000;

/// Duplicate acknowledgements that tell of a loss (RFC 5681).
const DUPLICATES: usize = 3;

/// What the program has written ahead of the connection, where it writes at a rate: packets.
const WRITTEN_AHEAD: i64 = 128;

/// What the sender hears.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    Acknowledged,
    /// Sent then.
    Lost(i64),
    TimedOut,
}

/// The sender of a connection. Times are in picoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    rtt: i64,
    window: Window,
    /// What it will hear of packets whose fate is certain.
    news: BinaryHeap<Reverse<(i64, News)>>,
    /// Packets under way.
    under_way: usize,
    /// Packets of which nothing is certain yet.
    uncertain: usize,
    now: i64,
    /// What was sent before this told of the same congestion.
    reacted: i64,
    /// From packet to packet, as the program writes; zero: there is always something to send.
    written_every: i64,
    /// When the next packet is written.
    written: i64,
    /// What the last packet took to the far end of the link.
    passage: i64,
}

impl Tcp {
    /// A connection that begins at `start`. `most` is the receiver's window in packets.
    pub(crate) fn new(spec: &TcpSpec, most: f64, written_every: i64, start: i64) -> Self {
        let rtt = spec.rtt.0.saturating_mul(1_000);
        Self {
            rtt,
            window: Window::new(spec.algorithm, most),
            news: BinaryHeap::new(),
            under_way: 0,
            uncertain: 0,
            now: start,
            reacted: i64::MIN,
            written_every,
            written: start,
            passage: 0,
        }
    }

    /// A packet was sent, of which nothing is certain yet.
    pub(crate) fn sent(&mut self, at: i64) {
        self.now = at;
        self.under_way += 1;
        self.uncertain += 1;
        self.written = self.written.max(at - WRITTEN_AHEAD * self.written_every) + self.written_every;
    }

    /// A packet that came to the link at `came` was sent there by `sent`.
    pub(crate) fn passed(&mut self, came: i64, sent: i64) {
        self.uncertain -= 1;
        self.passage = sent - came;
        self.news.push(Reverse((sent.saturating_add(self.rtt), News::Acknowledged)));
    }

    /// A packet that came to the link at `came` was dropped at `at`.
    pub(crate) fn dropped(&mut self, came: i64, at: i64) {
        self.uncertain -= 1;
        let round_trip = self.rtt + self.passage;
        let news = if self.under_way > DUPLICATES {
            (at + round_trip, News::Lost(came))
        } else {
            (at + LEAST_TIMEOUT.max(2 * round_trip), News::TimedOut)
        };
        self.news.push(Reverse(news));
    }

    /// When it sends next; `None`: only when more is certain of what is under way.
    pub(crate) fn next(&mut self) -> Option<i64> {
        loop {
            if (self.under_way as f64) < self.window.packets() {
                return Some(self.now.max(self.written));
            }
            // What is uncertain is later than all that is certain only where nothing overtakes.
            let Reverse((at, news)) = self.news.pop()?;
            self.now = self.now.max(at);
            self.under_way -= 1;
            self.hears(news);
        }
    }

    fn hears(&mut self, news: News) {
        let round_trip = self.rtt + self.passage;
        match news {
            // A window that the program does not fill says nothing of the network (RFC 7661).
            News::Acknowledged if self.under_way + 1 < self.window.packets() as usize / 2 => {}
            News::Acknowledged => self.window.grow(self.now, round_trip),
            News::Lost(sent) if sent < self.reacted => {}
            News::Lost(_) => {
                self.window.halve(self.now);
                self.reacted = self.now;
            }
            News::TimedOut => {
                self.window.restart();
                self.reacted = self.now;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000_000;

    fn tcp(algorithm: Algorithm, written_every: i64) -> Tcp {
        let spec = TcpSpec { rtt: Nanos::from_millis(10), algorithm, window: None };
        Tcp::new(&spec, f64::INFINITY, written_every, 0)
    }

    /// Sends over a link that takes 1 ms a packet and drops what waits longer than `queue`, for `span`. Packets passed
    /// and dropped.
    fn over_a_link(tcp: &mut Tcp, queue: i64, span: i64) -> (i64, i64) {
        let (mut free, mut passed, mut dropped) = (0, 0, 0);
        while let Some(at) = tcp.next().filter(|at| *at < span) {
            tcp.sent(at);
            if free - at > queue {
                tcp.dropped(at, at);
                dropped += 1;
            } else {
                free = free.max(at) + MS;
                tcp.passed(at, free);
                passed += 1;
            }
        }
        (passed, dropped)
    }

    #[test]
    fn a_greedy_connection_fills_the_link_and_loses_little() {
        for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
            let (passed, dropped) = over_a_link(&mut tcp(algorithm, 0), 20 * MS, 60_000 * MS);
            assert!(passed > 55_000, "{algorithm:?}: {passed}");
            assert!(dropped > 20 && dropped < passed / 50, "{algorithm:?}: {dropped}");
        }
    }

    #[test]
    fn a_program_that_writes_slowly_sends_what_it_writes() {
        let (passed, dropped) = over_a_link(&mut tcp(Algorithm::Cubic, 4 * MS), 20 * MS, 20_000 * MS);
        assert!((4_990..=5_010).contains(&passed) && dropped == 0, "{passed} {dropped}");
    }

    #[test]
    fn a_window_limits_the_rate() {
        let spec = TcpSpec { rtt: Nanos::from_millis(10), algorithm: Algorithm::Reno, window: None };
        let mut tcp = Tcp::new(&spec, 4.0, 0, 0);
        // Four packets each 10 ms and the 1 ms that the first takes.
        let (passed, _) = over_a_link(&mut tcp, 20 * MS, 11_000 * MS);
        assert!((3_900..=4_100).contains(&passed), "{passed}");
    }

    #[test]
    fn nothing_is_sent_while_nothing_is_certain() {
        let mut tcp = tcp(Algorithm::Reno, 0);
        let mut sent = 0;
        while let Some(at) = tcp.next() {
            tcp.sent(at);
            sent += 1;
        }
        assert_eq!(sent, 10, "RFC 6928");
        tcp.passed(0, MS);
        assert_eq!(tcp.next(), Some(11 * MS));
    }
}
