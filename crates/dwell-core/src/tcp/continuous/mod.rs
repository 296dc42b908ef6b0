//! Round-trip times throughout the life of a connection, apart from those of its handshake.
//!
//! A handshake tells one round trip, at its beginning. What follows tells many: by time stamps, by acknowledgments, by
//! replies, and of QUIC by its handshake and its spin bit. Each holds what the answering end took itself (delayed
//! acknowledgments too), and one whose answer was lost is too long: the shortest of an interval is what tells the path.

mod flows;
mod interval;
mod quic;
mod sample;
mod sent;
mod shortest;
mod throughout;

pub use interval::RoundTrips;
pub use quic::Quic;
pub use sample::{By, End, Sample};
pub use throughout::{Samples, Throughout};

use super::dissect::Datagram;
use super::tracker::is_copy_at;
use super::{FlowHash, Half, Segment, TcpFlags};
use crate::unit::Nanos;
use flows::{Beside, Flows, Kept, State};
use sample::Trip;
use sent::Sent;
use shortest::SIGNS;

/// How much is kept of flows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Flows at most. One takes less than 512 bytes.
    pub flows: usize,
    /// A flow that is silent for longer, in packet time, begins anew.
    pub patience: Nanos,
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self { flows: 32_768, patience: Nanos::from_secs(120) }
    }
}

/// Round-trip times throughout the lives of TCP connections.
#[derive(Debug)]
pub struct Continuous {
    flows: Flows<Connection>,
    unproven: u64,
}

/// A TCP connection.
#[derive(Clone, Debug)]
struct Connection {
    /// By the end that was heard first, and by the other.
    sent: [Sent; 2],
    /// Whether the first one opened it; `None` where that was not seen.
    first_opened: Option<bool>,
    /// Behind each end's SYN with its data, and when it passed last.
    begun: [u32; 2],
    begun_at: [Nanos; 2],
}

impl Default for Connection {
    fn default() -> Self {
        let sent = <[Sent; 2]>::default();
        Self { sent, first_opened: None, begun: [0; 2], begun_at: [NEVER; 2] }
    }
}

const NEVER: Nanos = Nanos(i64::MIN);

impl Connection {
    /// A SYN of this end: whether it begins what follows. What is sent again changes nothing, as long as nothing followed; nor does
    /// what is seen twice, by a mirror, whatever did.
    fn begins(&mut self, end: usize, after_syn: u32, at: Nanos) -> bool {
        let is_copy = self.begun[end] == after_syn && is_copy_at(self.begun_at[end], at);
        (self.begun[end], self.begun_at[end]) = (after_syn, at);
        !is_copy && !self.sent[end].begins(after_syn)
    }
}

impl State for Connection {
    const SIGNS: [By; SIGNS] = [By::Timestamps, By::Acknowledgment, By::Response];
}

impl Continuous {
    /// One that has seen nothing.
    #[must_use]
    pub fn new(limits: FlowLimits) -> Self {
        Self { flows: Flows::new(limits.flows, limits.patience), unproven: 0 }
    }

    /// How many flows had to give way to others.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.flows.forgotten()
    }

    /// How many acknowledgments told nothing, as what they answer may have been sent before the connection was seen.
    #[must_use]
    pub const fn unproven(&self) -> u64 {
        self.unproven
    }

    /// Shows a segment of this flow.
    pub fn see(&mut self, flow: FlowHash, segment: &Segment, take: &mut impl FnMut(Sample)) {
        self.see_beside(flow, segment, &mut |trip, beside| take(trip.between(*beside.ends)));
    }

    /// The same, with what the interval has of the flow.
    fn see_beside(
        &mut self,
        flow: FlowHash,
        segment: &Segment,
        take: &mut impl FnMut(Trip, &mut Beside<'_>),
    ) {
        let Segment { at, ref from, ref to, flags, sequence, acknowledgment, payload, ref options } =
            *segment;
        let Kept { state: connection, is_first, mut beside } = self.flows.of(flow, from, to, at);
        let is_answer = flags.has(TcpFlags::ACK);
        let (is_syn, stamp) = (flags.has(TcpFlags::SYN), options.timestamps.map(|stamps| stamps.value));
        let after_syn = sequence.wrapping_add(1).wrapping_add(payload);
        let number = usize::from(!is_first);
        let begins = is_syn && connection.begins(number, after_syn, at);
        if flags.has(TcpFlags::RST) || begins && !is_answer {
            let (begun, begun_at) = (connection.begun, connection.begun_at);
            *connection = Connection { begun, begun_at, ..Connection::default() };
        }
        if is_syn {
            connection.first_opened = Some(is_first != is_answer);
        }
        let end = connection.first_opened.map(|first| End::of(first == is_first));
        let [first, second] = &mut connection.sent;
        let (own, others) = if is_first { (first, second) } else { (second, first) };
        if is_answer {
            let mut tell = |asked: Option<Nanos>, by| {
                if let Some(value) = asked.map(|asked| at - asked).filter(|value| *value >= Nanos::ZERO) {
                    let trip = Trip { at, value: Half::Exact(value), by, to_first: is_first, end };
                    take(trip, &mut beside);
                }
            };
            let answered = others.acknowledged(at, acknowledgment);
            let echoed = options.timestamps.and_then(|stamps| others.echoed(stamps.echo));
            // What may have been sent before it was seen is answered surely where its own time stamp is echoed.
            let is_proven = others.is_seen() || answered == echoed;
            self.unproven += u64::from(answered.is_some() && !is_proven);
            tell(answered.filter(|_| is_proven), By::Acknowledgment);
            tell(echoed, By::Timestamps);
            // What is sent again replies to nothing, nor does a byte that only asks whether the other end is there: it is an old
            // one (RFC 9293, 3.8.4).
            if payload > 0 && own.is_more(sequence.wrapping_add(payload)) {
                tell(others.replied(acknowledgment), By::Response);
            }
        }
        let length = payload.saturating_add(u32::from(flags.has(TcpFlags::FIN)));
        if begins {
            own.begin(after_syn, stamp);
            if is_answer && others.is_opened_by(acknowledgment) {
                own.opened();
                others.opened();
            }
        } else if length > 0 && !is_syn && !flags.has(TcpFlags::RST) {
            own.send(at, sequence, length, stamp, payload > 0);
        } else if let Some(stamp) = stamp {
            // A pure ACK asks for nothing: its stamp is echoed when the other end happens to send something, and an
            // echo of data with the same stamp may be of this (RFC 7323, 4.3).
            own.stamp(stamp, at, false);
        }
    }
}

#[cfg(test)]
mod tests;
