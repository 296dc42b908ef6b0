//! The tracker of handshakes, judged by what really was.

use dwell_sim::passing::{Judge, Population};

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
