//! Datagrams, read in every way that programs read them.

use crate::{Sent, loopback, observer, send_paced, told};
use dwell_core::Nanos;
use dwell_core::inside::{Journey, Point, Protocol, Way};
use dwell_net::clock;
use dwell_net::inside::Watching;
use dwell_net::socket::ProbeSocket;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{scope, sleep};
use std::time::Duration;

const PACKETS: usize = 2_000;

/// Two of these tests at once would take each other's cores, and each wants one for its reader and one for its sender.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn receiving(address: SocketAddr) -> Watching {
    Watching { ports: vec![address.port()], ways: vec![Way::Receive], ..Watching::default() }
}

/// What the reader itself saw of a packet: when it stamped it, and the kernel's stamp of it.
type Seen = HashMap<Nanos, Nanos>;

/// Reads with `spin`: asking again and again instead of sleeping. The socket stamps each packet and tells so. With it,
/// how often the system says that this thread gave its core away of its own will.
fn read_all(mut socket: ProbeSocket, spin: bool) -> (Seen, usize) {
    let slept = || getrusage(UsageWho::RUSAGE_THREAD).expect("an account").voluntary_context_switches();
    let before = slept();
    let mut seen = Seen::new();
    socket.set_patience(Some(Nanos::from_millis(500))).expect("patience");
    let mut idle = 0_u32;
    while idle < if spin { 2_000_000 } else { 1 } && seen.len() < PACKETS {
        let mut buffer = [0; 64];
        let received = if spin {
            socket.receive_now(&mut buffer, Nanos::ZERO)
        } else {
            socket.receive(&mut buffer, Nanos::ZERO)
        };
        match received.expect("a socket that works") {
            Some(received) => {
                seen.insert(received.stamps.application, received.stamps.kernel.expect("the kernel's stamp"));
                idle = 0;
            }
            None => idle += 1,
        }
    }
    (seen, usize::try_from(slept() - before).expect("a count that grows"))
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Each journey is that of the packet that was read: the stamp that the program took names the packet, and so does the
/// kernel's.
fn assert_right(journeys: &[Journey], seen: &Seen, offset: Nanos) {
    let mut differences = Vec::new();
    for journey in journeys {
        // Of a thread's first packet nobody knows yet that its stamp will be told.
        let Some(stamped) = journey.times.at(Point::Stamped) else { continue };
        let stamped = stamped + offset;
        // The difference of the clocks was read at another time: to within a microsecond it is the same.
        let (application, kernel) = seen
            .iter()
            .min_by_key(|(application, _)| (**application - stamped).abs())
            .expect("something was read");
        assert!((*application - stamped).abs() < Nanos(1_000), "{journey:?}");
        let stamp = journey.kernel_stamp.expect("the kernel's stamp") + offset;
        assert!((*kernel - stamp).abs() < Nanos(2_000), "the wrong packet: {journey:?}, {kernel:?}");
        differences.push((journey.total() - (*application - *kernel)).0);
    }
    assert!(differences.len() + 1 >= journeys.len());
    let difference = median(differences);
    println!("stages minus stamps, median: {difference} ns of {}", journeys.len());
    assert!(difference.abs() < 1_000, "{difference}");
}

#[test]
fn every_reader_gets_its_own_packets() {
    let _alone = alone();
    for (local, spin) in loopback().into_iter().flat_map(|local| [(local, false), (local, true)]) {
        let receiver = ProbeSocket::bind(local).expect("a socket");
        let address = receiver.local_addr().expect("its address");
        let Some(mut observer) = observer(&receiving(address)) else { return };
        let sender = UdpSocket::bind(local).expect("a socket");
        let ((seen, slept), (journeys, drops)) = scope(|scope| {
            let reader = scope.spawn(move || read_all(receiver, spin));
            scope.spawn(move || send_paced(&sender, address, PACKETS, Duration::from_micros(30)));
            let told = told(&mut observer);
            (reader.join().expect("a reader"), told)
        });
        let losses = observer.losses();
        println!("spin {spin}: {} journeys, {losses:?}, {} drops", journeys.len(), drops.len());
        assert_eq!(journeys.len() as u64 + losses.sum() + drops.len() as u64, PACKETS as u64);
        assert_eq!(seen.len(), PACKETS);
        assert!(journeys.len() > PACKETS * 9 / 10);
        assert_right(&journeys, &seen, clock::realtime_minus_monotonic());
        for journey in &journeys {
            assert_eq!(journey.flow.protocol, Protocol::Udp);
            assert_eq!(journey.flow.local, address);
            assert_eq!(journey.process.as_ref().map(|process| process.pid), Some(std::process::id()));
        }
        let woken = journeys.iter().filter(|journey| journey.times.at(Point::Waking).is_some()).count();
        println!("{woken} woken, {slept} times asleep");
        // On a machine that is slow or loaded the reader is always behind, and sleeps seldom: the system's own account
        // says how often. One that spins never sleeps for want of a packet, but may have to for a page or a lock.
        assert!(woken <= slept + slept / 10 + 5, "{woken} woken of {slept}");
        assert!(
            spin || woken + slept / 10 + 5 + (PACKETS - journeys.len()) >= slept,
            "{woken} woken of {slept}"
        );
        assert!(!spin || woken < PACKETS / 100, "{woken}");
    }
}

#[test]
fn several_at_once_are_told_one_by_one() {
    let _alone = alone();
    let [local, _] = loopback();
    let receiver = UdpSocket::bind(local).expect("a socket");
    let address = receiver.local_addr().expect("its address");
    let Some(mut observer) = observer(&receiving(address)) else { return };
    let sender = UdpSocket::bind(local).expect("a socket");
    for size in 1..=40 {
        sender.send_to(&vec![1; size], address).expect("sent");
    }
    let mut buffers = [[0_u8; 64]; 40];
    let mut parts: Vec<_> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
    let mut headers = MultiHeaders::<()>::preallocate(40, None);
    let read = recvmmsg(receiver.as_raw_fd(), &mut headers, parts.iter_mut(), MsgFlags::MSG_DONTWAIT, None);
    assert_eq!(read.expect("read").count(), 40);
    let (journeys, _) = told(&mut observer);
    let sizes: Vec<_> = journeys.iter().map(|journey| journey.size.0).collect();
    assert_eq!(sizes, (1..=40).map(|size| size + 28).collect::<Vec<_>>());
    let ahead: Vec<_> = journeys.iter().map(|journey| journey.ahead).collect();
    assert_eq!(ahead, (0..40).collect::<Vec<_>>());
    assert_eq!(observer.losses().sum(), 0);
}

#[test]
fn a_reader_that_waits_for_several_sockets_is_seen_to_ask_late() {
    let _alone = alone();
    let [local, _] = loopback();
    let receiver = UdpSocket::bind(local).expect("a socket");
    let address = receiver.local_addr().expect("its address");
    let Some(mut observer) = observer(&receiving(address)) else { return };
    let sender = UdpSocket::bind(local).expect("a socket");
    scope(|scope| {
        scope.spawn(|| {
            for _ in 0..40 {
                let mut waiting = [PollFd::new(receiver.as_fd(), PollFlags::POLLIN)];
                assert_eq!(poll(&mut waiting, 5_000_u16).expect("a wait"), 1);
                clock::spin_until(clock::monotonic() + Nanos::from_millis(2));
                receiver.recv(&mut [0; 64]).expect("a packet");
            }
        });
        for _ in 0..40 {
            sleep(Duration::from_millis(10));
            sender.send_to(&[1; 20], address).expect("sent");
        }
    });
    let (journeys, _) = told(&mut observer);
    assert_eq!(journeys.len() as u64 + observer.losses().sum(), 40);
    // A thread is known from its first packet on; and one that gets no core may find its packet there already.
    let woken: Vec<_> = journeys
        .iter()
        .filter_map(|journey| Some((journey.times.at(Point::Running)?, journey.times.at(Point::Asked)?)))
        .collect();
    assert!(woken.len() > 20, "{} of {}", woken.len(), journeys.len());
    assert!(woken.iter().all(|(running, asked)| *asked - *running >= Nanos::from_millis(2)), "{woken:?}");
}

#[test]
fn two_readers_of_one_socket_are_not_confused() {
    let _alone = alone();
    let [local, _] = loopback();
    let receiver = UdpSocket::bind(local).expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_millis(400))).expect("patience");
    let address = receiver.local_addr().expect("its address");
    let Some(mut observer) = observer(&receiving(address)) else { return };
    let sender = UdpSocket::bind(local).expect("a socket");
    // Its size tells which packet it is.
    let read = |receiver: &UdpSocket| {
        let mut sizes = Vec::new();
        while let Ok(size) = receiver.recv(&mut [0; 2000]) {
            sizes.push(size as u64 + 28);
        }
        (nix::unistd::gettid().as_raw() as u32, sizes)
    };
    let readers = scope(|scope| {
        let readers = [scope.spawn(|| read(&receiver)), scope.spawn(|| read(&receiver))];
        sleep(Duration::from_millis(20));
        for size in 0..1_000 {
            sender.send_to(&vec![1; size], address).expect("sent");
            if size % 4 == 0 {
                sleep(Duration::from_micros(50));
            }
        }
        readers.map(|reader| reader.join().expect("a reader"))
    });
    // The ring has room for all, so nothing is told late. Readers that get no core let the queue fill: those packets
    // are told as drops.
    let (journeys, drops) = told(&mut observer);
    let read: usize = readers.iter().map(|(_, sizes)| sizes.len()).sum();
    let losses = observer.losses();
    println!("{read} read, {} journeys, {losses:?}, {} drops", journeys.len(), drops.len());
    assert_eq!((read + drops.len(), journeys.len() as u64 + losses.sum()), (1_000, read as u64));
    let wrong = journeys.iter().filter(|journey| {
        let tid = journey.process.as_ref().map(|process| process.tid);
        !readers.iter().any(|(reader, sizes)| Some(*reader) == tid && sizes.contains(&journey.size.0))
    });
    assert_eq!(wrong.count(), 0);
}

#[test]
fn a_full_queue_is_told_as_such() {
    let _alone = alone();
    let [local, _] = loopback();
    let receiver = UdpSocket::bind(local).expect("a socket");
    nix::sys::socket::setsockopt(&receiver, nix::sys::socket::sockopt::RcvBuf, &4_096)
        .expect("a small queue");
    let address = receiver.local_addr().expect("its address");
    let Some(mut observer) = observer(&receiving(address)) else { return };
    let sender = UdpSocket::bind(local).expect("a socket");
    (0..50).for_each(|_| assert_eq!(sender.send_to(&[0; 1_000], address).ok(), Some(1_000)));
    let mut read = 0;
    receiver.set_nonblocking(true).expect("not waiting");
    while receiver.recv(&mut [0; 1_000]).is_ok() {
        read += 1;
    }
    let (journeys, drops) = told(&mut observer);
    assert_eq!(journeys.len(), read);
    assert_eq!(drops.len(), 50 - read);
    assert!(
        drops.iter().all(|drop| drop.reason == "SOCKET_RCVBUFF" && drop.way == Way::Receive),
        "{drops:?}"
    );
    assert!(drops.iter().all(|drop| drop.flow.is_some_and(|flow| flow.local == address)));
}

#[test]
fn what_is_sent_is_told_from_its_call_on() {
    let _alone = alone();
    for local in loopback() {
        let receiver = UdpSocket::bind(local).expect("a socket");
        let address = receiver.local_addr().expect("its address");
        let watching = Watching { ports: vec![address.port()], ways: vec![Way::Send], ..Watching::default() };
        let Some(mut observer) = observer(&watching) else { return };
        assert!(observer.missing().iter().any(|missing| missing.point == Point::Completed));
        let sender = UdpSocket::bind(local).expect("a socket");
        let Sent { calls } = send_paced(&sender, address, 200, Duration::from_micros(10));
        let (journeys, drops) = told(&mut observer);
        assert_eq!((journeys.len(), drops.len(), observer.losses().sum()), (200, 0, 0));
        // A thread is known from its first packet on.
        for (journey, called) in journeys.iter().zip(calls).skip(1) {
            assert_eq!(journey.way, Way::Send);
            assert_eq!(journey.flow.remote, address);
            let points: Vec<_> = journey.times.seen().map(|(point, _)| point).collect();
            assert_eq!(points, [Point::Called, Point::Discipline, Point::Xmit, Point::Handed]);
            let times: Vec<_> = journey.times.seen().map(|(_, time)| time).collect();
            assert!(times.is_sorted() && times[0] >= called, "{times:?} after {called:?}");
        }
    }
}
