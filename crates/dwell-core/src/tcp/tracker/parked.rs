//! SYNs that had to give way before anything answered them: a few words of each.

use super::super::{Endpoint, Flag, FlowHash, Options, Segment, TcpFlags, Timestamps};
use super::progress::Progress;
use crate::unit::Nanos;

/// SYNs whose hashes fall together, of which the oldest gives way.
const WAYS: usize = 16;

/// The hash of the flow and the SYN's number; its time; its time stamp, bytes of data and [`SAID`].
type Packed = [u64; 3];

/// What a SYN said, a bit for each, from the lowest on.
const SAID: [Flag; 5] = [Flag::NoTimestamps, Flag::OptionsCut, Flag::Mptcp, Flag::FastOpen, Flag::Ecn];
/// It bore a time stamp.
const STAMPED: u64 = 1 << 8;
/// There is one.
const KEPT: u64 = 1 << 9;
/// The client is the lesser of the two ends.
const UP: u64 = 1 << 10;

/// SYNs that had to give way before anything answered them, twice as many as there are places for handshakes. In a flood
/// that is nearly all that is ever seen of most; whose answer comes late, or who is sent again, is known by them.
///
/// The ends are not among the words: what repeats or answers a SYN has them, and shares 32 bits of hash and the 32 bits
/// of its number with another one's once in 10^19 times.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    /// [`WAYS`] to a set. What is not used takes no memory: it is not touched.
    syns: Box<[Packed]>,
    is_empty: bool,
}

impl Parked {
    pub(super) fn new(handshakes: usize) -> Self {
        let sets = (2 * handshakes.min(1 << 30) / WAYS).max(1).next_power_of_two();
        Self { syns: vec![[0; 3]; sets * WAYS].into_boxed_slice(), is_empty: true }
    }

    fn set(&mut self, flow: FlowHash) -> &mut [Packed] {
        // There are a power of two.
        let first = (WAYS * flow.0 as usize) & (self.syns.len() - 1);
        &mut self.syns[first..first + WAYS]
    }

    /// Keeps the SYN of a handshake of which nothing else is known. Tells the flow of which a SYN is forgotten for it, and
    /// the client's number.
    pub(super) fn keep(&mut self, flow: FlowHash, progress: &Progress) -> Option<(FlowHash, u32)> {
        let Some((at, stamp)) = progress.lone_syn() else { return Some((flow, progress.isn_client)) };
        let said =
            SAID.iter().enumerate().map(|(bit, flag)| u64::from(progress.has(*flag)) << bit).sum::<u64>();
        let stamped = if stamp.is_some() { STAMPED } else { 0 };
        let (client, server) = progress.ends();
        let way = if client <= server { UP } else { 0 };
        let words = u64::from(stamp.unwrap_or(0)) << 32 | u64::from(progress.syn_data) << 16;
        let packed = [name(flow, progress.isn_client), at.0 as u64, words | said | stamped | way | KEPT];
        self.is_empty = false;
        let oldest = self.set(flow).iter_mut().min_by_key(|[_, at, words]| (*words > 0, *at as i64))?;
        let [whose, _, words] = std::mem::replace(oldest, packed);
        (words > 0).then_some((FlowHash((whose >> 32) as u32), whose as u32))
    }

    /// The SYN that this segment repeats or answers, once.
    pub(super) fn take(&mut self, flow: FlowHash, segment: &Segment) -> Option<Segment> {
        if self.is_empty {
            return None;
        }
        let has = |flag| segment.flags.has(flag);
        let (from, to, number) = match (has(TcpFlags::SYN), has(TcpFlags::ACK), has(TcpFlags::RST)) {
            (true, false, false) => (segment.from, segment.to, segment.sequence),
            (true, true, false) | (false, true, true) => {
                (segment.to, segment.from, segment.acknowledgment.wrapping_sub(1))
            }
            _ => return None,
        };
        let way = if from <= to { UP } else { 0 };
        let is_it = |[whose, _, words]: &&mut Packed| {
            // Some or all of its data may be acknowledged with it.
            let beyond = if has(TcpFlags::ACK) { u32::from((*words >> 16) as u16) } else { 0 };
            let is_of_flow = *words > 0 && *words & UP == way && *whose >> 32 == u64::from(flow.0);
            is_of_flow && number.wrapping_sub(*whose as u32) <= beyond
        };
        let packed = std::mem::take(self.set(flow).iter_mut().find(is_it)?);
        Some(unpacked(packed, from, to))
    }
}

const fn name(flow: FlowHash, isn: u32) -> u64 {
    (flow.0 as u64) << 32 | isn as u64
}

fn unpacked([whose, at, words]: Packed, from: Endpoint, to: Endpoint) -> Segment {
    let said = |flag| SAID.iter().position(|one| *one == flag).is_some_and(|bit| words >> bit & 1 != 0);
    let value = (words >> 32) as u32;
    let ecn = if said(Flag::Ecn) { TcpFlags::ECE.with(TcpFlags::CWR) } else { TcpFlags::default() };
    Segment {
        at: Nanos(at as i64),
        from,
        to,
        flags: TcpFlags::SYN.with(ecn),
        sequence: whose as u32,
        acknowledgment: 0,
        payload: u32::from((words >> 16) as u16),
        options: Options {
            timestamps: (words & STAMPED != 0).then_some(Timestamps { value, echo: 0 }),
            fast_open: said(Flag::FastOpen),
            mptcp: said(Flag::Mptcp),
            cut: said(Flag::OptionsCut),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    /// Both ends may begin with the same number: what the client sends then answers nothing of its own.
    #[test]
    fn a_syn_is_answered_by_the_other_end_alone() {
        let end = |last, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port };
        for (from, to) in [(end(1, 40_000), end(2, 80)), (end(2, 40_000), end(1, 80))] {
            let (sequence, flow) = (u32::MAX - 1, FlowHash(9));
            let syn = Segment {
                at: Nanos(5),
                from,
                to,
                flags: TcpFlags::SYN,
                sequence,
                acknowledgment: 0,
                payload: 0,
                options: Options::default(),
            };
            let reset = Segment {
                flags: TcpFlags::RST.with(TcpFlags::ACK),
                sequence: u32::MAX,
                acknowledgment: u32::MAX,
                ..syn
            };
            let mut parked = Parked::new(64);
            assert_eq!(parked.keep(flow, &Progress::opened(&syn)), None);
            assert_eq!(parked.take(flow, &reset), None);
            assert_eq!(parked.take(flow, &Segment { from: to, to: from, ..reset }), Some(syn));
            assert_eq!(parked.take(flow, &syn), None);
        }
    }
}
