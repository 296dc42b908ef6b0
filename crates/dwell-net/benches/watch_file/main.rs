//! How fast the handshakes of a cached capture are found, by one core, and in how much memory: beside the floor, which
//! is a loop that maps the same file and looks at each header, and beside other readers of captures that are installed.
//! Captures of one mix and several sizes, because the time that a packet takes must not grow with them; long
//! connections, whole packets, a flood of SYNs; and round trips throughout connections.
//!
//! Each capture is read by a process of its own, so that its memory is that of the reading alone. Time is the
//! processor's, of user and kernel together: what else runs on the machine takes its time, though not its share of the
//! caches.

mod peers;
mod reading;
mod write;

use dwell_sim::passing::Population;
use std::path::Path;
use std::process::Command;
use write::{Format, write};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [how, path] if how == "--handshakes" => return reading::handshakes(Path::new(path)),
        [how, path] if how == "--continuous" => return reading::continuous(Path::new(path)),
        [how, name, packets, path] if how == "--peer" => {
            return peers::run(name, packets.parse().expect("a number"), Path::new(path));
        }
        _ => {}
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.pcap");
    // Some 15 packets a connection, of which half have something peculiar about them.
    let usual = Population { connections: 65_000, data: 6, rate: 20_000, ..Population::default() };
    let long = Population { connections: 30_000, data: 60, rate: 1_000, ..usual };
    // Two minutes after its first SYN gave way a flood is remembered twice: nothing takes more memory.
    let lasting = Population { connections: 400_000, data: 0, rate: 10_000, flood: 2_100_000, ..usual };
    type Case<'a> = (&'a str, Format, usize, Population, &'a [&'a str]);
    let (pcap, pcapng) = (Format::Pcap, Format::Pcapng);
    let cases: [Case<'_>; 9] = [
        ("headers", pcap, 96, usual, &["--handshakes", "--continuous", "--peer"]),
        ("the same as pcapng", pcapng, 96, usual, &["--handshakes"]),
        ("4 times as many", pcap, 96, Population { connections: 260_000, ..usual }, &["--handshakes"]),
        ("16 times as many", pcap, 96, Population { connections: 1_040_000, ..usual }, &["--handshakes"]),
        ("long connections", pcap, 96, long, &["--handshakes", "--continuous"]),
        ("the same as pcapng", pcapng, 96, long, &["--handshakes"]),
        ("whole packets", pcap, 65_535, Population { connections: 40_000, ..usual }, &["--handshakes"]),
        ("flood of SYNs", pcap, 96, Population { flood: 1_000_000, ..usual }, &["--handshakes", "--peer"]),
        ("flood of SYNs for minutes", pcap, 96, lasting, &["--handshakes"]),
    ];
    for (name, format, kept, population, hows) in cases {
        let wrote = write(&path, population, kept, format);
        let megabytes = wrote.bytes / 1_000_000;
        println!("{name}: {} packets, {} connections, {megabytes} MB", wrote.packets, wrote.connections);
        for how in hows {
            if *how == "--peer" {
                let packets = wrote.packets.to_string();
                peers::NAMES.iter().for_each(|peer| myself(&[how, peer, &packets], &path));
            } else {
                myself(&[how], &path);
            }
        }
    }
}

/// This program once more.
fn myself(arguments: &[&str], path: &Path) {
    let myself = std::env::current_exe().expect("this program");
    let status = Command::new(myself).args(arguments).arg(path).status().expect("a child");
    assert!(status.success(), "{status}");
}
