//! What passed each host's own interface, and what answers what.

use super::carrier::{number, segment};
use super::tap::Tapped;
use crate::error::LabError;
use dwell_core::Nanos;
use dwell_core::tcp::{Segment, TcpFlags};
use std::collections::{HashMap, VecDeque};

/// A kernel answers a SYN while it takes it in. What comes later may be a timer's.
const AT_ONCE: Nanos = Nanos::from_millis(20);

/// A segment at a host's own interface.
#[derive(Clone, Debug)]
pub(super) struct AtHost {
    pub(super) number: u64,
    pub(super) segment: Segment,
    /// It is the host's.
    pub(super) sent: bool,
}

/// What a host's tap heard, in its order, each with its number. Its own frames got theirs behind the tap.
pub(super) fn at_host(taken: &[(u64, Vec<u8>)], tapped: &[Tapped]) -> Result<Vec<AtHost>, LabError> {
    let mut numbers: HashMap<&[u8], VecDeque<u64>> = HashMap::new();
    for (number, frame) in taken {
        numbers.entry(frame).or_default().push_back(*number);
    }
    let mut heard = Vec::new();
    for Tapped { at, bytes } in tapped {
        let came = number(bytes);
        // What left as the lab ended was taken by nobody.
        let number = came.or_else(|| numbers.get_mut(bytes.as_slice())?.pop_front());
        let both = number.zip(segment(*at, bytes));
        heard.extend(both.map(|(number, segment)| AtHost { number, segment, sent: came.is_none() }));
    }
    match numbers.values().map(VecDeque::len).sum() {
        0_usize => Ok(heard),
        missing => Err(LabError::Unheard { missing }),
    }
}

/// Of each segment that was sent in answer to another, that one's number; `None` where it cannot be told.
pub(super) type Answers = HashMap<u64, u64>;

pub(super) fn answers(hosts: &[Vec<AtHost>; 2]) -> Option<Answers> {
    let [client, server] = hosts;
    let mut answers = Answers::new();
    for two in client.windows(2).filter(|two| !two[0].sent && two[1].sent) {
        let (asked, ack) = (&two[0].segment, &two[1].segment);
        let is_pure = ack.payload == 0
            && [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST].iter().all(|flag| !ack.flags.has(*flag));
        let is_third =
            ack.acknowledgment == asked.sequence.wrapping_add(1) && ack.sequence == asked.acknowledgment;
        if asked.flags.has(TcpFlags::SYN) && is_pure && is_third {
            answers.insert(two[1].number, two[0].number);
        }
    }
    let is_answer = |one: &AtHost| one.sent && one.segment.flags.has(TcpFlags::SYN);
    for (index, syn) in
        server.iter().enumerate().filter(|(_, one)| !one.sent && one.segment.flags.has(TcpFlags::SYN))
    {
        let mut after = server[index + 1..].iter().take_while(|one| one.sent).filter(|one| is_answer(one));
        let Some(answer) = after.next() else { continue };
        let took = answer.segment.at - syn.segment.at;
        // A timer may have been before the answer, or there is none.
        let another = after.next().is_some_and(|next| next.segment.at - syn.segment.at < AT_ONCE);
        if another || took >= AT_ONCE {
            return None;
        }
        answers.insert(answer.number, syn.number);
    }
    Some(answers)
}
