//! Rings on a wire with connections that the test itself makes.

use crate::wire::{FAR, FAR6, between};
use dwell_net::capture::{Ring, RingConfig, RingCounts, RingError, Rings, Stamping, Wanted};
use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const CONFIG: RingConfig =
    RingConfig { wanted: Wanted::Handshakes, stamping: Stamping::Kernel, promiscuous: false, rings: 1 };
const CONNECTIONS: usize = 40;
/// Segments of a megabyte are some hundreds.
const MEGABYTE: usize = 1 << 20;

/// Answers connections with a megabyte each, until it is told to stop.
fn serve(stop: &AtomicBool, tell: impl FnOnce(u16)) {
    let listener = TcpListener::bind("[::]:0").unwrap();
    tell(listener.local_addr().unwrap().port());
    listener.set_nonblocking(true).unwrap();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                let _ = stream.read(&mut [0; 10]).and_then(|_| stream.write_all(&vec![7; MEGABYTE]));
            }
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Keeps its namespace, and with it both ends of the wire.
fn wait(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn fetch(port: u16) {
    for connection in 0..CONNECTIONS {
        let host = if connection % 2 == 0 { FAR } else { FAR6 };
        let mut stream = TcpStream::connect((host, port)).unwrap();
        stream.write_all(b"please").unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), MEGABYTE);
    }
}

/// A TCP header as the ring shows it, of a packet of Ethernet and IP of either version without options.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    /// The version of IP: both may use the same ports.
    version: u8,
    ports: [u16; 2],
    flags: u8,
    at: i128,
}

const SYN: u8 = 2;
const ACK: u8 = 16;

fn seen(captured: &dwell_core::capture::Captured<'_>) -> Option<Seen> {
    let bytes = captured.bytes;
    let tcp = match bytes[12..14] {
        [0x08, 0x00] => 14 + usize::from(bytes[14] & 15) * 4,
        [0x86, 0xdd] => 54,
        _ => return None,
    };
    let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    assert!(bytes.len() >= tcp + usize::from(bytes[tcp + 12] >> 4) * 4, "the options are cut");
    assert!(bytes.len() <= tcp + 60 + 22, "{} bytes are more than headers", bytes.len());
    Some(Seen {
        version: bytes[14] >> 4,
        ports: [port(tcp), port(tcp + 2)],
        flags: bytes[tcp + 13],
        at: captured.at,
    })
}

/// Until nothing came for a while after everything was sent.
fn all(ring: &mut Ring, sent: &AtomicBool) -> Vec<Seen> {
    let mut taken = Vec::new();
    loop {
        let (had, over) = (taken.len(), sent.load(Ordering::Relaxed));
        ring.take(Duration::from_millis(300), &mut |captured| taken.extend(seen(captured))).unwrap();
        if over && taken.len() == had {
            return taken;
        }
    }
}

/// What each of the rings got of [`CONNECTIONS`] connections, and the counts; `None` where that cannot be tested.
fn captured(config: RingConfig) -> Option<(Vec<Vec<Seen>>, RingCounts)> {
    let (tell, told) = channel();
    let near = move || {
        let Rings { rings, mut gauge } = Rings::open("near", &config).unwrap();
        assert_eq!(gauge.unfiltered(), None);
        let port = told.recv().unwrap();
        let sent = Arc::new(AtomicBool::new(false));
        let reading: Vec<_> = rings
            .into_iter()
            .map(|mut ring| {
                let sent = Arc::clone(&sent);
                thread::spawn(move || all(&mut ring, &sent))
            })
            .collect();
        fetch(port);
        sent.store(true, Ordering::Relaxed);
        let rings: Vec<Vec<Seen>> = reading.into_iter().map(|reader| reader.join().unwrap()).collect();
        (rings, gauge.counts())
    };
    let far = move |stop: &AtomicBool| serve(stop, |port| tell.send(port).unwrap());
    let result = between(near, far);
    if result.is_none() {
        eprintln!("skipped: no network namespaces here (they take privileges, and iproute2)");
    }
    result
}

#[test]
fn handshakes_pass_and_little_else() {
    let Some((rings, counts)) = captured(CONFIG) else { return };
    let seen = &rings[0];
    let with = |flags: u8| seen.iter().filter(|one| one.flags & (SYN | ACK) == flags).count();
    assert_eq!((with(SYN), with(SYN | ACK)), (CONNECTIONS, CONNECTIONS));
    // Each client's first ACK, and at most seven others.
    assert!((CONNECTIONS..=CONNECTIONS * 8).contains(&with(ACK)), "{}", with(ACK));
    let servers = seen.iter().filter(|one| one.flags & SYN == 0 && one.ports[0] == seen[0].ports[1]);
    assert_eq!(servers.count(), 0, "segments of the server");
    assert!(seen.windows(2).all(|two| two[0].at <= two[1].at), "out of order");
    let filtered = counts.filtered.unwrap();
    assert!(filtered.seen > counts.passed * 2, "{counts:?}");
    assert_eq!((counts.dropped, counts.freezes, filtered.too_deep), (0, 0, 0), "{counts:?}");
}

#[test]
fn all_segments_pass_where_all_are_asked_for() {
    let Some((rings, counts)) = captured(RingConfig { wanted: Wanted::Throughout, ..CONFIG }) else {
        return;
    };
    let filtered = counts.filtered.unwrap();
    let finished = rings[0].iter().filter(|one| one.flags & 1 != 0).count();
    assert!(finished >= CONNECTIONS, "{finished}");
    assert!(counts.passed > filtered.seen * 9 / 10, "{counts:?}");
    assert_eq!(counts.dropped, 0);
}

#[test]
fn both_directions_of_a_connection_come_to_one_ring() {
    let Some((rings, _)) = captured(RingConfig { rings: 3, ..CONFIG }) else { return };
    let connection = |one: &Seen| {
        let mut ports = one.ports;
        ports.sort_unstable();
        (one.version, ports)
    };
    let homes: Vec<HashSet<(u8, [u16; 2])>> =
        rings.iter().map(|ring| ring.iter().map(connection).collect()).collect();
    assert_eq!(homes.iter().map(HashSet::len).sum::<usize>(), CONNECTIONS, "{homes:?}");
    // By chance one in a hundred million runs leaves a ring empty.
    assert!(homes.iter().all(|home| !home.is_empty()), "{homes:?}");
}

#[test]
fn an_interface_that_vanishes_is_told() {
    let near = || {
        let mut ring = Rings::open("near", &CONFIG).unwrap().rings.remove(0);
        assert!(Command::new("ip").args(["link", "delete", "near"]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match ring.take(Duration::from_millis(50), &mut |_| {}) {
                Err(RingError::Gone(name)) => break assert_eq!(name, "near"),
                Err(error) => panic!("{error}"),
                Ok(()) => assert!(Instant::now() < until, "nobody told"),
            }
        }
        assert!(matches!(Rings::open("near", &CONFIG), Err(RingError::NoInterface(_))));
    };
    between(near, wait);
}

#[test]
fn a_nic_that_does_not_stamp_is_told() {
    let near = || {
        let error = Rings::open("lo", &RingConfig { stamping: Stamping::Hardware, ..CONFIG }).map(|_| ());
        assert!(matches!(error, Err(RingError::NoHardwareStamps { .. })), "{error:?}");
    };
    between(near, wait);
}
