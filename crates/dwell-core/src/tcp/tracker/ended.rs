//! What is known of a handshake that is over.

use super::super::{Ending, Flag, FlowHash, Handshake, Segment};
use super::asked::TIMEOUT;
use super::missed::UNSEEN_DATA;
use super::progress::{Progress, data};
use crate::unit::Nanos;

/// What is known of a handshake that is over: enough to tell what comes late from what begins another one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// When its last segment passed, to a microsecond.
    pub(super) touched: Nanos,
    pub(super) isn_client: u32,
    isn_server: u32,
    previous: u32,
    pub(super) syn_data: u16,
    previous_data: u16,
    /// Any of [`WITHOUT_SYN`], [`CROSSED`], [`SECOND`], [`UP`], [`ESTABLISHED`] and [`REFUSED`].
    kind: u8,
}

/// No SYN of it has passed.
const WITHOUT_SYN: u8 = 1;
/// Both ends opened it.
const CROSSED: u8 = 2;
/// The ports had a connection before it.
const SECOND: u8 = 4;
/// The client is the lesser of the two ends.
const UP: u8 = 8;
/// Its client has had the SYN/ACK.
const ESTABLISHED: u8 = 16;
/// Its SYN was refused: by the server, or by somebody in between, whom not every client heeds.
const REFUSED: u8 = 32;

/// The lowest bits of a time, which are not kept of it but hold something else: they are a microsecond.
const SPARE: u64 = 0x3ff;

/// What tells whose it is, and one of these, in four words: half a line of the cache.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
pub(super) struct Packed([u64; 4]);

impl Packed {
    pub(super) const fn whose(&self) -> u64 {
        self.0[0]
    }

    /// The upper half of whose it is.
    pub(super) const fn flow(&self) -> FlowHash {
        FlowHash((self.whose() >> 32) as u32)
    }
}

impl Ended {
    pub(super) fn of(progress: &Progress, told: &Handshake, touched: Nanos) -> Self {
        let (client, server) = progress.ends();
        let is_refused = told.ending == Ending::Refused && told.syn_acks == 0 && !told.flags.has(Flag::Reset);
        let kinds = [
            (progress.is_without_syn(), WITHOUT_SYN),
            (progress.has(Flag::SimultaneousOpen), CROSSED),
            (progress.previous.is_some(), SECOND),
            (client <= server, UP),
            (told.ending == Ending::Established, ESTABLISHED),
            (is_refused, REFUSED),
        ];
        Self {
            touched: Nanos((touched.0 as u64 & !SPARE) as i64),
            isn_client: progress.isn_client,
            isn_server: progress.isn_server,
            previous: progress.previous.unwrap_or(0),
            syn_data: progress.syn_data,
            previous_data: progress.previous_data,
            kind: kinds.into_iter().map(|(is_so, kind)| if is_so { kind } else { 0 }).sum(),
        }
    }

    pub(super) fn packed(&self, whose: u64) -> Packed {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let data = u32::from(self.syn_data) << 16 | u32::from(self.previous_data);
        Packed([
            whose,
            self.touched.0 as u64 | u64::from(self.kind),
            pair(self.isn_client, self.isn_server),
            pair(self.previous, data),
        ])
    }

    pub(super) const fn unpacked(packed: &Packed) -> Self {
        let [_, touched, numbers, rest] = packed.0;
        Self {
            touched: Nanos((touched & !SPARE) as i64),
            isn_client: (numbers >> 32) as u32,
            isn_server: numbers as u32,
            previous: (rest >> 32) as u32,
            syn_data: (rest >> 16) as u16,
            previous_data: rest as u16,
            kind: (touched & SPARE) as u8,
        }
    }

    const fn is(&self, kind: u8) -> bool {
        self.kind & kind != 0
    }

    fn sent_by_client(&self, segment: &Segment) -> bool {
        self.is(UP) == (segment.from <= segment.to)
    }

    /// Whether a SYN is this one's, and comes late. None is repeated once it was answered: that with the same number begins another.
    pub(super) fn has_syn(&self, syn: &Segment) -> bool {
        if self.is(ESTABLISHED) && syn.at - self.touched >= TIMEOUT {
            return false;
        }
        if !self.sent_by_client(syn) {
            return self.is(CROSSED) && self.isn_server == syn.sequence;
        }
        // What a SYN without data repeats may have had some; so may one that passes after its answer.
        let beyond = self.isn_client.wrapping_sub(syn.sequence);
        let had_data = beyond <= u32::from(data(syn)) || syn.payload == 0 && beyond <= UNSEEN_DATA;
        beyond == 0 || self.is(WITHOUT_SYN) && had_data
    }

    /// Whether a SYN/ACK is this one's, or of the connection before it, and comes late. A SYN that was refused may be sent again
    /// (Windows does so, and others where ICMP alone said so: RFC 5461) and answered.
    pub(super) fn has_answer(&self, answer: &Segment) -> bool {
        let by_client = self.sent_by_client(answer);
        let beyond = |isn: u32| answer.acknowledgment.wrapping_sub(isn.wrapping_add(1));
        if self.is(REFUSED)
            && !by_client
            && beyond(self.isn_client) <= u32::from(self.syn_data)
            && answer.at > self.touched
        {
            return false;
        }
        let (own, others) =
            if by_client { (self.isn_client, self.isn_server) } else { (self.isn_server, self.isn_client) };
        self.is(CROSSED) && answer.sequence == own && beyond(others) == 0
            || self.is(SECOND) && beyond(self.previous) <= u32::from(self.previous_data)
            || !by_client && beyond(self.isn_client) <= u32::from(self.syn_data).max(UNSEEN_DATA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            (whose, at) in any::<(u64, i64)>(),
            (isn_client, isn_server, previous) in any::<(u32, u32, u32)>(),
            (syn_data, previous_data) in any::<(u16, u16)>(),
            kind in 0..64_u8,
        ) {
            let touched = Nanos((at as u64 & !SPARE) as i64);
            let ended = Ended { touched, isn_client, isn_server, previous, syn_data, previous_data, kind };
            let packed = ended.packed(whose);
            prop_assert_eq!((packed.whose(), Ended::unpacked(&packed)), (whose, ended));
            prop_assert!((touched.0..touched.0.saturating_add(1_024)).contains(&at));
        }
    }
}
