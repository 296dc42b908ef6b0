//! Many populations, the tracker of handshakes judged on each: `cargo run --release -p dwell-sim --example handshake_soak
//! -- FIRST LAST`, of the seeds. Ends with 1 if anything was wrong.

use dwell_core::Nanos;
use dwell_sim::passing::{HalfTally, Population};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut seeds = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(first)), Some(Ok(last)), None) = (seeds.next(), seeds.next(), seeds.next()) else {
        eprintln!("the first and the last seed are missing: handshake_soak 1 300");
        return ExitCode::from(2);
    };
    let mut tallies = BTreeMap::<_, HalfTally>::new();
    let mut wrong = 0;
    for seed in first..=last {
        for flood in [0, 20_000] {
            // Times to the microsecond as in most captures, every other time.
            let resolution = Nanos(if seed % 2 == 0 { 1 } else { 1_000 });
            let population = Population {
                connections: 2_000,
                probes: 2,
                seed,
                flood,
                resolution,
                ..Population::default()
            };
            for judge in population.judged() {
                for (name, tally) in judge.tallies() {
                    tallies.entry(*name).or_default().add(tally);
                }
                for one in judge.wrong() {
                    println!("seed {seed}, flood {flood}: {one:?}");
                }
                wrong += judge.wrong().len();
            }
        }
    }
    for ((label, half), tally) in &tallies {
        println!("{label:>18} {half:>6}: {tally}");
    }
    println!("{wrong} wrong");
    ExitCode::from(u8::from(wrong > 0))
}
