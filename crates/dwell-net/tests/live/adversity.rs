//! Paths and peers that misbehave.

use crate::bench::{Bench, pairs};
use crate::proxy::{Proxy, Verdict, Way};
use dwell_core::avail::Busy;
use dwell_core::limit::Limit;
use dwell_core::{Bytes, Departure, Fate, HostFacts, Method as _, Nanos, Onlooker, Passage, Path, Train};
use dwell_net::prober::{Arrived, Seen};
use dwell_net::protocol::{ClockReading, Limits, Reply, Request, Welcome};
use dwell_net::{Channel, ConnectError, Host, Identity, LiveError, LivePath, Peers};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The probes of `pairs`, by the length of their payload.
const PAYLOAD: usize = 200 - 54;

/// A path through a proxy that does to the probes of `pairs` what `rule` says, with each probe's number, and lets
/// all others pass.
fn through(rule: impl Fn(usize) -> Verdict + Send + 'static) -> (Bench, Proxy, LivePath) {
    let bench = Bench::listening("127.0.0.1:0");
    let mut number = 0;
    let proxy = Proxy::before(bench.address, move |_, length| {
        if length != PAYLOAD {
            return Verdict::Pass;
        }
        number += 1;
        rule(number - 1)
    });
    let path = LivePath::connect(by(&bench, &proxy)).unwrap();
    (bench, proxy, path)
}

fn by(bench: &Bench, proxy: &Proxy) -> dwell_net::ConnectConfig {
    let mut config = bench.config();
    config.port = proxy.address.port();
    config
}

fn fates(passages: &[Passage]) -> Vec<Fate> {
    passages.iter().flat_map(|passage| passage.observation.fates.clone()).collect()
}

#[test]
fn all_probes_lost_is_an_observation() {
    let (_bench, _proxy, mut path) = through(|_| Verdict::Drop);
    let start = Instant::now();
    let fates = fates(&path.carry(&pairs(30, Nanos::from_micros(20))).unwrap());
    assert!(start.elapsed() < Duration::from_secs(2), "it waits too long for what is lost");
    assert_eq!(fates.len(), 60);
    assert!(fates.iter().all(|fate| fate.arrival.is_none() && fate.sent.kernel.is_some()));
}

#[test]
fn half_of_the_probes_lost_are_the_right_half() {
    let (_bench, _proxy, mut path) =
        through(|number| if number % 2 == 0 { Verdict::Pass } else { Verdict::Drop });
    for passage in path.carry(&pairs(50, Nanos::from_micros(20))).unwrap() {
        let [heading, trailing] = passage.observation.fates[..] else { panic!("a pair is two packets") };
        assert_eq!(heading.arrival.unwrap().order, 0);
        assert_eq!(trailing.arrival, None);
    }
}

#[test]
fn a_path_that_loses_half_of_everything_can_be_opened() {
    let bench = Bench::listening("127.0.0.1:0");
    let mut chance = 1u64;
    let proxy = Proxy::before(bench.address, move |_, _| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if chance >> 63 == 0 { Verdict::Pass } else { Verdict::Drop }
    });
    let mut path = LivePath::connect(by(&bench, &proxy)).unwrap();
    let fates = fates(&path.carry(&pairs(200, Nanos::ZERO)).unwrap());
    let arrived = fates.iter().filter(|fate| fate.arrival.is_some()).count();
    // Twelve standard deviations.
    assert!((80..320).contains(&arrived), "{arrived} of 400");
}

#[test]
fn duplicates_are_counted() {
    let (_bench, _proxy, mut path) = through(|_| Verdict::Twice);
    let fates = fates(&path.carry(&pairs(20, Nanos::from_micros(300))).unwrap());
    // A copy of the very last may come when nobody listens any more.
    let (last, others) = fates.split_last().unwrap();
    assert!(last.arrival.is_some());
    assert!(others.iter().all(|fate| fate.arrival.unwrap().copies == 2), "{others:?}");
}

#[test]
fn reordering_is_seen() {
    let (_bench, _proxy, mut path) =
        through(|number| if number % 2 == 0 { Verdict::Later } else { Verdict::Pass });
    for passage in path.carry(&pairs(20, Nanos::from_micros(20))).unwrap() {
        let orders: Vec<u32> =
            passage.observation.fates.iter().map(|fate| fate.arrival.unwrap().order).collect();
        assert_eq!(orders, [1, 0]);
    }
}

#[test]
fn a_firewall_before_the_agent_is_told_with_its_port() {
    let bench = Bench::listening("127.0.0.1:0");
    let proxy = Proxy::before(bench.address, |way, _| match way {
        Way::ToAgent => Verdict::Drop,
        Way::ToClient => Verdict::Pass,
    });
    let error = LivePath::connect(by(&bench, &proxy)).map(|_| ()).unwrap_err();
    assert!(matches!(error, ConnectError::ProbesDropped { .. }), "{error}");
    assert!(error.to_string().contains(&format!("UDP to port {}", proxy.address.port())), "{error}");
}

#[test]
fn a_firewall_before_the_client_leaves_the_other_direction() {
    let bench = Bench::listening("127.0.0.1:0");
    let proxy = Proxy::before(bench.address, |way, _| match way {
        Way::ToAgent => Verdict::Pass,
        Way::ToClient => Verdict::Drop,
    });
    let mut path = LivePath::connect(by(&bench, &proxy)).unwrap();
    let forward = pairs(5, Nanos::ZERO);
    assert!(fates(&path.carry(&forward).unwrap()).iter().all(|fate| fate.arrival.is_some()));
    let reverse: Vec<Departure> =
        forward.into_iter().map(|one| Departure { train: one.train.reversed(), ..one }).collect();
    let error = path.carry(&reverse).unwrap_err();
    assert!(matches!(error, LiveError::ReverseDropped { .. }), "{error}");
}

#[test]
fn the_largest_packet_is_found_in_both_directions() {
    let bench = Bench::listening("127.0.0.1:0");
    let proxy = Proxy::before(bench.address, |way, length| {
        let largest = if way == Way::ToAgent { 1_412 } else { 1_003 };
        if length > largest { Verdict::Drop } else { Verdict::Pass }
    });
    let mut path = LivePath::connect(by(&bench, &proxy)).unwrap();
    let largest = path.facts().max_size;
    assert_eq!(largest, Bytes(1_003 + 54));
    let notes = path.circumstances().notes;
    assert_eq!(notes["largest packet forward"], Bytes(1_412 + 54).to_string());
    let both = [Train::burst(largest, 3), Train::burst(largest, 3).reversed()];
    let fleet = both.map(|train| Departure { pause: Nanos::from_millis(1), train }).to_vec();
    assert!(fates(&path.carry(&fleet).unwrap()).iter().all(|fate| fate.arrival.is_some()));
}

#[test]
fn garbage_on_both_ports_changes_nothing() {
    let bench = Bench::listening("127.0.0.1:0");
    let mut path = bench.connect();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut length = 0;
            while done.load(Ordering::Relaxed) == 0 {
                length = (length * 7 + 3) % 1_400;
                let _ = socket.send_to(&vec![length as u8; length], bench.address);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        scope.spawn(|| {
            for word in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\xff\xff\x01", b"", b"DWELL\0\0\x01"] {
                let mut stream = TcpStream::connect(bench.address).unwrap();
                let _ = stream.write_all(word);
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer);
                // At most an alert of TLS: nothing that tells who is there.
                assert!(answer.len() <= 7, "{answer:?}");
            }
        });
        for _ in 0..10 {
            let fates = fates(&path.carry(&pairs(20, Nanos::from_micros(50))).unwrap());
            assert!(fates.iter().all(|fate| fate.arrival.unwrap().copies == 1));
        }
        done.store(1, Ordering::Relaxed);
    });
    bench.connect();
}

#[test]
fn a_restart_between_fleets_is_survived() {
    let mut bench = Bench::listening("127.0.0.1:0");
    let mut path = bench.connect();
    path.carry(&pairs(3, Nanos::ZERO)).unwrap();
    bench.stop();
    let address = bench.address.to_string();
    let _again = Bench::of(bench.agent_identity.clone(), bench.client.clone(), &address, |_| {});
    let passages = path.carry(&pairs(3, Nanos::ZERO)).unwrap();
    assert!(fates(&passages).iter().all(|fate| fate.arrival.is_some()));
}

#[test]
fn an_agent_that_is_gone_is_told() {
    let mut bench = Bench::listening("127.0.0.1:0");
    let mut path = bench.connect();
    bench.stop();
    let error = path.carry(&pairs(3, Nanos::ZERO)).unwrap_err();
    assert!(matches!(error, LiveError::Gone { .. }), "{error}");
    assert!(error.to_string().contains("nobody listens"), "{error}");
}

#[test]
fn an_agent_that_vanishes_in_the_middle_is_told() {
    let bench = Bench::listening("127.0.0.1:0");
    let proxy = Arc::new(Proxy::before(bench.address, |_, _| Verdict::Pass));
    let mut path = LivePath::connect(by(&bench, &proxy)).unwrap();
    let cutting = Arc::clone(&proxy);
    let cut = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        cutting.cut();
    });
    let error = path.carry(&pairs(1_500, Nanos::ZERO)).unwrap_err();
    cut.join().unwrap();
    assert!(matches!(error, LiveError::Vanished(_)), "{error}");
    // And goes on where a new session can be had.
    assert_eq!(path.carry(&pairs(3, Nanos::ZERO)).unwrap().len(), 3);
}

#[test]
fn a_peer_that_vanishes_leaves_its_place() {
    let bench = Bench::with("127.0.0.1:0", |config| config.limits.sessions = 1);
    let proxy = Proxy::before(bench.address, |_, _| Verdict::Pass);
    let path = LivePath::connect(by(&bench, &proxy)).unwrap();
    let error = bench.try_connect().map(|_| ()).unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("limit"), "{error}");
    proxy.cut();
    let start = Instant::now();
    while bench.try_connect().is_err() {
        assert!(start.elapsed() < Duration::from_secs(10), "the place is still taken");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(path);
}

#[test]
fn limits_are_kept_and_told() {
    let bench = Bench::with("127.0.0.1:0", |config| {
        config.limits.sessions_per_peer = 1;
        config.limits.packets_per_fleet = 10;
    });
    let mut path = bench.connect();
    let error = bench.try_connect().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("limit for one peer"), "{error}");
    // Many trains become several fleets; one train that is too long is refused.
    assert_eq!(path.carry(&pairs(20, Nanos::ZERO)).unwrap().len(), 20);
    let long = vec![Departure { pause: Nanos::ZERO, train: Train::burst(Bytes(100), 11) }];
    let error = path.carry(&long).unwrap_err().to_string();
    assert!(error.contains("a fleet of 11 packets; at most 10"), "{error}");
    assert_eq!(path.carry(&pairs(2, Nanos::ZERO)).unwrap().len(), 2);
}

/// An agent that says what it is told to: its clock was stepped in the second fleet after the search for the MTU.
fn agent_whose_clock_is_stepped(listener: &TcpListener, identity: &Identity, known: &Peers) {
    let (stream, _) = listener.accept().unwrap();
    let mut channel = Channel::accept(stream, identity, known).unwrap();
    let mut clock = ClockReading { realtime_minus_monotonic: Nanos::from_secs(1_000) };
    let resolution = Nanos(1);
    let welcome = Welcome { limits: Limits::default(), resolution, clock };
    channel.send(&Reply::Welcome(Box::new(welcome))).unwrap();
    let (mut fleets, mut packets) = (0, 0);
    loop {
        let reply = match channel.receive(Duration::from_secs(10)).unwrap() {
            Request::Alive => Reply::Alive,
            Request::Open { .. } => {
                channel.send(&Reply::Opened { session: 1 }).unwrap();
                let address = "127.0.0.1:9".parse().unwrap();
                Reply::Heard { address, facts: Box::new(HostFacts::default()) }
            }
            Request::Challenge => Reply::NotHeard,
            Request::Proof { .. } => Reply::Proven(false),
            Request::Forward(announcement) => {
                packets = announcement.packets();
                Reply::Ready
            }
            Request::Sent => {
                fleets += 1;
                if fleets == 3 {
                    clock.realtime_minus_monotonic += Nanos::from_secs(-5);
                }
                let stamps = dwell_core::Stamps { application: Nanos(1), kernel: None, hardware: None };
                let seen = (0..packets as u32).map(|order| Some(Seen { stamps, order, copies: 1 })).collect();
                Reply::Arrived { arrived: Arrived { seen, overflowed: 0 }, clock }
            }
            Request::Reverse(_) | Request::Stream(_) => panic!("only forward fleets were asked for"),
            Request::Bye => return,
        };
        channel.send(&reply).unwrap();
    }
}

#[test]
fn a_stepped_clock_is_told() {
    let (agent, client) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config =
        dwell_net::ConnectConfig::new("127.0.0.1", client.clone(), Peers::only(agent.public_key()));
    config.port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        scope.spawn(|| agent_whose_clock_is_stepped(&listener, &agent, &Peers::only(client.public_key())));
        let mut path = LivePath::connect(config).unwrap();
        path.carry(&pairs(3, Nanos::ZERO)).unwrap();
        let error = path.carry(&pairs(3, Nanos::ZERO)).unwrap_err();
        let LiveError::ClockStepped { host, step } = error else { panic!("{error}") };
        assert_eq!((host, step), (Host::Far, Nanos::from_secs(-5)));
        path.carry(&pairs(3, Nanos::ZERO)).unwrap();
    });
}

#[test]
fn a_receiver_that_does_not_keep_up_is_told_by_its_own_count() {
    // 50 us for each packet, and room for a few.
    let bench = Bench::with("127.0.0.1:0", |config| {
        config.before_stamp = Nanos::from_micros(50);
        config.queue = Some(Bytes(16_384));
    });
    let mut path = bench.connect();
    let burst = Departure { pause: Nanos::from_millis(5), train: Train::burst(Bytes(1_500), 200) };
    let passages = path.carry(&vec![burst.clone(), burst]).unwrap();
    let mut onlooker = Onlooker::default();
    for Passage { observation, .. } in &passages {
        let lost = observation.fates.iter().filter(|fate| fate.arrival.is_none()).count();
        assert!(lost > 0, "200 packets found room");
        // The loopback loses nothing: all that is missing found no room.
        assert_eq!(observation.overflowed as usize, lost);
        onlooker.see(observation);
    }
    // And so says what measures, whichever method.
    let mut busy = Busy::new(Default::default(), &path.facts());
    dwell_core::run(&mut busy, &mut path, None, |passage| onlooker.see(&passage.observation)).unwrap();
    let report = onlooker.judge(busy.report(), &path.facts());
    assert_eq!(
        report.verdict.as_ref().map(|verdict| verdict.limit),
        Some(Limit::ReceiverLimited),
        "{report:?}"
    );
}
