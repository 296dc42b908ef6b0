//! What passes probes, with its truth.

use dwell_sim::passing::{Passed, Population, Told, Truth, WhyUnknown};
use std::collections::BTreeMap;

fn drawn(population: Population) -> (Vec<Truth>, Vec<Passed>) {
    let (mut truths, mut packets) = (Vec::new(), Vec::new());
    for told in population.passings() {
        match told {
            Told::Truth(truth) => truths.push(*truth),
            Told::Passed(passed) => packets.push(passed),
        }
    }
    (truths, packets)
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_gives_others() {
    let population = Population { connections: 200, probes: 2, ..Population::default() };
    let (truths, packets) = drawn(population);
    assert_eq!((&truths, &packets), (&drawn(population).0, &drawn(population).1));
    assert_ne!(packets, drawn(Population { seed: 2, ..population }).1);
}

/// Nothing that passes proves a value that is not true, or no reader could be asked for none but true ones.
#[test]
fn what_passed_proves_nothing_that_is_not_true() {
    let (truths, packets) = drawn(Population { connections: 20_000, probes: 2, ..Population::default() });
    let mut why = BTreeMap::<_, u32>::new();
    let mut known = BTreeMap::<_, u32>::new();
    for truth in &truths {
        for (name, half) in truth.halves() {
            match (half.known, half.why) {
                (Some(value), None) => {
                    assert!(value >= half.least, "{name} of {truth:?}");
                    *known.entry(name).or_default() += 1;
                }
                (None, Some(reason)) => *why.entry((name, reason)).or_default() += 1,
                other => panic!("{other:?} of {truth:?}"),
            }
            let is_trap = half.why == Some(WhyUnknown::Trap);
            assert!(!is_trap || truth.deafness.is_some(), "{name} of {truth:#?}");
        }
    }
    println!("{} packets, known {known:?}, unknown {why:?}", packets.len());
    assert!(known.values().all(|count| *count > 20_000));
    for reason in [WhyUnknown::NotAnswered, WhyUnknown::Ambiguous, WhyUnknown::Repetition] {
        assert!(why.contains_key(&("server", reason)) && why.contains_key(&("client", reason)));
    }
}
