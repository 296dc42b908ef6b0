//! Sections joined from what several probes saw of the same handshakes, judged by what really was.

use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Ends, NatJoin, Order, Sight, Summary, Votes, split};
use dwell_core::tcp::{Handshake, Limits, Tracker};
use dwell_sim::passing::{JoinedJudge, Population, Seen, Told};
use std::collections::BTreeMap;

/// What was joined, and what it is judged to be.
struct Joined {
    judge: JoinedJudge,
    connections: Vec<Connection>,
    order: Order,
    votes: Votes,
}

/// The probes of the population, given to the reader in the order of this list.
fn joined(population: Population, list: &[usize]) -> Joined {
    let mut judge = JoinedJudge::default();
    let mut trackers: Vec<_> = list.iter().map(|_| Tracker::new(Limits::default())).collect();
    let mut told: Vec<(usize, Handshake)> = Vec::new();
    let mut passings = population.passings().with_ways();
    while let Some(next) = passings.next() {
        passings.take_ways().into_iter().for_each(|way| judge.expect(way));
        let Told::Passed(passed) = next else { continue };
        let mut take = |handshake| told.push((passed.probe, handshake));
        match &passed.what {
            Seen::Segment(segment) => trackers[passed.probe].see(segment, &mut take),
            Seen::Unreachable(message) => trackers[passed.probe].refused(message, &mut take),
        }
    }
    for (probe, tracker) in trackers.iter_mut().enumerate() {
        tracker.finish(&mut |handshake| told.push((probe, handshake)));
    }
    let mut by_ends: BTreeMap<Ends, Connection> = BTreeMap::new();
    for (probe, handshake) in &told {
        judge.told(*probe, handshake);
        let Some(ends) = Ends::of(handshake) else { continue };
        let first_at = handshake.first_at;
        let connection =
            by_ends.entry(ends).or_insert_with(|| Connection { ends, first_at, sights: Vec::new() });
        let place = list.iter().position(|listed| listed == probe).expect("a probe of the list");
        if connection.by(place).is_none() {
            connection.sights.push(Sight::of(place, handshake));
        }
    }
    let mut offered: Vec<Connection> = by_ends.into_values().collect();
    offered.sort_by_key(|connection| connection.first_at);
    let (mut join, mut connections) = (NatJoin::new(list.len()), Vec::new());
    for mut connection in offered {
        connection.sights.sort_by_key(|sight| sight.probe);
        join.pass(connection.first_at, &mut |one| connections.push(one));
        join.offer(connection, &mut |one| connections.push(one));
    }
    join.finish(&mut |one| connections.push(one));
    let mut votes = Votes::new(list.len());
    connections.iter().for_each(|connection| votes.hear(connection));
    let order = votes.order();
    connections.iter().for_each(|connection| judge.hear(connection, &order, list));
    Joined { judge, connections, order, votes }
}

fn assert_judged(Joined { judge, connections, order, votes }: &Joined, list: &[usize]) {
    let in_order: Vec<usize> = order.probes().iter().map(|place| list[*place]).collect();
    println!("order {in_order:?}, sure {:?} of {} connections", order.sure(), votes.connections());
    println!("matches, false ones: {:?}", judge.matches());
    for ((label, kind), tally) in judge.tallies() {
        println!(
            "{label:>18} {kind:>6}: wrong {}, found {} of {} ({:.2} %), lucky {}, bounded {}, ambiguous {}",
            tally.wrong,
            tally.found,
            tally.knowable,
            tally.share() * 100.0,
            tally.lucky,
            tally.bounded,
            tally.withheld
        );
    }
    for (between, way) in judge.missed().take(10) {
        println!("missed {between:?} of {way:?}");
    }
    for wrong in judge.wrong().iter().take(10) {
        println!("{wrong:#?}");
    }
    assert!(in_order.is_sorted(), "{in_order:?}");
    assert_eq!(judge.wrong().len(), 0);
    assert_eq!(judge.matches().1, 0);
    for kind in ["client", "inner", "server"] {
        assert!(judge.all(kind).knowable > 0 && judge.all(kind).share() >= 0.97, "{kind}");
    }
    assert_consistent(connections, order);
}

/// Both estimates of an inner section are of the same section: their difference is about nothing.
fn assert_consistent(connections: &[Connection], order: &Order) {
    let mut sections = BTreeMap::<_, Summary>::new();
    for section in connections.iter().flat_map(|connection| split(connection, order)) {
        sections.entry((section.from, section.to)).or_default().add(&section);
    }
    for ((from, to), summary) in &sections {
        let Some(middle) = summary.consistency.quantile(0.5) else { continue };
        let length = summary.rtt.quantile(0.5).expect("both of a connection make a value");
        println!("{from:?} to {to:?}: {length} long, both estimates {middle} apart");
        assert!(summary.consistency.count() < 100 || middle.abs() < length / 50, "{from:?} to {to:?}");
    }
}

#[test]
fn no_section_is_wrong_and_what_can_be_known_is_told() {
    let list = [2, 0, 3, 1];
    let population = Population { connections: 5_000, probes: 4, seed: 11, ..Population::default() };
    assert_judged(&joined(population, &list), &list);
}

#[test]
fn a_nat_between_the_probes_changes_nothing() {
    let list = [1, 2, 0];
    let population =
        Population { connections: 6_000, probes: 3, seed: 12, nat: Some(1), ..Population::default() };
    let judged = joined(population, &list);
    assert_judged(&judged, &list);
    assert!(judged.judge.matches().0 > 4_500, "{:?}", judged.judge.matches());
}

#[test]
fn a_probe_of_one_direction_parts_nothing() {
    let list = [0, 1, 2];
    let population =
        Population { connections: 2_000, probes: 3, seed: 13, one_way: Some(1), ..Population::default() };
    let judged = joined(population, &list);
    println!("{:?}", judged.judge.all("inner"));
    assert!(judged.judge.wrong().is_empty());
    assert!(judged.judge.all("inner").share() >= 0.97);
}

#[test]
fn loss_everywhere_and_coarse_stamps_make_nothing_wrong() {
    for (loss, seed) in [(0.02, 14), (0.2, 15)] {
        let list = [0, 1, 2];
        let population = Population {
            connections: 2_000,
            probes: 3,
            seed,
            loss: Some(loss),
            resolution: Nanos(1_000),
            ..Population::default()
        };
        assert_judged(&joined(population, &list), &list);
    }
}
