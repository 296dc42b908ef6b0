//! What is known of a handshake that is over.

use super::super::{Endpoint, Flag, Segment};
use super::missed::UNSEEN_DATA;
use super::progress::{Progress, data};
use crate::unit::Nanos;

/// What is known of a handshake that is over: enough to tell what comes late from what begins another one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    ends: Ends,
    /// When its last segment passed.
    pub(super) touched: Nanos,
    pub(super) isn_client: u32,
    isn_server: u32,
    previous: u32,
    pub(super) syn_data: u16,
    previous_data: u16,
    /// Any of [`WITHOUT_SYN`], [`CROSSED`] and [`SECOND`].
    kind: u32,
}

/// No SYN of it has passed.
const WITHOUT_SYN: u32 = 1;
/// Both ends opened it.
const CROSSED: u32 = 2;
/// The ports had a connection before it.
const SECOND: u32 = 4;

/// A client and a server, as they are compared.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    addresses: [u128; 2],
    /// The client's in the upper half.
    ports: u32,
}

impl Ends {
    pub(super) fn of(client: &Endpoint, server: &Endpoint) -> Self {
        let bits = |end: &Endpoint| u128::from_ne_bytes(end.octets());
        Self {
            addresses: [bits(client), bits(server)],
            ports: u32::from(client.port) << 16 | u32::from(server.port),
        }
    }

    pub(super) const fn turned(self) -> Self {
        let Self { addresses: [client, server], ports } = self;
        Self { addresses: [server, client], ports: ports.rotate_left(16) }
    }
}

/// One of these in eight words: all of a line of the cache.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
pub(super) struct Packed([u64; 8]);

impl Ended {
    pub(super) fn of(progress: &Progress, touched: Nanos) -> Self {
        let (client, server) = progress.ends();
        let kinds = [
            (progress.is_without_syn(), WITHOUT_SYN),
            (progress.has(Flag::SimultaneousOpen), CROSSED),
            (progress.previous.is_some(), SECOND),
        ];
        Self {
            ends: Ends::of(client, server),
            touched,
            isn_client: progress.isn_client,
            isn_server: progress.isn_server,
            previous: progress.previous.unwrap_or(0),
            syn_data: progress.syn_data,
            previous_data: progress.previous_data,
            kind: kinds.into_iter().map(|(is_so, kind)| if is_so { kind } else { 0 }).sum(),
        }
    }

    pub(super) fn packed(&self) -> Packed {
        let [client, server] = self.ends.addresses;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let halves = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        Packed([
            client as u64,
            (client >> 64) as u64,
            server as u64,
            (server >> 64) as u64,
            pair(self.ends.ports, self.isn_client),
            pair(self.isn_server, self.previous),
            self.touched.0 as u64,
            pair(halves(self.syn_data, self.previous_data), self.kind),
        ])
    }

    pub(super) fn unpacked(packed: &Packed) -> Self {
        let [client, client_high, server, server_high, ports, server_isn, touched, rest] = packed.0;
        let address = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        Self {
            ends: Ends {
                addresses: [address(client_high, client), address(server_high, server)],
                ports: (ports >> 32) as u32,
            },
            touched: Nanos(touched as i64),
            isn_client: ports as u32,
            isn_server: (server_isn >> 32) as u32,
            previous: server_isn as u32,
            syn_data: (rest >> 48) as u16,
            previous_data: (rest >> 32) as u16,
            kind: rest as u32,
        }
    }

    /// Whether it was between these two, whichever was the client.
    pub(super) fn is_between(&self, ends: &Ends) -> bool {
        self.ends == *ends || self.ends == ends.turned()
    }

    const fn is(&self, kind: u32) -> bool {
        self.kind & kind != 0
    }

    fn sent_by_client(&self, segment: &Segment) -> bool {
        self.ends == Ends::of(&segment.from, &segment.to)
    }

    /// Whether a SYN is this one's, and comes late.
    pub(super) fn has_syn(&self, syn: &Segment) -> bool {
        if !self.sent_by_client(syn) {
            return self.is(CROSSED) && self.isn_server == syn.sequence;
        }
        // What a SYN without data repeats may have had some; so may one that passes after its answer.
        let beyond = self.isn_client.wrapping_sub(syn.sequence);
        let had_data = beyond <= u32::from(data(syn)) || syn.payload == 0 && beyond <= UNSEEN_DATA;
        beyond == 0 || self.is(WITHOUT_SYN) && had_data
    }

    /// Whether a SYN/ACK is this one's, or of the connection before it, and comes late.
    pub(super) fn has_answer(&self, answer: &Segment) -> bool {
        let by_client = self.sent_by_client(answer);
        let beyond = |isn: u32| answer.acknowledgment.wrapping_sub(isn.wrapping_add(1));
        let (own, others) =
            if by_client { (self.isn_client, self.isn_server) } else { (self.isn_server, self.isn_client) };
        self.is(CROSSED) && answer.sequence == own && beyond(others) == 0
            || self.is(SECOND) && beyond(self.previous) <= u32::from(self.previous_data)
            || !by_client && beyond(self.isn_client) <= u32::from(self.syn_data).max(UNSEEN_DATA)
    }
}
