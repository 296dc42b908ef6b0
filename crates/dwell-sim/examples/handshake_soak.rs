//! Many populations, the tracker of handshakes judged on each: `cargo run --release -p dwell-sim --example handshake_soak
//! -- FIRST LAST`, of the seeds. Shows what passed where something was said that is wrong, and ends with 1.

use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use dwell_sim::passing::{HalfTally, Population, Told, Wrong};
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
                probes: 1 + (seed % 3) as usize,
                seed,
                flood,
                resolution,
                ..Population::default()
            };
            for (probe, judge) in population.judged().iter().enumerate() {
                for (name, tally) in judge.tallies() {
                    tallies.entry(*name).or_default().add(tally);
                }
                for one in judge.wrong() {
                    println!("seed {seed}, flood {flood}, probe {probe}: {one:?}");
                    show(population, probe, one);
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

/// What passed between the ends of a connection of which something wrong was said.
fn show(population: Population, probe: usize, wrong: &Wrong) {
    let (Wrong::Half { said, .. } | Wrong::NoSuchConnection(said) | Wrong::Twice(said)) = wrong;
    let between = |one: &Endpoint, other: &Endpoint| {
        [(said.client, said.server), (said.server, said.client)].contains(&(*one, *other))
    };
    for told in population.passings() {
        let Told::Passed(passed) = told else { continue };
        let Some(segment) = passed.what.segment().filter(|_| passed.probe == probe) else { continue };
        if between(&segment.from, &segment.to) {
            let way = if segment.from == said.client { "->" } else { "<-" };
            println!(
                "    {:>12.3} us {way} {:?} seq {} ack {} +{} {:?}",
                (segment.at - said.first_at).as_f64() / 1e3,
                segment.flags,
                segment.sequence,
                segment.acknowledgment,
                segment.payload,
                segment.options.timestamps.map(|stamps| (stamps.value, stamps.echo))
            );
        }
    }
}
