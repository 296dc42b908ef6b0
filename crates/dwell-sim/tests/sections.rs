//! Sections joined from what several probes saw of the same handshakes, judged by what really was.

use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Leg, Order, Summary, split};
use dwell_sim::passing::{JoinedJudge, LABELS, Population, Reading, Told};
use std::collections::{BTreeMap, BTreeSet};

/// Nothing is wrong: no value, no order, no match, no difference of the two estimates.
fn assert_right(reading: &Reading, list: &[usize]) {
    let Reading { sections: judge, connections, order, votes, .. } = reading;
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
        println!("missed {between:?} of {:?}: {:?}", way.at[0].connection, way.at[0].labels);
    }
    for wrong in judge.wrong().iter().take(10) {
        println!("{wrong:#?}");
    }
    assert!(in_order.is_sorted(), "{in_order:?}");
    assert_eq!(judge.wrong().len(), 0);
    assert_eq!(judge.matches().1, 0);
    assert_consistent(connections, order);
}

/// What can be known is told.
fn assert_told(judge: &JoinedJudge) {
    for kind in ["client", "inner", "server"] {
        let tally = judge.all(kind);
        assert!(tally.knowable > 0 && tally.share() >= 0.97, "{kind}: {:.2} %", tally.share() * 100.0);
    }
}

/// Both estimates of an inner section are of the same section: their difference is about nothing.
fn assert_consistent(connections: &[Connection], order: &Order) {
    let mut sections = BTreeMap::<_, Summary>::new();
    for section in connections.iter().flat_map(|connection| split(connection, order)) {
        sections.entry(section.leg()).or_default().add(&section);
    }
    for (Leg { from, to, .. }, summary) in &sections {
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
    let reading = population.read(&list);
    assert_right(&reading, &list);
    assert_told(&reading.sections);
}

#[test]
fn a_nat_between_the_probes_changes_nothing() {
    let list = [1, 2, 0];
    let population =
        Population { connections: 6_000, probes: 3, seed: 12, nat: Some(1), ..Population::default() };
    let judged = population.read(&list);
    assert_right(&judged, &list);
    assert_told(&judged.sections);
    assert!(judged.sections.matches().0 > 4_500, "{:?}", judged.sections.matches());
}

#[test]
fn a_probe_of_one_direction_parts_nothing() {
    let list = [0, 1, 2];
    let population =
        Population { connections: 2_000, probes: 3, seed: 13, one_way: Some(1), ..Population::default() };
    let judged = population.read(&list);
    println!("{:?}", judged.sections.all("inner"));
    assert!(judged.sections.wrong().is_empty());
    assert!(judged.sections.all("inner").share() >= 0.97);
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
        assert_right(&population.read(&list), &list);
    }
}

#[test]
fn every_label_can_be_asked_for() {
    let population = Population { connections: 4_000, probes: 2, ..Population::default() };
    let labels: BTreeSet<&str> = population
        .passings()
        .filter_map(|told| if let Told::Truth(truth) = told { Some(truth.labels) } else { None })
        .flatten()
        .collect();
    let drawn_later = BTreeSet::from(["ports-reused"]);
    assert_eq!(labels.difference(&drawn_later).copied().collect::<Vec<_>>(), LABELS);
    for label in LABELS {
        let some = Population { connections: 5, probes: 2, label: Some(label), ..Population::default() };
        let is_so = |told| !matches!(told, Told::Truth(truth) if !truth.labels.contains(&label));
        assert!(some.passings().all(is_so), "{label}");
    }
}
