//! How far a handshake of QUIC is, and its halves.
//!
//! What a packet says is encrypted, what it answers is not told by it. Connection IDs are there to be read: a client
//! sends to an ID that it made up until it has the server's first packet, and to the server's own from then on (RFC
//! 9000, 7.2).

use super::super::super::Half;
use super::header::{Id, Kind, Long};
use crate::unit::Nanos;

/// What took as long may have been sent by a timer. RFC 9002, 6.2.2, has the first one run for a second; there are
/// implementations that begin with a round trip of 100 ms, and wait for two. A little less, for timers may be early.
const TIMEOUT: Nanos = Nanos::from_millis(190);

/// A mirror's copy comes sooner than this, what is sent again later.
const COPY: Nanos = Nanos::from_millis(10);

/// What a client sends first has as many bytes at least, and so has the ID that it makes up (RFC 9000, 14.1 and 7.2).
const LEAST_FIRST: u32 = 1_200;
const LEAST_ID: usize = 8;

/// A connection whose client's first packet passed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stage {
    /// The client is the end that was heard first.
    pub(super) opened: bool,
    /// The ID that the client made up, or that a Retry gave it.
    asked: Id,
    step: Step,
}

#[derive(Copy, Clone, Debug)]
enum Step {
    /// The client's datagrams, the first of them then.
    Asked {
        first: Nanos,
        is_one: bool,
        /// What is late.
        before: Option<Before>,
    },
    /// The server's, the first of them then.
    Answered {
        first: Nanos,
        server: Id,
        is_retry: bool,
        /// The client's next packet is the answer to just that one.
        is_certain: bool,
    },
    /// Both halves are told.
    Told { server: Id },
    /// Two servers answer: nothing is to be known any more.
    Confused,
}

/// What a server sent before it was asked, by its ID.
#[derive(Copy, Clone, Debug)]
enum Before {
    /// All that comes from this one: it was the server's of the connection before.
    Server(Id),
    /// A Retry of this one, which the client has answered. The server may keep the ID for what follows.
    Retry(Id),
}

impl Before {
    fn has(self, long: &Long) -> bool {
        match self {
            Self::Server(id) => long.from == id,
            Self::Retry(id) => long.from == id && long.has(Kind::Retry),
        }
    }
}

/// Whether a client's first packet is in it.
pub(super) fn begins(long: &Long, length: u32) -> bool {
    let is_first = long.has(Kind::Initial) && !long.has(Kind::Handshake);
    is_first && long.to.length() >= LEAST_ID && length >= LEAST_FIRST
}

fn half(value: Nanos, is_certain: bool) -> Option<Half> {
    let exact = is_certain && value < TIMEOUT;
    (value >= Nanos::ZERO).then_some(if exact { Half::Exact(value) } else { Half::AtMost(value) })
}

impl Stage {
    /// One whose client's first packet this is.
    pub(super) const fn new(opened: bool, long: &Long, at: Nanos) -> Self {
        Self { opened, asked: long.to, step: Step::Asked { first: at, is_one: true, before: None } }
    }

    /// Whether nothing of the server passed.
    pub(super) const fn is_new(&self) -> bool {
        matches!(self.step, Step::Asked { .. })
    }

    /// A datagram of the handshake; gives the half that it ends.
    pub(super) fn advance(&mut self, by_client: bool, long: &Long, length: u32, at: Nanos) -> Option<Half> {
        if by_client { self.by_client(long, length, at) } else { self.by_server(long, at) }
    }

    fn by_client(&mut self, long: &Long, length: u32, at: Nanos) -> Option<Half> {
        // 0-RTT alone is the client's own data: it answers nothing, and nothing answers it without an Initial.
        if !long.has(Kind::Initial) && !long.has(Kind::Handshake) {
            return None;
        }
        match self.step {
            Step::Asked { first, before, .. } => {
                // One message in parts, a repetition, or another connection's.
                self.step = Step::Asked { first, is_one: false, before };
                if long.has(Kind::Initial) {
                    self.asked = long.to;
                }
                None
            }
            Step::Answered { first, server, is_retry, is_certain } if long.to == server => {
                // A server may keep the ID that the client made up: a Handshake packet alone shows then that it was heard.
                if server == self.asked && !long.has(Kind::Handshake) {
                    self.step = Step::Answered { first, server, is_retry, is_certain: false };
                    return None;
                }
                if is_retry {
                    self.ask(server, Before::Retry(server), at);
                } else {
                    self.step = Step::Told { server };
                }
                half(at - first, is_certain)
            }
            Step::Answered { server, .. } | Step::Told { server } => {
                if long.to != self.asked && long.to != server && begins(long, length) {
                    self.ask(long.to, Before::Server(server), at);
                }
                None
            }
            Step::Confused => None,
        }
    }

    /// The client asks anew, after what this server answered.
    const fn ask(&mut self, asked: Id, before: Before, at: Nanos) {
        self.asked = asked;
        self.step = Step::Asked { first: at, is_one: true, before: Some(before) };
    }

    fn by_server(&mut self, long: &Long, at: Nanos) -> Option<Half> {
        match self.step {
            Step::Asked { first, is_one, before } if !before.is_some_and(|before| before.has(long)) => {
                let is_retry = long.has(Kind::Retry);
                let negotiates = long.has(Kind::Negotiation);
                let server = long.from;
                self.step = if negotiates {
                    Step::Told { server }
                } else {
                    // It may acknowledge alone, and nothing answers that (RFC 9000, 13.2.1). A Handshake packet beside
                    // it shows that the server's message is in it (RFC 9001, 4.1.4), which is acknowledged at once.
                    let is_whole = long.has(Kind::Initial) && long.has(Kind::Handshake);
                    Step::Answered { first: at, server, is_retry, is_certain: is_retry || is_whole }
                };
                // A Handshake packet without what goes before it: that was lost.
                half(at - first, is_one && (is_retry || negotiates || long.has(Kind::Initial)))
            }
            Step::Answered { server, .. } | Step::Told { server } if server != long.from => {
                self.step = Step::Confused;
                None
            }
            // Its first message once more: either may be what the client answers.
            Step::Answered { first, server, is_retry, .. }
                if long.has(Kind::Initial) && at - first >= COPY =>
            {
                self.step = Step::Answered { first, server, is_retry, is_certain: false };
                None
            }
            _ => None,
        }
    }
}
