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
use super::tracker::{TIMEOUT, is_copy_at};
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
    /// Whether the first one opened it; `None` where that is not known.
    first_opened: Option<bool>,
    /// Behind each end's last SYN with its data.
    begun: [Option<u32>; 2],
    /// Since when it is watched, or nothing else can have come between; [`NEVER`] before anything passed.
    since: Nanos,
}

const NEVER: Nanos = Nanos(i64::MIN);

impl Default for Connection {
    fn default() -> Self {
        Self { sent: Default::default(), first_opened: None, begun: [None; 2], since: NEVER }
    }
}

/// A copy passes no later than this after what it is a copy of: what mirrors and networks make, and what waits in the queues of one of
/// several ways. Of handshakes that are over it is the same.
const COPY: Nanos = TIMEOUT;

impl Connection {
    /// A SYN of this end, so long after the last of the flow: whether it begins what follows. What is sent again changes nothing, as long
    /// as nothing followed; nor does a copy, whatever did.
    fn begins(&mut self, end: usize, after_syn: u32, silence: Nanos) -> bool {
        let is_same = self.begun[end].replace(after_syn) == Some(after_syn);
        // A SYN that was refused may be sent again by the client itself, half a second later (Windows), and answered.
        let is_refused = self.sent.iter().all(Sent::is_unheard);
        let is_copy = is_same && if is_refused { is_copy_at(Nanos::ZERO, silence) } else { silence < COPY };
        !is_copy && !self.sent[end].begins(after_syn)
    }

    /// A SYN without ACK of this end begins another, unless the other end has sent one too and nothing else; or no end heeds it, and all
    /// goes on.
    fn begin(&mut self, is_first: bool, at: Nanos) {
        let crosses = self.sent[usize::from(is_first)].is_begun();
        // Who has asked is known before anything is answered where nothing else was heard of these ends, or it is the same again.
        let is_opener = crosses || self.sent.iter().all(Sent::is_unheard);
        if !is_opener {
            self.first_opened = self.first_opened.filter(|first| *first == is_first);
        } else if self.first_opened.is_none() {
            self.first_opened = Some(is_first);
        }
        if !crosses {
            self.doubt(at);
            // What answers this is no copy of what answered another.
            self.begun[usize::from(is_first)] = None;
        }
    }

    /// What passes from here on may be of another connection, or of this one and nothing new.
    fn doubt(&mut self, at: Nanos) {
        (self.sent, self.since) = (Default::default(), at);
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
        let Kept { state: connection, is_first, silence, mut beside } = self.flows.of(flow, from, to, at);
        let is_answer = flags.has(TcpFlags::ACK);
        let (is_syn, stamp) = (flags.has(TcpFlags::SYN), options.timestamps.map(|stamps| stamps.value));
        let after_syn = sequence.wrapping_add(1).wrapping_add(payload);
        let begins = is_syn && connection.begins(usize::from(!is_first), after_syn, silence);
        if flags.has(TcpFlags::RST) {
            connection.doubt(at);
            connection.first_opened = None;
        } else if begins && !is_answer {
            connection.begin(is_first, at);
        }
        if connection.since == NEVER {
            connection.since = at;
        }
        let [first, second] = &mut connection.sent;
        let (own, others) = if is_first { (first, second) } else { (second, first) };
        let opens = begins && is_answer && others.is_opened_by(acknowledgment);
        if opens || begins && is_answer && connection.first_opened.is_none() {
            connection.first_opened = Some(!is_first);
        }
        let end = connection.first_opened.map(|first| End::of(first == is_first));
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
            if opens {
                own.opened();
                others.opened();
            }
        } else if length > 0 && !is_syn && !flags.has(TcpFlags::RST) {
            let is_first_stamp = own.is_seen() || at - connection.since >= COPY;
            own.send(at, sequence, length, stamp.map(|stamp| (stamp, is_first_stamp)), payload > 0);
        } else if let Some(stamp) = stamp {
            // A pure ACK asks for nothing: its stamp is echoed when the other end happens to send something, and an
            // echo of data with the same stamp may be of this (RFC 7323, 4.3).
            own.stamp(stamp, at, false);
        }
    }
}

#[cfg(test)]
mod tests;
