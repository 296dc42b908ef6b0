//! Handshakes as anybody may tell them, joined and split into sections.
#![no_main]

use dwell_core::Nanos;
use dwell_core::tcp::Handshake;
use dwell_core::tcp::section::{
    Blame, Connection, Course, Ends, Leg, NatJoin, Place, Sight, Summary, Votes, split,
};
use dwell_net::protocol::parse;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

const PROBES: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let Ok(told) = parse::<Vec<(u8, Handshake)>>(bytes) else { return };
    let mut connections: BTreeMap<Ends, Connection> = BTreeMap::new();
    for (probe, handshake) in &told {
        let probe = usize::from(*probe) % PROBES;
        let Some(ends) = Ends::of(handshake) else { continue };
        let none = Connection { ends, first_at: handshake.first_at, sights: Vec::new() };
        let connection = connections.entry(ends).or_insert(none);
        if connection.by(probe).is_none() {
            connection.sights.push(Sight::of(probe, handshake));
            connection.sights.sort_by_key(|sight| sight.probe);
        }
    }
    let sights: usize = connections.values().map(|connection| connection.sights.len()).sum();
    let (mut nat, mut votes, mut joined) = (NatJoin::new(PROBES), Votes::new(PROBES), Vec::new());
    for connection in connections.into_values() {
        let first_at = connection.first_at;
        nat.offer(connection, &mut |connection| joined.push(connection));
        if first_at.0 & 3 == 0 {
            nat.pass(first_at, &mut |connection| joined.push(connection));
        }
    }
    nat.finish(&mut |connection| joined.push(connection));
    // Nothing is lost, and nobody saw a connection twice.
    assert_eq!(joined.iter().map(|connection| connection.sights.len()).sum::<usize>(), sights);
    for connection in &joined {
        assert!(connection.sights.is_sorted_by(|one, two| one.probe < two.probe));
        votes.hear(connection);
    }
    let order = votes.order();
    let mut probes = order.probes().to_vec();
    probes.sort_unstable();
    assert!(probes.is_sorted_by(|one, two| one < two));
    let mut all: BTreeMap<Leg, (Summary, Course)> = BTreeMap::new();
    for connection in &joined {
        let sections = split(connection, &order);
        // Each begins where the last one ends, from the client to the server.
        if let (Some(first), Some(last)) = (sections.first(), sections.last()) {
            assert_eq!((first.from, last.to), (Place::Client, Place::Server));
        }
        assert!(sections.windows(2).all(|two| two[0].to == two[1].from && two[0].from < two[0].to));
        for section in &sections {
            let (summary, course) = all.entry(section.leg()).or_default();
            summary.add(section);
            if let Some(time) = section.measured() {
                course.add(connection.first_at, time);
            }
        }
    }
    for (summary, course) in all.values() {
        let measured: u64 = course.slots().map(|(_, times)| times.count()).sum();
        assert_eq!(measured, summary.rtt.count());
        if let (Some(low), Some(high)) = (summary.rtt.quantile(0.1), summary.rtt.quantile(0.9)) {
            assert!(low <= high);
        }
        let _ = course.now_and_normal();
    }
    let sections: Vec<(&Summary, &Course)> =
        all.values().map(|(summary, course)| (summary, course)).collect();
    if let Ok(blame) = Blame::among(&sections) {
        assert!(blame.section < sections.len() && blame.median >= Nanos::ZERO);
        let shares = [blame.median_share(), blame.spread_share()];
        assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)), "{blame:?}");
    }
});
