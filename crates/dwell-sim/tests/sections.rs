//! Sections joined from what several probes saw of the same handshakes, judged by what really was.

use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Estimate, Leg, Order, Section, Summary, Votes, Way, split};
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

/// The same, had it been opened from the other side of a path that is as long in each section, seen from there.
fn turned(connection: &Connection, order: &Order) -> Connection {
    let mut turned = connection.clone();
    let places = order.probes();
    for sight in &mut turned.sights {
        let rank = places.iter().position(|place| *place == sight.probe).expect("one of them");
        sight.probe = places[places.len() - 1 - rank];
    }
    turned.sights.sort_by_key(|sight| sight.probe);
    turned
}

/// Three in ten are opened from the other side. What is told of each way is what would have been told of it alone; what may be of either
/// is told as that.
#[test]
fn connections_from_both_sides_are_never_taken_for_each_other() {
    let usual = Population { connections: 3_000, probes: 3, ..Population::default() };
    let populations = [
        Population { seed: 16, ..usual },
        Population { seed: 17, loss: Some(0.1), ..usual },
        Population { seed: 18, resolution: Nanos(1_000), ..usual },
        Population { seed: 19, probes: 2, ..usual },
    ];
    for population in populations {
        let list: Vec<usize> = (0..population.probes).collect();
        let reading = population.read(&list);
        let heard: Vec<(bool, Connection, Vec<Section>)> = reading
            .connections
            .iter()
            .enumerate()
            .map(|(number, connection)| {
                let (is_turned, alone) = (number % 10 < 3, split(connection, &reading.order));
                let passed = if is_turned { turned(connection, &reading.order) } else { connection.clone() };
                (is_turned, passed, alone)
            })
            .collect();
        let mut votes = Votes::new(population.probes);
        heard.iter().for_each(|(_, connection, _)| votes.hear(connection));
        let order = votes.order();
        assert_eq!(order.probes(), reading.order.probes());
        // Of stamps that contradict each other, as taps make them that write down late, nobody knows.
        let is_sound = |section: &Section| {
            let sides = [section.server_side, section.client_side];
            sides.into_iter().filter_map(Estimate::exact).all(|time| time >= Nanos::ZERO)
        };
        let sound: Vec<_> = heard.iter().filter(|(.., alone)| alone.iter().all(is_sound)).collect();
        assert!(sound.len() as f64 > 0.97 * heard.len() as f64, "{} of {}", sound.len(), heard.len());
        let mut known = [0, 0];
        for (is_turned, connection, alone) in &sound {
            for (said, alone) in split(connection, &order).iter().zip(alone) {
                let own = if *is_turned { Way::Against } else { Way::Along };
                if said.way == Way::Unknown {
                    continue;
                }
                assert_eq!(*said, Section { way: own, ..*alone }, "{connection:#?}");
                known[usize::from(*is_turned)] += usize::from(alone.measured().is_some());
            }
        }
        let all = |way| {
            sound
                .iter()
                .filter(|(is_turned, ..)| *is_turned == way)
                .map(|(.., alone)| alone.iter().filter(|section| section.measured().is_some()).count())
                .sum::<usize>()
        };
        let shares = [false, true].map(|way| known[usize::from(way)] as f64 / all(way) as f64);
        println!(
            "seed {}: {shares:.3?} of {:?}, {:?} sure",
            population.seed,
            [all(false), all(true)],
            order.sure()
        );
        assert!(shares[0] > 0.85 && shares[1] > 0.6, "{shares:?}");
        assert!(order.sure().is_some_and(|sure| sure > 0.99), "{order:?}");
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
