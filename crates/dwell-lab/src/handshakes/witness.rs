//! What the hosts really answered, from the taps at their own interfaces.

use super::bed::{Load, SECTIONS, Seen};
use super::carrier::{number, segment};
use super::echoed::Echoed;
use super::tap::Tapped;
use crate::error::LabError;
use dwell_core::Nanos;
use dwell_core::tcp::{Endpoint, Segment, TcpFlags};
use dwell_sim::passing::{Truth, Witnessed, WitnessedSegment};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;

/// A kernel answers a SYN while it takes it in. What comes later may be a timer's.
const AT_ONCE: Nanos = Nanos::from_millis(20);

/// What was heard of a bed's connections.
pub(super) struct Judged {
    pub(super) passed: Vec<Tapped>,
    pub(super) truths: Vec<Truth>,
    pub(super) echoed: Echoed,
    pub(super) doubtful: usize,
}

/// A segment at a host's own interface.
#[derive(Clone, Debug)]
pub(super) struct AtHost {
    pub(super) number: u64,
    pub(super) segment: Segment,
    /// It is the host's.
    pub(super) sent: bool,
}

/// Makes the truth out of what was seen.
pub(super) fn judge(load: &Load, seen: Seen, bed: &'static str) -> Result<Judged, LabError> {
    let Seen { taken, hosts, probe } = seen;
    // By the client's port, what the client had and sent, and what the server did.
    let mut connections: BTreeMap<u16, [Vec<AtHost>; 2]> = BTreeMap::new();
    for (host, (taken, tapped)) in taken.iter().zip(&hosts).enumerate() {
        for at_host in at_host(taken, tapped)? {
            let client = if at_host.sent == (host == 0) { at_host.segment.from } else { at_host.segment.to };
            connections.entry(client.port).or_default()[host].push(at_host);
        }
    }
    let passed_at: HashMap<u64, Nanos> =
        probe.iter().filter_map(|tapped| Some((number(&tapped.bytes)?, tapped.at))).collect();
    let (mut truths, mut echoed, mut doubtful) = (Vec::new(), Echoed::default(), BTreeSet::new());
    for (call, case) in load.calls() {
        let Some(hosts) = connections.remove(&call.port) else { continue };
        let Some(answers) = answers(&hosts) else {
            doubtful.insert(call.port);
            continue;
        };
        echoed.count(&hosts, &answers);
        let [client, server] = call.ends().map(endpoint);
        let labels = vec![bed, case.manner.name(), case.lost(), if call.ipv6 { "IPv6" } else { "IPv4" }];
        let witnessed = Witnessed {
            client,
            server,
            labels,
            sections: SECTIONS,
            segments: sent(&hosts, &answers, &passed_at),
        };
        truths.extend(witnessed.truth(call.port.into()));
    }
    let is_doubtful = |tapped: &Tapped| {
        segment(tapped.at, &tapped.bytes)
            .is_some_and(|segment| [segment.from, segment.to].iter().any(|end| doubtful.contains(&end.port)))
    };
    let passed = probe.into_iter().filter(|tapped| !is_doubtful(tapped)).collect();
    Ok(Judged { passed, truths, echoed, doubtful: doubtful.len() })
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint { address: address.ip(), port: address.port() }
}

/// What a host's tap heard, in its order, each with its number. Its own frames got theirs behind the tap.
fn at_host(taken: &[(u64, Vec<u8>)], tapped: &[Tapped]) -> Result<Vec<AtHost>, LabError> {
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

fn answers(hosts: &[Vec<AtHost>; 2]) -> Option<Answers> {
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

/// What both hosts sent, in the order in which they did.
fn sent(
    hosts: &[Vec<AtHost>; 2],
    answers: &Answers,
    passed_at: &HashMap<u64, Nanos>,
) -> Vec<WitnessedSegment> {
    let mut sent: Vec<(bool, &AtHost)> = hosts
        .iter()
        .enumerate()
        .flat_map(|(host, heard)| heard.iter().filter(|one| one.sent).map(move |one| (host == 0, one)))
        .collect();
    sent.sort_by_key(|(_, one)| one.segment.at);
    let places: HashMap<u64, usize> =
        sent.iter().enumerate().map(|(place, (_, one))| (one.number, place)).collect();
    let witnessed = |(forward, one): &(bool, &AtHost)| WitnessedSegment {
        segment: one.segment,
        forward: *forward,
        answers: answers.get(&one.number).and_then(|asked| places.get(asked)).copied(),
        passed: passed_at.get(&one.number).copied(),
    };
    sent.iter().map(witnessed).collect()
}
