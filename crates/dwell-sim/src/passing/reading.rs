//! What Dwell makes of what several probes saw, judged at each probe and from probe to probe.

use super::joined::JoinedJudge;
use super::{Judge, Population, Seen, Told};
use dwell_core::tcp::section::{Connection, Ends, NatJoin, Order, Sight, Votes};
use dwell_core::tcp::{Handshake, Limits, Tracker};
use std::collections::BTreeMap;

/// What was read at several probes, and what it is judged to be.
pub struct Reading {
    /// What the tracker said at each probe, in the order in which they stand.
    pub handshakes: Vec<Judge>,
    /// What the sections were said to be.
    pub sections: JoinedJudge,
    /// What was joined; a sight names its probe by the place in the reader's list.
    pub connections: Vec<Connection>,
    /// In which order the probes were said to stand.
    pub order: Order,
    /// What says so.
    pub votes: Votes,
}

impl Population {
    /// Reads what passes its probes, of which the reader has this list, and joins it.
    #[must_use]
    pub fn read(self, list: &[usize]) -> Reading {
        let mut sections = JoinedJudge::default();
        let mut handshakes: Vec<Judge> = list.iter().map(|_| Judge::default()).collect();
        let mut trackers: Vec<Tracker> = list.iter().map(|_| Tracker::new(Limits::default())).collect();
        let mut said: Vec<(usize, Handshake)> = Vec::new();
        let mut passings = self.passings().with_ways();
        while let Some(next) = passings.next() {
            passings.take_ways().into_iter().for_each(|way| sections.expect(way));
            match next {
                Told::Truth(truth) => handshakes[truth.probe].expect(*truth),
                Told::Passed(passed) => {
                    let mut take = |handshake| said.push((passed.probe, handshake));
                    match &passed.what {
                        Seen::Segment(segment) => trackers[passed.probe].see(segment, &mut take),
                        Seen::Unreachable(message) => trackers[passed.probe].refused(message, &mut take),
                    }
                }
            }
        }
        for (probe, mut tracker) in trackers.into_iter().enumerate() {
            tracker.finish(&mut |handshake| said.push((probe, handshake)));
        }
        for (probe, handshake) in &said {
            handshakes[*probe].hear(handshake);
            sections.told(*probe, handshake);
        }
        let connections = joined(&said, list);
        let mut votes = Votes::new(list.len());
        connections.iter().for_each(|connection| votes.hear(connection));
        let order = votes.order();
        connections.iter().for_each(|connection| sections.hear(connection, &order, list));
        Reading { handshakes, sections, connections, order, votes }
    }
}

/// By the full key, and across NAT.
fn joined(said: &[(usize, Handshake)], list: &[usize]) -> Vec<Connection> {
    let mut by_ends: BTreeMap<Ends, Connection> = BTreeMap::new();
    for (place, probe) in list.iter().enumerate() {
        for (_, handshake) in said.iter().filter(|(by, _)| by == probe) {
            let Some(ends) = Ends::of(handshake) else { continue };
            let first_at = handshake.first_at;
            let connection =
                by_ends.entry(ends).or_insert_with(|| Connection { ends, first_at, sights: Vec::new() });
            connection.first_at = connection.first_at.min(first_at);
            if connection.by(place).is_none() {
                connection.sights.push(Sight::of(place, handshake));
            }
        }
    }
    let mut in_time: Vec<Connection> = by_ends.into_values().collect();
    in_time.sort_by_key(|connection| connection.first_at);
    let (mut join, mut connections) = (NatJoin::new(list.len()), Vec::new());
    for connection in in_time {
        join.pass(connection.first_at, &mut |one| connections.push(one));
        join.offer(connection, &mut |one| connections.push(one));
    }
    join.finish(&mut |one| connections.push(one));
    connections
}
