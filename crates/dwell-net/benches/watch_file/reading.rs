//! One capture, read again and again.

use dwell_core::Nanos;
use dwell_core::tcp::continuous::FlowLimits;
use dwell_core::tcp::{Handshake, Limits, Observed, Quality, Seen};
use dwell_net::capture::File;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::hint::black_box;
use std::path::Path;

const ROUNDS: usize = 7;

/// The most memory that this process has had so far, in MB. What getrusage tells includes its parent's before it was another program.
fn most_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("what was taken");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the most memory");
    line.trim_end_matches(" kB").trim().parse::<f64>().expect("a number") * 1024.0 / 1e6
}

/// Seconds of processor time and MB of memory that `who` has taken so far.
pub(super) fn taken(who: UsageWho) -> (f64, f64) {
    let usage = getrusage(who).expect("what was taken");
    let time = usage.user_time() + usage.system_time();
    (time.num_microseconds() as f64 * 1e-6, usage.max_rss() as f64 * 1024.0 / 1e6)
}

/// What a reader takes: seconds of each round in ascending order, MB at most, and what it gave last.
struct Taken<T> {
    seconds: Vec<f64>,
    megabytes: f64,
    last: T,
}

fn rounds<T>(mut read: impl FnMut() -> T) -> Taken<T> {
    let mut seconds = Vec::new();
    let (mut last, mut megabytes) = (None, 0.0);
    for round in 0..ROUNDS {
        let (before, _) = taken(UsageWho::RUSAGE_SELF);
        last = Some(read());
        let (now, _) = taken(UsageWho::RUSAGE_SELF);
        seconds.push(now - before);
        // Of the first alone: what is freed is kept by the allocator, and no capture is read twice elsewhere.
        if round == 0 {
            megabytes = most_memory();
        }
    }
    seconds.sort_by(f64::total_cmp);
    Taken { seconds, megabytes, last: last.expect("rounds") }
}

impl<T> Taken<T> {
    fn median(&self) -> f64 {
        self.seconds[ROUNDS / 2]
    }

    /// The median of the rates, the least and the greatest.
    fn rates(&self, packets: u64) -> String {
        let rate = |seconds: f64| packets as f64 / seconds / 1e6;
        let (least, most) = (rate(self.seconds[ROUNDS - 1]), rate(self.seconds[0]));
        format!("{:.1} M packets/s ({least:.1} to {most:.1})", rate(self.median()))
    }
}

/// Handshakes alone, beside the floor.
pub(super) fn handshakes(path: &Path) {
    let own = rounds(|| observe(path, Observed::new(Limits::default())));
    let floor = rounds(|| touch(path));
    let (seen, exact) = &own.last;
    assert_eq!(seen.packets, floor.last, "both must have read the same");
    let each = own.median() * 1e9 / seen.packets as f64;
    println!(
        "  handshakes: {}, {each:.1} ns each; {} established, {exact} exact; memory at most {:.1} MB, the mapped window's 4 with it",
        own.rates(seen.packets),
        seen.counts.established,
        own.megabytes
    );
    println!("  floor: {}; {:.1} MB, the mapped file's with it", floor.rates(seen.packets), floor.megabytes);
}

/// Round trips throughout connections too.
pub(super) fn continuous(path: &Path) {
    let throughout =
        || Observed::new(Limits::default()).throughout(FlowLimits::default(), Nanos::from_secs(10));
    let own = rounds(|| observe(path, throughout()));
    let (seen, _) = &own.last;
    let samples = seen.samples.expect("asked for").samples;
    let rates = own.rates(seen.packets);
    println!("  continuous: {rates}; {samples} samples; memory at most {:.1} MB", own.megabytes);
}

/// What `dwell watch FILE` does with a capture, but for the output.
fn observe(path: &Path, mut observed: Observed) -> (Seen, u64) {
    let (mut exact, mut told) = (0, 0);
    let mut take = |handshake: Handshake| exact += u64::from(handshake.quality() == Quality::Exact);
    let mut file = File::open(path).expect("a capture");
    file.each(&mut |packet| {
        observed.see(&packet, &mut take);
        if let Some(trips) = observed.round_trips() {
            told += trips.count();
        }
    })
    .expect("read");
    black_box(told + observed.last_round_trips().count());
    (observed.finish(&mut take), exact)
}

/// The floor: maps the file and looks at each packet's times, addresses, ports and control bits.
#[allow(unsafe_code)] // There is no mapping a file without.
fn touch(path: &Path) -> u64 {
    let file = std::fs::File::open(path).expect("a capture");
    // SAFETY: nobody else has the file, which this program wrote.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.expect("a mapping");
    let is_pcapng = bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    // Of the file and of a packet; where its times and its captured length are told.
    let (header, head, times, length) = if is_pcapng { (60, 28, 12, 20) } else { (24, 16, 0, 8) };
    let (mut at, mut sum, mut packets) = (header, 0_u64, 0);
    while let Some(told) = bytes.get(at..at + head) {
        let word =
            |from: usize| u32::from_le_bytes([told[from], told[from + 1], told[from + 2], told[from + 3]]);
        let kept = word(length) as usize;
        let packet = &bytes[at + head..at + head + kept];
        sum += u64::from(word(times)) + u64::from(word(times + 4));
        sum += [12, 23, 26, 30, 34, 36, 47].into_iter().map(|from| u64::from(packet[from])).sum::<u64>();
        packets += 1;
        at += if is_pcapng { word(4) as usize } else { head + kept };
    }
    black_box(sum);
    packets
}
