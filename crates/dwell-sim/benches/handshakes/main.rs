//! Handshakes out of a capture of a million packets and more with known truth: what Dwell's tracker says, and what
//! other readers of captures say that are installed. Wrong, missing, speed, of each on the same file.

mod peers;
mod verdict;

use dwell_core::Nanos;
use dwell_core::capture::{ReadError, each_packet};
use dwell_core::tcp::dissect::{Passing, dissect};
use dwell_core::tcp::{Half, Handshake, Limits, Tracker};
use dwell_sim::passing::{CaptureFile, CaptureFormat, Judge, Population, Told, Truth};
use std::fs::File;
use std::io::{BufWriter, Error, Result};
use std::path::Path;
use std::time::Instant;
use verdict::{Said, Truths, print_by_behaviour};

/// Of this many connections come some 1.6 million packets.
const CONNECTIONS: u32 = 90_000;

fn main() -> Result<()> {
    // `cargo test` runs benches too, to see that they run.
    let connections = if std::env::args().any(|argument| argument == "--bench") { CONNECTIONS } else { 500 };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("handshakes.pcap");
    let (packets, truths) = generate(&file, connections)?;
    println!("{connections} connections, {packets} packets, times to the microsecond");
    println!("{:>10} {:>40} {:>28} {:>28} {:>12}", "", "server half", "client half", "total", "packets/s");
    let started = Instant::now();
    let said = tracked(&file)?;
    let took = started.elapsed();
    let mut judge = Judge::default();
    truths.iter().for_each(|truth| judge.expect(truth.clone()));
    said.iter().for_each(|handshake| judge.hear(handshake));
    let truths = Truths::new(truths);
    let mut readers = vec![truths.compare("dwell", &said.iter().map(of_tracker).collect::<Vec<_>>())];
    readers[0].print(packets, took);
    for (name, ask) in peers::ALL {
        let started = Instant::now();
        match ask(&file) {
            Some(said) => {
                let took = started.elapsed();
                let reader = truths.compare(name, &said);
                reader.print(packets, took);
                readers.push(reader);
            }
            None => println!("{name:>10} is not installed"),
        }
    }
    print_by_behaviour(&readers);
    println!("\nDwell, the worst first:");
    let mut rows: Vec<_> = judge.tallies().iter().collect();
    rows.sort_by(|(_, one), (_, other)| {
        (other.wrong, one.share()).partial_cmp(&(one.wrong, other.share())).expect("shares are numbers")
    });
    for ((label, half), tally) in rows {
        println!("{label:>18} {half:>6}: {tally}");
    }
    for half in ["server", "client", "total"] {
        let hidden = judge.all(half).hidden;
        let per_million = hidden as f64 * 1e6 / f64::from(connections);
        println!(
            "{half:>25}: {hidden} false where the tap missed what was answered and could hear the same if it had not, {per_million:.0} per million connections"
        );
    }
    match judge.wrong() {
        [] => Ok(()),
        wrong => Err(Error::other(format!("{} wrong, the first: {:?}", wrong.len(), wrong[0]))),
    }
}

fn generate(file: &Path, connections: u32) -> Result<(u64, Vec<Truth>)> {
    let resolution = Nanos(1_000);
    let population = Population { connections, seed: 5, resolution, ..Population::default() };
    let format = CaptureFormat { nanoseconds: false, bare: true, ..CaptureFormat::default() };
    let mut capture = CaptureFile::new(BufWriter::new(File::create(file)?), format)?;
    let mut truths = Vec::new();
    for told in population.passings() {
        match told {
            Told::Truth(truth) => truths.push(*truth),
            Told::Passed(passed) => capture.write(&passed)?,
        }
    }
    let packets = capture.packets();
    capture.finish()?;
    Ok((packets, truths))
}

fn tracked(file: &Path) -> Result<Vec<Handshake>> {
    let (mut tracker, mut said) = (Tracker::new(Limits::default()), Vec::new());
    each_packet(File::open(file)?, |captured| {
        match dissect(&captured) {
            Ok(Passing::Segment(segment)) => tracker.see(&segment, &mut |told| said.push(told)),
            Ok(Passing::Unreachable(message)) => tracker.refused(&message, &mut |told| said.push(told)),
            Ok(Passing::Datagram(_)) | Err(_) => {}
        }
        Ok::<_, ReadError>(())
    })
    .map_err(Error::other)?;
    tracker.finish(&mut |told| said.push(told));
    Ok(said)
}

fn of_tracker(said: &Handshake) -> Said {
    Said {
        client: said.client,
        server: said.server,
        isn: Some(said.isn_client),
        halves: [said.server_half, said.client_half, said.total].map(Half::exact),
        tolerance: Nanos::ZERO,
    }
}
