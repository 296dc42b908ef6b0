//! The tracker of handshakes, judged by what really was.

use dwell_core::tcp::{Limits, Tracker};
use dwell_sim::passing::{Judge, Population, Told, Wrong};
use std::collections::HashMap;
use std::ops::Range;

fn assert_judged(judge: &Judge) {
    for ((label, half), tally) in judge.tallies() {
        println!("{label:>18} {half:>6}: {tally}");
    }
    for (half, truth) in judge.missed().take(20) {
        println!("missed {half} of {truth:?}");
    }
    for wrong in judge.wrong() {
        println!("{wrong:?}");
    }
    assert_eq!(judge.wrong().len(), 0);
    for half in ["server", "client", "total"] {
        assert!(judge.all(half).share() >= 0.97, "{half}");
    }
}

#[test]
fn the_tracker_says_nothing_wrong_and_finds_what_can_be_known() {
    for judge in (Population { connections: 6_000, probes: 3, seed: 7, ..Population::default() }.judged()) {
        assert_judged(&judge);
    }
}

#[test]
fn a_flood_hides_no_handshake() {
    let flooded = Population { connections: 2_000, flood: 30_000, seed: 8, ..Population::default() };
    for judge in flooded.judged() {
        assert_judged(&judge);
    }
}

/// A million SYNs in three seconds: more than there is room for, however little is kept of each. What is sent again after
/// its SYN was forgotten looks like the first.
#[test]
fn a_flood_that_takes_all_places_makes_nothing_wrong() {
    let all =
        Population { connections: 65_000, flood: 1_000_000, rate: 20_000, data: 2, ..Population::default() };
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            scope.spawn(move || Population { seed, ..all }.judged().iter().for_each(assert_judged));
        }
    });
}

/// The figures of the README: `cargo test --release -p dwell-sim --test handshakes -- --ignored --nocapture`.
#[test]
#[ignore = "figures"]
fn what_a_flood_takes() {
    let exact_within = |flooded: Population, handshakes: usize| {
        let mut tracker = Tracker::new(Limits { handshakes, ..Limits::default() });
        let (mut said, mut exact) = (Vec::new(), HashMap::new());
        for told in flooded.passings() {
            if let Told::Passed(passed) = told
                && let Some(segment) = passed.what.segment()
            {
                tracker.see(segment, &mut |handshake| said.push(handshake));
            }
        }
        tracker.finish(&mut |handshake| said.push(handshake));
        for one in said {
            let name = (one.client, one.server, one.isn_client);
            exact.extend(one.total.exact().map(|total| (name, total)));
        }
        exact
    };
    for seed in 1..=3 {
        let flooded = Population {
            connections: 65_000,
            flood: 1_000_000,
            rate: 20_000,
            data: 2,
            seed,
            ..Population::default()
        };
        let all = exact_within(flooded, 1 << 21);
        let found = exact_within(flooded, Limits::default().handshakes);
        let lost = all.keys().filter(|name| !found.contains_key(name)).count();
        let more = found.keys().filter(|name| !all.contains_key(name)).count();
        let other =
            found.iter().filter(|(name, total)| all.get(name).is_some_and(|one| one != *total)).count();
        println!(
            "seed {seed}: {} totals exact with room for all; {lost} lost, {more} more, {other} others",
            all.len()
        );
        assert!(lost * 50 < all.len());
        assert_eq!(other, 0);
    }
}

/// Little room, so that much is forgotten at every stage. Where ports are used again, a handshake may be told a second time,
/// without a value: the connection before it is forgotten too.
#[test]
fn what_finds_no_room_makes_no_value_wrong() {
    for seed in 1..=20 {
        for handshakes in [8, 64, 512] {
            let limits = Limits { handshakes, ..Limits::default() };
            let flood = 8_000 * (seed % 2) as u32;
            let population =
                Population { connections: 2_000, probes: 2, flood, seed, data: 2, ..Population::default() };
            for judge in population.judged_within(limits) {
                let wrong = judge.wrong().iter().filter(|wrong| !matches!(wrong, Wrong::Twice(_)));
                assert_eq!(
                    wrong.collect::<Vec<_>>(),
                    Vec::<&Wrong>::new(),
                    "seed {seed}, room for {handshakes}"
                );
                // Nor is nothing said.
                let least = if handshakes < 512 { 0.01 } else { 0.95 };
                assert!(judge.all("total").share() >= least, "seed {seed}, room for {handshakes}");
            }
        }
    }
}

/// A tap that misses a SYN of two that cross may tell the connection from the other side, and cannot know better. It is
/// counted all the same.
#[test]
fn what_is_hidden_from_a_tap_is_counted_where_it_is_told_from_the_other_side() {
    let seed = 6_370_810_508_446_620_601;
    let crossed = Population {
        connections: 2_000,
        probes: 3,
        seed,
        data: 2,
        label: Some("simultaneous-open"),
        ..Population::default()
    };
    let mut hidden = 0;
    for judge in crossed.judged() {
        assert_eq!(judge.wrong(), []);
        hidden += ["server", "client", "total"].map(|half| judge.all(half).hidden).iter().sum::<u64>();
    }
    assert!(hidden > 0);
}

#[test]
fn handshakes_of_no_connection_and_those_told_twice_are_counted() {
    let population = Population { connections: 20, label: Some("plain"), ..Population::default() };
    let (mut tracker, mut judge, mut said) = (Tracker::new(Limits::default()), Judge::default(), Vec::new());
    for told in population.passings() {
        match told {
            Told::Truth(truth) => judge.expect(*truth),
            Told::Passed(passed) => {
                if let Some(segment) = passed.what.segment() {
                    tracker.see(segment, &mut |handshake| said.push(handshake));
                }
            }
        }
    }
    tracker.finish(&mut |handshake| said.push(handshake));
    said.iter().for_each(|one| judge.hear(one));
    let all = said.len() as u64;
    assert!(all >= 20);
    assert_eq!(judge.misnamed(), (0, all));
    judge.hear(&said[0]);
    assert_eq!(judge.misnamed(), (1, all + 1));
    let mut stranger = Judge::default();
    said.iter().for_each(|one| stranger.hear(one));
    assert_eq!(stranger.misnamed(), (all, all));
}

/// How many connections there were at a probe, of which none is told wrong.
fn hold(seeds: Range<u64>) -> u64 {
    let connections = seeds.map(|seed| {
        let population = Population::drawn(seed);
        for (probe, judge) in population.judged().iter().enumerate() {
            assert!(
                judge.wrong().is_empty(),
                "seed {seed}, probe {probe}: {population:?}: {:#?}",
                judge.wrong()
            );
        }
        u64::from(population.connections) * population.probes as u64
    });
    connections.sum()
}

#[test]
fn nothing_is_wrong_whatever_is_drawn() {
    hold(0..60);
}

/// The figure of the book: `cargo test --release -p dwell-sim --test handshakes -- --ignored --nocapture drawn_of_many`; the first seed
/// is in `FROM`, how many in `SEEDS`.
#[test]
#[ignore = "takes minutes"]
fn nothing_is_wrong_whatever_is_drawn_of_many() {
    let asked =
        |name: &str, else_: u64| std::env::var(name).map_or(else_, |value| value.parse().expect(name));
    let from = asked("FROM", 1_000);
    let seeds = from..from + asked("SEEDS", 2_000);
    println!("{} connections at a probe, none wrong", hold(seeds));
}
