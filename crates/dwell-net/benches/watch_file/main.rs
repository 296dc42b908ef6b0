//! How fast the handshakes of a cached capture are found, by one core, and in how much memory: beside the floor, which
//! is a loop that maps the same file and looks at each header. Captures of several sizes, because the time that a
//! packet takes must not grow with them; whole packets as well as headers alone; and a flood of SYNs.
//!
//! Each capture is read by a process of its own, so that its memory is that of the reading alone.

mod write;

use dwell_core::tcp::{Handshake, Limits, Observed, Quality, Seen};
use dwell_net::capture::File;
use dwell_sim::passing::Population;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use write::write;

/// The best of so many rounds is told: what else runs on the machine only makes them slower.
const ROUNDS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--read") {
        let path = arguments.next().expect("which capture");
        return read(Path::new(&path));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let usual = Population { connections: 100_000, data: 6, rate: 20_000, ..Population::default() };
    for (name, kept, population) in [
        ("headers", 96, usual),
        ("headers, 4 times as many", 96, Population { connections: 400_000, ..usual }),
        ("headers, long connections", 96, Population { connections: 30_000, data: 60, ..usual }),
        ("whole packets", 65_535, Population { connections: 40_000, ..usual }),
        ("headers, flood of SYNs", 96, Population { flood: 1_000_000, ..usual }),
    ] {
        let path = folder.path().join("capture.pcap");
        let wrote = write(&path, population, kept);
        println!(
            "{name}: {} packets, {} connections, {} MB",
            wrote.packets,
            wrote.connections,
            wrote.bytes / 1_000_000
        );
        let myself = std::env::current_exe().expect("this program");
        let status = Command::new(myself).arg("--read").arg(&path).status().expect("a child");
        assert!(status.success(), "{status}");
    }
}

/// Reads a capture again and again, and prints what that took.
fn read(path: &Path) {
    let mut own = f64::INFINITY;
    let mut last = None;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        last = Some(observe(path));
        own = own.min(began.elapsed().as_secs_f64());
    }
    let memory = memory("VmHWM:");
    let mut floor = f64::INFINITY;
    let mut packets = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        packets = touch(path);
        floor = floor.min(began.elapsed().as_secs_f64());
    }
    let (seen, exact) = last.expect("rounds");
    assert_eq!(seen.packets, packets, "both must have read the same");
    let rate = |seconds: f64| packets as f64 / seconds / 1e6;
    println!(
        "  {:.1} M packets/s, floor {:.1} M/s, ratio {:.2}; {:.1} ns a packet; {} established, {} exact",
        rate(own),
        rate(floor),
        floor / own,
        own * 1e9 / packets as f64,
        seen.counts.established,
        exact,
    );
    println!(
        "  memory at most {memory:.1} MB (nothing is mapped; the floor's process: {:.1} MB)",
        self::memory("VmHWM:")
    );
}

/// What `dwell watch FILE` does with a capture, but for the output.
fn observe(path: &Path) -> (Seen, u64) {
    let mut observed = Observed::new(Limits::default());
    let mut exact = 0;
    let mut take = |handshake: Handshake| exact += u64::from(handshake.quality() == Quality::Exact);
    let mut file = File::open(path).expect("a capture");
    file.each(&mut |packet| observed.see(&packet, &mut take)).expect("read");
    (observed.finish(&mut take), exact)
}

/// The floor: maps the file and looks at each packet's times, addresses, ports and control bits.
#[allow(unsafe_code)] // There is no mapping a file without.
fn touch(path: &Path) -> u64 {
    let file = std::fs::File::open(path).expect("a capture");
    // SAFETY: nobody else has the file, which this program wrote.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.expect("a mapping");
    let (mut at, mut sum, mut packets) = (24, 0_u64, 0);
    while let Some(head) = bytes.get(at..at + 16) {
        let word =
            |from: usize| u32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
        let kept = word(8) as usize;
        let packet = &bytes[at + 16..at + 16 + kept];
        sum += u64::from(word(0)) + u64::from(word(4));
        sum += [12, 23, 26, 30, 34, 36, 47].into_iter().map(|from| u64::from(packet[from])).sum::<u64>();
        packets += 1;
        at += 16 + kept;
    }
    black_box(sum);
    packets
}

/// A line of the process' status, in MB.
fn memory(of: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(of)).expect("a line of memory");
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<f64>().expect("a number") * 1024.0 / 1e6
}
