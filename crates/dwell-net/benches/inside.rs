//! What the observer of a host's inside costs: CPU time per packet at 100,000 packets a second over loopback, by the
//! kernel's own account of the programs plus the reading of what they tell; and, as a check, how much CPU time the
//! whole process takes per packet with the observer and without, in turn.

use dwell_core::Nanos;
use dwell_core::inside::Way;
use dwell_net::clock;
use dwell_net::inside::{Observer, Watching};
use nix::time::{ClockId, clock_gettime};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

const RATE: u32 = 100_000;
const BURST: u32 = 100;
const ROUNDS: u32 = 1_000;
const REPETITIONS: usize = 5;

fn cpu(clock: ClockId) -> i64 {
    let time = clock_gettime(clock).expect("a clock that every process has");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

/// Sends and reads at [`RATE`]; the CPU time of the whole process per packet, and that of `observer`'s reading.
fn workload(sockets: &(UdpSocket, UdpSocket), observer: Option<&mut Observer>) -> (f64, f64, u64) {
    let (sender, receiver) = sockets;
    let over = AtomicBool::new(false);
    let packets = f64::from(ROUNDS * BURST);
    let began = cpu(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    let (reading, told) = scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = receiver.recv(&mut [0; 64]);
            }
        });
        let reader = observer.map(|observer| {
            let over = &over;
            scope.spawn(move || {
                let began = cpu(ClockId::CLOCK_THREAD_CPUTIME_ID);
                let mut told = 0_u64;
                while !over.load(Ordering::Relaxed) {
                    observer.wait(Duration::from_millis(20), &mut |_| told += 1).expect("a ring");
                }
                (cpu(ClockId::CLOCK_THREAD_CPUTIME_ID) - began, told)
            })
        });
        let pause = Nanos(i64::from(1_000_000_000 / RATE * BURST));
        let mut next = clock::monotonic();
        for _ in 0..ROUNDS {
            (0..BURST).for_each(|_| drop(sender.send(&[7; 33])));
            next += pause;
            std::thread::sleep(Duration::from_nanos((next - clock::monotonic()).0.max(0).unsigned_abs()));
        }
        over.store(true, Ordering::Relaxed);
        let _ = sender.send(&[0]);
        reader.map_or((0, 0), |reader| reader.join().expect("a reader"))
    });
    let all = cpu(ClockId::CLOCK_PROCESS_CPUTIME_ID) - began;
    (all as f64 / packets, reading as f64 / packets, told)
}

fn median(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

fn main() {
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = receiver.local_addr().expect("its address");
    sender.connect(address).expect("connected");
    let sockets = (sender, receiver);
    let watching = |ways| Watching { ports: vec![address.port()], ways, ..Watching::default() };
    if let Err(reason) = Observer::survey(&watching(Vec::new())) {
        println!("inside: not measured: {reason}");
        return;
    }
    for (name, ways) in [("receive", vec![Way::Receive]), ("send", vec![Way::Send])] {
        let mut observer = Observer::attach(&watching(ways.clone())).expect("what the survey promised");
        observer.hook_costs().expect("an account");
        let (_, reading, told) = workload(&sockets, Some(&mut observer));
        let mut programs = 0.0;
        for cost in observer.hook_costs().expect("an account") {
            let per_packet = cost.time.0 as f64 / f64::from(ROUNDS * BURST);
            programs += per_packet;
            println!("inside/{name}: {:>30} {:>8} runs {per_packet:7.1} ns a packet", cost.hook, cost.runs);
        }
        println!(
            "inside/{name}: programs {programs:.0} + reading {reading:.0} = {:.0} ns a packet; {told} journeys, {:?}",
            programs + reading,
            observer.losses()
        );
        drop(observer);
        let (mut with, mut without, mut difference) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            let (bare, _, _) = workload(&sockets, None);
            let mut observer = Observer::attach(&watching(ways.clone())).expect("as before");
            let (all, _, _) = workload(&sockets, Some(&mut observer));
            with.push(all);
            without.push(bare);
            difference.push(all - bare);
        }
        let ((with, ..), (without, ..), (difference, least, most)) =
            (median(&mut with), median(&mut without), median(&mut difference));
        println!(
            "inside/{name}: whole process {without:.0} -> {with:.0} ns a packet: {difference:.0} more (from {least:.0} to {most:.0} in {REPETITIONS} turns)"
        );
    }
}
