//! Simultaneous open (RFC 9293, 3.5): both ends send a SYN, and each answers the other's.
//!
//! A SYN/ACK answers a SYN, for it was sent by an end that had sent nothing but a SYN itself. An ACK answers a SYN/ACK.
//! So both halves are known, whichever of them pass:
//!
//! ```text
//! SYN a, SYN b, SYN/ACK a, SYN/ACK b     C = SYN/ACK a - SYN b, S = SYN/ACK b - SYN a
//! SYN a, SYN b, SYN/ACK a, ACK b         C = SYN/ACK a - SYN b, S = ACK b - SYN/ACK a: SYN a did not arrive
//! SYN a, SYN b, SYN/ACK b, ACK a         S = SYN/ACK b - SYN a, C = ACK a - SYN/ACK b: SYN b did not arrive
//! ```

use super::super::{Ending, Flag, Half, Handshake, Segment, TcpFlags};
use super::asked::{Asked, TIMEOUT, is_copy_at};
use super::early::{Early, What};
use super::progress::{Progress, echo};
use crate::unit::Nanos;

impl Progress {
    /// The server sends a SYN of its own.
    pub(super) fn cross(&mut self, syn: &Segment) {
        self.note(syn);
        self.flags.set(Flag::SimultaneousOpen);
        self.isn_server = syn.sequence;
        self.early = None;
        self.answers = Asked::once(syn);
    }

    /// Whether a SYN/ACK of either end is of this connection, which both opened.
    pub(super) fn crossed_with(&self, answer: &Segment) -> bool {
        let (own, others) = self.numbers(self.is_client(&answer.from));
        self.has(Flag::SimultaneousOpen)
            && (answer.sequence, answer.acknowledgment) == (own, others.wrapping_add(1))
    }

    /// An end's initial number, and the other's.
    const fn numbers(&self, of_client: bool) -> (u32, u32) {
        if of_client { (self.isn_client, self.isn_server) } else { (self.isn_server, self.isn_client) }
    }

    /// An acknowledgment of either end after both SYNs; gives the handshake when both halves are told.
    pub(super) fn crossed(&mut self, segment: &Segment) -> Option<Handshake> {
        let by_client = self.is_client(&segment.from);
        let (own, others) = self.numbers(by_client);
        let is_syn = segment.flags.has(TcpFlags::SYN);
        let sequence = if is_syn { own } else { own.wrapping_add(1) };
        if segment.sequence != sequence || segment.acknowledgment != others.wrapping_add(1) {
            return None;
        }
        let Some(early) = self.early else {
            let what = if by_client { What::ClientCrosses } else { What::ServerCrosses };
            let acknowledgment = segment.acknowledgment;
            self.early = is_syn.then(|| Early { at: segment.at, echo: echo(segment), acknowledgment, what });
            return None;
        };
        if by_client == (early.what == What::ClientCrosses) {
            // Sent again: an ACK may then answer either. Where no SYN was seen twice, it is no copy, however soon it comes.
            let is_copy = self.is_mirrored() && is_copy_at(early.at, segment.at);
            self.skewed |= is_syn && !is_copy;
            return None;
        }
        let before = self.half_of(!by_client, early.echo, early.at);
        let after = if is_syn {
            self.half_of(by_client, echo(segment), segment.at)
        } else if segment.at < early.at || self.syns.is_repeated() || self.answers.is_repeated() {
            // The ACK may be for a SYN/ACK to any of the SYNs, not heard.
            Half::Unknown
        } else if segment.payload == 0 && segment.at - early.at < TIMEOUT {
            Half::Exact(segment.at - early.at)
        } else {
            Half::AtMost(segment.at - early.at)
        };
        let (client, server) = if by_client { (after, before) } else { (before, after) };
        self.server_half = server;
        let syns = self.syns.count().saturating_add(self.answers.count());
        let syn_acks = 1 + u16::from(is_syn);
        Some(Handshake { syns, syn_acks, ..self.handshake(Ending::Established, client) })
    }

    /// The half of the side that answers the other's SYN by its SYN/ACK.
    fn half_of(&self, client: bool, echo: Option<u32>, at: Nanos) -> Half {
        let asked = if client { &self.answers } else { &self.syns };
        asked.since(asked.answered(echo), at)
    }
}
