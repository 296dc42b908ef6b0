//! Rings on a wire with connections that the test itself makes.

use crate::wire::{FAR, FAR6, between};
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::dissect::{Passing, dissect};
use dwell_core::tcp::{Half, Handshake, Limits, Observed};
use dwell_net::PacketSocket;
use dwell_net::capture::{Event, Ring, RingConfig, RingCounts, RingError, Rings, Stamping, Wanted};
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

fn seen(captured: &Captured<'_>) -> Option<Seen> {
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
        ring.take(Duration::from_millis(300), &mut |event| match event {
            Event::Packet(captured) => taken.extend(seen(captured)),
            Event::ClockStepped => panic!("nobody sets the clock"),
        })
        .unwrap();
        if over && taken.len() == had {
            return taken;
        }
    }
}

/// What each of the rings got of [`CONNECTIONS`] connections, and the counts; `None` where that cannot be tested.
fn captured(config: RingConfig) -> Option<(Vec<Vec<Seen>>, RingCounts)> {
    let (tell, told) = channel();
    let near = move || {
        let Rings { rings, mut gauge } = Rings::open(&["near"], &config).unwrap();
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
        let mut ring = Rings::open(&["near"], &CONFIG).unwrap().rings.remove(0);
        assert!(Command::new("ip").args(["link", "delete", "near"]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match ring.take(Duration::from_millis(50), &mut |_| {}) {
                Err(RingError::Gone(name)) => break assert_eq!(name, "near"),
                Err(error) => panic!("{error}"),
                Ok(()) => assert!(Instant::now() < until, "nobody told"),
            }
        }
        assert!(matches!(Rings::open(&["near"], &CONFIG), Err(RingError::NoInterface(_))));
    };
    between(near, wait);
}

#[test]
fn a_nic_that_does_not_stamp_is_told() {
    let near = || {
        let error = Rings::open(&["lo"], &RingConfig { stamping: Stamping::Hardware, ..CONFIG }).map(|_| ());
        assert!(matches!(error, Err(RingError::NoHardwareStamps { .. })), "{error:?}");
    };
    between(near, wait);
}

/// Two wires, whose near ends are `tap0` and `tap1`: what a tap hears of a client comes by the one, of its server by the other. What sends
/// by them, the client's first.
fn tap() -> [PacketSocket; 2] {
    ["tap0", "tap1"].map(|near| {
        let far = format!("far-{near}");
        for asked in [
            &["link", "add", near, "type", "veth", "peer", "name", &far][..],
            &["link", "set", near, "up"],
            &["link", "set", &far, "up"],
        ] {
            assert!(Command::new("ip").args(asked).status().unwrap().success());
        }
        PacketSocket::open(&far).unwrap()
    })
}

/// The first three segments of the connection from this port, and whether the client sends them.
fn handshake(port: u16) -> [(bool, Vec<u8>); 3] {
    let [client, server] = [[10, 0, 0, 1], [192, 0, 2, 9]];
    let frame = |by_client: bool, flags: u8, sequence: u32, acknowledgment: u32| {
        let mut frame = [&[2; 12][..], &[8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]].concat();
        let [from, to] = if by_client { [client, server] } else { [server, client] };
        let ports = if by_client { [port, 443] } else { [443, port] };
        frame.extend(from.into_iter().chain(to).chain(ports.into_iter().flat_map(u16::to_be_bytes)));
        frame.extend([sequence, acknowledgment].into_iter().flat_map(u32::to_be_bytes));
        frame.extend([0x50, flags, 255, 255, 0, 0, 0, 0]);
        (by_client, frame)
    };
    [frame(true, SYN, 100, 0), frame(false, SYN | ACK, 900, 101), frame(true, ACK, 101, 901)]
}

/// What a ring of a tap tells, until nothing came for a while after everything was sent.
fn heard(ring: &mut Ring, sent: &AtomicBool) -> Vec<Handshake> {
    let (mut observed, mut told, mut latest) = (Observed::new(Limits::default()), Vec::new(), 0);
    let mut see = |event: Event<'_>| {
        let Event::Packet(captured) = event else { panic!("nobody sets the clock") };
        assert!(captured.at >= latest, "{} ns too late", latest - captured.at);
        latest = captured.at;
        observed.see(captured, &mut |handshake| told.push(handshake));
    };
    let mut came = Instant::now();
    while came.elapsed() < Duration::from_millis(300) {
        let over = sent.load(Ordering::Relaxed);
        ring.take(Duration::from_millis(50), &mut |event| {
            came = Instant::now();
            see(event);
        })
        .unwrap();
        if !over {
            came = Instant::now();
        }
    }
    ring.take_rest(&mut see);
    observed.finish(&mut |handshake| told.push(handshake));
    told
}

#[test]
fn the_two_directions_of_a_tap_are_one_place() {
    const TAPPED: u16 = 2_000;
    for cores in [1, 3] {
        let near = || {
            let wires = tap();
            let config = RingConfig { rings: cores, ..CONFIG };
            let Rings { rings, mut gauge } = Rings::open(&["tap0", "tap1"], &config).unwrap();
            // What goes down and up again is spread over the cores as before, and so as the other.
            for to in ["down", "up"] {
                assert!(Command::new("ip").args(["link", "set", "tap0", to]).status().unwrap().success());
            }
            let sent = AtomicBool::new(false);
            let told = thread::scope(|scope| {
                let (reader, sent) = (|mut ring| heard(&mut ring, &sent), &sent);
                let reading: Vec<_> =
                    rings.into_iter().map(|ring| scope.spawn(move || reader(ring))).collect();
                for port in 0..TAPPED {
                    for (by_client, frame) in handshake(10_000 + port) {
                        assert!(wires[usize::from(!by_client)].send(&frame).unwrap());
                    }
                    // So that blocks of either end between a segment and its answer.
                    thread::sleep(Duration::from_micros(100));
                }
                sent.store(true, Ordering::Relaxed);
                reading.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
            });
            (told, gauge.counts())
        };
        let Some((told, counts)) = between(near, wait) else { return };
        assert!(told.iter().all(|ring| !ring.is_empty()), "a ring is empty");
        let told = told.concat();
        assert_eq!(told.len(), usize::from(TAPPED), "{counts:?}");
        for handshake in &told {
            let [Half::Exact(server), Half::Exact(client)] = [handshake.server_half, handshake.client_half]
            else {
                panic!("{handshake:?}")
            };
            assert!(server.0 > 0 && client.0 > 0, "{handshake:?}");
        }
        let tapped = 3 * u64::from(TAPPED);
        assert_eq!((counts.passed, counts.dropped, counts.downs), (tapped, 0, 1), "{counts:?}");
    }
}

#[test]
fn what_passes_one_direction_alone_waits_for_the_other_no_longer_than_that_can_come() {
    const SENT: u16 = 20;
    let near = || {
        let [client, _silent] = tap();
        let mut ring = Rings::open(&["tap0", "tap1"], &CONFIG).unwrap().rings.remove(0);
        for port in 0..SENT {
            let [(_, syn), ..] = handshake(10_000 + port);
            assert!(client.send(&syn).unwrap());
        }
        let (until, mut came, mut held) = (Instant::now() + Duration::from_secs(10), 0, false);
        while came < SENT && Instant::now() < until {
            ring.take(Duration::from_millis(50), &mut |_| came += 1).unwrap();
            held |= came == 0 && ring.holds();
        }
        assert_eq!(came, SENT);
        assert!(held && !ring.holds(), "what waits is said to wait, and no longer than it does");
        // And one that is taken away ends it, whatever passes the other all the time.
        let over = AtomicBool::new(false);
        let gone = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    client.send(&handshake(20_000)[0].1).unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let mut take_for = |seconds: f64| {
                let until = Instant::now() + Duration::from_secs_f64(seconds);
                let take = || ring.take(Duration::from_millis(50), &mut |_| {}).err();
                std::iter::repeat_with(take).find(|gone| gone.is_some() || Instant::now() > until).flatten()
            };
            let before = take_for(0.3);
            let deleted = Command::new("ip").args(["link", "delete", "tap1"]).status();
            let gone = take_for(5.0);
            over.store(true, Ordering::Relaxed);
            assert!(before.is_none() && deleted.unwrap().success(), "{before:?}");
            gone
        });
        assert!(matches!(&gone, Some(RingError::Gone(name)) if name == "tap1"), "{gone:?}");
        let hardware = RingConfig { stamping: Stamping::Hardware, ..CONFIG };
        let refused = Rings::open(&["tap0", "near"], &hardware).map(|_| ());
        assert!(matches!(refused, Err(RingError::SeveralClocks(_))), "{refused:?}");
    };
    between(near, wait);
}

/// Frames of one SYN each, from another port, in what may lie around it. Each is one that the dissection reads.
fn wrapped() -> Vec<(&'static str, Vec<u8>)> {
    let syn = |port: u8| {
        let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 7, 192, 0, 2, 9];
        ip.extend([200, port, 0, 80, 0, 0, 0, port, 0, 0, 0, 0, 0x50, SYN, 255, 255, 0, 0, 0, 0]);
        ip
    };
    let within = |ip: Vec<u8>, header: &[u8], protocol: u8| {
        let length = (20 + header.len() + ip.len()) as u16;
        let mut outer = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, protocol, 0, 0];
        outer.extend([198, 51, 100, 1, 198, 51, 100, 2]);
        [&outer, header, &ip].concat()
    };
    let within_v6 = |ip: Vec<u8>, header: &[u8], protocol: u8| {
        let length = (header.len() + ip.len()) as u16;
        let mut outer = vec![0x60, 0, 0, 0, (length >> 8) as u8, length as u8, protocol, 64];
        outer.extend([[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat());
        [&outer, header, &ip].concat()
    };
    let frame = |kind: u16, rest: Vec<u8>| [&[2; 12][..], &kind.to_be_bytes(), &rest].concat();
    let llc = |ip: Vec<u8>| [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &ip].concat();
    let of = |number: u8| {
        let ip = syn(number);
        let label: &[u8] = &[0, 6, 0x41, 64];
        match number {
            0 => ("bare", frame(0x0800, ip)),
            1 => ("a tag", frame(0x8100, [&[0, 5, 8, 0], &ip[..]].concat())),
            2 => ("an old tag", frame(0x9200, [&[0, 5, 8, 0], &ip[..]].concat())),
            3 => ("another old tag", frame(0x9300, [&[0, 5, 8, 0], &ip[..]].concat())),
            4 => ("Cisco's tag", frame(0x8926, [&[0, 0, 0, 0, 8, 0], &ip[..]].concat())),
            5 => ("a backbone's tag", frame(0x88e7, [&[0, 0, 0, 1][..], &frame(0x0800, ip)].concat())),
            6 => ("MPLS", frame(0x8847, [label, &ip].concat())),
            7 => ("Ethernet in MPLS", frame(0x8847, [label, &frame(0x0800, ip)].concat())),
            8 => {
                ("the same with a control word", frame(0x8847, [label, &[0; 4], &frame(0x0800, ip)].concat()))
            }
            9 => ("logical link control", frame(48, llc(ip))),
            10 => ("the same, long", frame(0x8870, llc(ip))),
            11 => ("PPP", frame(0x8864, [&[0x11, 0, 0, 9, 0, 42, 0, 0x21], &ip[..]].concat())),
            12 => ("MPLS in PPP", frame(0x8864, [&[0x11, 0, 0, 9, 0, 46, 2, 0x81], label, &ip].concat())),
            13 => ("a service's header", frame(0x894f, [&[0, 2, 2, 1, 0, 0, 0, 0][..], &ip].concat())),
            14 => ("Ethernet in a VLAN's length", frame(0x8100, [&[0, 5, 0, 48], &llc(ip)[..]].concat())),
            15 => ("Ethernet in IP", frame(0x0800, within(frame(0x0800, ip), &[0x30, 0], 97))),
            16 => ("MPLS in IP", frame(0x0800, within(ip, label, 137))),
            17 => ("Ethernet in IPv6", frame(0x86dd, within_v6(frame(0x0800, ip), &[], 143))),
            18 => (
                "authentication",
                frame(
                    0x0800,
                    within(ip, &[4, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 51),
                ),
            ),
            19 => ("GRE", frame(0x0800, within(ip, &[0, 0, 8, 0], 47))),
            _ => ("mobility", frame(0x86dd, within_v6(ip, &[4, 0, 0, 0, 0, 0, 0, 0], 135))),
        }
    };
    (0..=20).map(of).collect()
}

#[test]
fn whatever_is_read_of_a_capture_passes_the_filter() {
    let frames = wrapped();
    for (what, bytes) in &frames {
        let captured = Captured { at: 0, link: LinkType(1), bytes, length: bytes.len() as u32 };
        assert!(matches!(dissect(&captured), Ok(Passing::Segment(_))), "{what}: {:?}", dissect(&captured));
    }
    let (count, sent) = (frames.len(), AtomicBool::new(false));
    let near = || {
        let Rings { mut rings, mut gauge } = Rings::open(&["near"], &CONFIG).unwrap();
        assert_eq!(gauge.unfiltered(), None);
        sent.store(true, Ordering::Relaxed);
        let mut taken = HashSet::new();
        let until = Instant::now() + Duration::from_secs(10);
        while taken.len() < count && Instant::now() < until {
            let read = &mut |event: Event<'_>| {
                let Event::Packet(captured) = event else { return };
                if let Ok(Passing::Segment(segment)) = dissect(captured) {
                    taken.insert(segment.sequence as usize);
                }
            };
            rings[0].take(Duration::from_millis(50), read).unwrap();
        }
        assert_eq!(gauge.counts().filtered.unwrap().too_deep, 0);
        taken
    };
    let far = |stop: &AtomicBool| {
        let socket = PacketSocket::open("far").unwrap();
        while !sent.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        for (_, frame) in &frames {
            assert!(socket.send(frame).unwrap());
        }
        wait(stop);
    };
    let Some(taken) = between(near, far) else { return };
    let missed: Vec<_> =
        (0..count).filter(|number| !taken.contains(number)).map(|number| frames[number].0).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
