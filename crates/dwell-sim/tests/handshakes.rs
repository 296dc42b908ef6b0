//! The tracker of handshakes, judged by what really was.

use dwell_core::tcp::{Handshake, Limits, Tracker};
use dwell_sim::passing::{HalfTally, Judge, Population, Seen, Told};

/// What the tracker says at each probe, judged.
fn judged(population: Population) -> Vec<Judge> {
    let mut probes: Vec<_> =
        (0..population.probes).map(|_| (Tracker::new(Limits::default()), Judge::default())).collect();
    let mut said: Vec<Handshake> = Vec::new();
    for told in population.passings() {
        match told {
            Told::Truth(truth) => probes[truth.probe].1.expect(*truth),
            Told::Passed(passed) => {
                let (tracker, judge) = &mut probes[passed.probe];
                let mut take = |handshake| said.push(handshake);
                match &passed.what {
                    Seen::Segment(segment) => tracker.see(segment, &mut take),
                    Seen::Unreachable(message) => tracker.refused(message, &mut take),
                }
                said.drain(..).for_each(|handshake| judge.hear(&handshake));
            }
        }
    }
    probes
        .into_iter()
        .map(|(mut tracker, mut judge)| {
            tracker.finish(&mut |handshake| judge.hear(&handshake));
            judge
        })
        .collect()
}

fn assert_judged(judge: &Judge) {
    for ((label, half), tally) in judge.tallies() {
        let HalfTally { knowable, found, lucky, wrong, bounded, withheld, neither, .. } = tally;
        println!(
            "{label:>18} {half:>6}: wrong {wrong}, found {found} of {knowable} ({:.2} %), lucky {lucky}, bounded {bounded}, one of two {withheld}, neither {neither}",
            tally.share() * 100.0
        );
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
    for judge in judged(Population { connections: 6_000, probes: 3, seed: 7, ..Population::default() }) {
        assert_judged(&judge);
    }
}

#[test]
fn a_flood_hides_no_handshake() {
    let flooded = Population { connections: 2_000, flood: 30_000, seed: 8, ..Population::default() };
    for judge in judged(flooded) {
        assert_judged(&judge);
    }
}
