//! What the hosts really answered, from the taps at their own interfaces.

use super::at_host::{Answers, AtHost, answers, at_host};
use super::bed::{Load, SECTIONS, Seen};
use super::carrier::{number, segment};
use super::echoed::Echoed;
use super::tap::Tapped;
use crate::error::LabError;
use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use dwell_sim::passing::{Truth, Witnessed, WitnessedSegment};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

/// What was heard of a bed's connections.
pub(super) struct Judged {
    pub(super) passed: Vec<Tapped>,
    pub(super) truths: Vec<Truth>,
    pub(super) echoed: Echoed,
    pub(super) doubtful: usize,
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
