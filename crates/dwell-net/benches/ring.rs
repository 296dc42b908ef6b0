//! What a ring costs and what it loses, on a wire of its own: CPU time of everything, kernel and readers, with the ring
//! less that without, at 100,000 packets a second; then drops at the highest rate that this machine sends at. tcpdump,
//! where it is installed, in the same run.

use dwell_core::tcp::{Limits, Observed, Quality, Summary};
use dwell_net::capture::{Event, Ring, RingConfig, Rings, Stamping, Wanted};
use dwell_net::interface::Interface;
use dwell_net::{PacketSocket, clock};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike as _;
use nix::unistd::Pid;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const RATE: u32 = 100_000;
const PACKETS: u32 = 200_000;
const BURST: u32 = 50;
const REPETITIONS: usize = 3;
/// Packets of a connection, three of them its handshake.
const CONNECTION: u32 = 20;
const DATA: usize = 600;

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

/// The packet of this number: connections one after another.
fn fill(frame: &mut [u8; 14 + 40 + DATA], number: u32) -> usize {
    let (connection, place) = (number / CONNECTION, number % CONNECTION);
    let client = (0x0a00_0001 + connection / 50_000).to_be_bytes();
    let port = (1_024 + connection % 50_000) as u16;
    let server = [192, 0, 2, 1];
    let (by_client, flags, sequence, acknowledgment) = match place {
        0 => (true, 0x02, 99, 0),
        1 => (false, 0x12, 499, 100),
        2 => (true, 0x10, 100, 500),
        _ if place % 2 == 0 => (true, 0x18, 100, 500),
        _ => (false, 0x18, 500, 100),
    };
    let data = if place < 3 { 0 } else { DATA };
    let ([from, to], [source, destination]) =
        if by_client { ([client, server], [port, 443]) } else { ([server, client], [443, port]) };
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    frame[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame[16..18].copy_from_slice(&((40 + data) as u16).to_be_bytes());
    frame[26..30].copy_from_slice(&from);
    frame[30..34].copy_from_slice(&to);
    frame[34..36].copy_from_slice(&source.to_be_bytes());
    frame[36..38].copy_from_slice(&destination.to_be_bytes());
    frame[38..42].copy_from_slice(&u32::to_be_bytes(sequence));
    frame[42..46].copy_from_slice(&u32::to_be_bytes(acknowledgment));
    frame[46..50].copy_from_slice(&[0x50, flags, 0xff, 0xff]);
    54 + data
}

/// Sends; at [`RATE`], or as fast as it goes. Packets a second, of those that the wire took.
fn send(socket: &PacketSocket, paced: bool) -> (f64, u32) {
    let mut frame = [0; 14 + 40 + DATA];
    let (began, mut taken) = (clock::monotonic(), 0);
    let mut next = began;
    for number in 0..PACKETS {
        let length = fill(&mut frame, number);
        taken += u32::from(socket.send(&frame[..length]).expect("a wire"));
        if paced && number % BURST == BURST - 1 {
            next += dwell_core::Nanos(i64::from(1_000_000_000 / RATE * BURST));
            thread::sleep(Duration::from_nanos((next - clock::monotonic()).0.max(0).unsigned_abs()));
        }
    }
    (f64::from(taken) / (clock::monotonic() - began).as_secs_f64(), taken)
}

/// CPU time of this process in seconds, kernel's part and all, or that of the programs that it started and that ended.
fn cpu(of: UsageWho) -> f64 {
    let usage = getrusage(of).expect("an account");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}

fn read(mut ring: Ring, over: &AtomicBool) -> Summary {
    let (mut observed, mut summary) = (Observed::new(Limits::default()), Summary::default());
    let mut last = false;
    while !last {
        last = over.load(Ordering::Relaxed);
        let mut take = |handshake| summary.add(&handshake);
        ring.take(Duration::from_millis(20), &mut |event| match event {
            Event::Packet(captured) => observed.see(captured, &mut take),
            Event::ClockStepped => observed.clock_stepped(),
        })
        .expect("a wire");
    }
    observed.finish(&mut |handshake| summary.add(&handshake));
    summary
}

/// One run with a ring; CPU seconds, rate, and what was lost.
fn with_ring(socket: &PacketSocket, wanted: Wanted, paced: bool) -> (f64, String) {
    let config = RingConfig { wanted, stamping: Stamping::Kernel, promiscuous: false, rings: 1 };
    let Rings { rings, mut gauge } = Rings::open(&["far"], &config).expect("a ring");
    let over = AtomicBool::new(false);
    let began = cpu(UsageWho::RUSAGE_SELF);
    let (told, rate) = thread::scope(|scope| {
        let readers: Vec<_> = rings.into_iter().map(|ring| scope.spawn(|| read(ring, &over))).collect();
        let (rate, taken) = send(socket, paced);
        thread::sleep(Duration::from_millis(50));
        over.store(true, Ordering::Relaxed);
        let exact: u64 = readers
            .into_iter()
            .flat_map(|reader| reader.join().expect("a reader").qualities().collect::<Vec<_>>())
            .filter(|(quality, _)| *quality == Quality::Exact)
            .map(|(_, count)| count)
            .sum();
        let counts = gauge.counts();
        let seen = counts.filtered.map_or(0, |filtered| filtered.seen);
        let told = format!(
            "{seen} of {taken} packets seen, {} passed, {} dropped; {exact} of {} handshakes exact",
            counts.passed,
            counts.dropped,
            PACKETS / CONNECTION
        );
        (told, rate)
    });
    (cpu(UsageWho::RUSAGE_SELF) - began, format!("{rate:8.0} packets/s: {told}"))
}

/// tcpdump on the same packets: CPU seconds of it and of the kernel for it, and what it says of drops.
fn with_tcpdump(socket: &PacketSocket, paced: bool) -> Option<(f64, String)> {
    let asked = ["-i", "far", "-n", "-s", "128", "-w", "/dev/null", "tcp"];
    let child = Command::new("tcpdump").args(asked).stderr(Stdio::piped()).spawn().ok()?;
    thread::sleep(Duration::from_millis(500));
    let began = cpu(UsageWho::RUSAGE_SELF) + cpu(UsageWho::RUSAGE_CHILDREN);
    let (rate, _) = send(socket, paced);
    thread::sleep(Duration::from_millis(300));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).ok()?;
    let said = child.wait_with_output().ok()?;
    let spent = cpu(UsageWho::RUSAGE_SELF) + cpu(UsageWho::RUSAGE_CHILDREN) - began;
    let said = String::from_utf8_lossy(&said.stderr).lines().skip(1).collect::<Vec<_>>().join(", ");
    Some((spent, format!("{rate:8.0} packets/s: {said}")))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let made = unshare(CloneFlags::CLONE_NEWNET).is_ok()
        && ip("link add near type veth peer name far")
        && ip("link set near up")
        && ip("link set far up");
    if !made {
        println!("ring: not measured: no network namespaces here");
        return;
    }
    Interface::named("near").and_then(|near| near.offloads_off()).expect("a wire without offloads");
    let socket = PacketSocket::open("near").expect("a socket");
    // A core's share of what the run took.
    let seconds = f64::from(PACKETS) / f64::from(RATE);
    let share = |spent: f64| spent / seconds * 100.0;
    let without = || {
        let began = cpu(UsageWho::RUSAGE_SELF);
        send(&socket, true);
        cpu(UsageWho::RUSAGE_SELF) - began
    };
    for (name, wanted) in [("handshakes", Wanted::Handshakes), ("all segments", Wanted::Throughout)] {
        let mut more = Vec::new();
        for _ in 0..REPETITIONS {
            let bare = without();
            let (spent, told) = with_ring(&socket, wanted, true);
            println!("ring/{name}: {told}");
            more.push(spent - bare);
        }
        println!("ring/{name}: {:.1} % of a core at {RATE} packets/s", share(median(more)));
        let (_, told) = with_ring(&socket, wanted, false);
        println!("ring/{name}, as fast as it goes: {told}");
    }
    let mut more = Vec::new();
    for _ in 0..REPETITIONS {
        let bare = without();
        let Some((spent, told)) = with_tcpdump(&socket, true) else {
            println!("ring/tcpdump: not installed");
            return;
        };
        println!("ring/tcpdump: {told}");
        more.push(spent - bare);
    }
    println!("ring/tcpdump: {:.1} % of a core at {RATE} packets/s", share(median(more)));
    if let Some((_, told)) = with_tcpdump(&socket, false) {
        println!("ring/tcpdump, as fast as it goes: {told}");
    }
}
