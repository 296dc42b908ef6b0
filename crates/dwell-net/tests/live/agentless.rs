//! Hosts without an agent: what they answer, what we owe them, and what stands in the way.

use crate::wire::{FAR, FAR6, NEAR, between};
use dwell_core::host::agentless::{Agentless, AgentlessConfig as Asking, Request};
use dwell_core::{Departure, Direction, Effort, Nanos, Packet, Path, Train, run};
use dwell_net::{AgentlessConfig, AgentlessError, AgentlessPath, PacketSocket, clock};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// A port of the far end on which somebody listens.
const OPEN: u16 = 4_242;
const CLOSED: u16 = 9;

fn config(host: &str, request: Request, port: u16) -> AgentlessConfig {
    AgentlessConfig { host: host.to_owned(), request, port, core: None, real_time: false }
}

fn trains(count: usize, packets: usize, path: &AgentlessPath) -> Vec<Departure> {
    let packet =
        |place| Packet { size: path.facts().min_size, hold: Nanos(if place == 1 { 30_000 } else { 0 }) };
    let train = Train { direction: Direction::Forward, packets: (0..packets).map(packet).collect() };
    vec![Departure { pause: Nanos::from_millis(5), train }; count]
}

/// What the far end saw of TCP from the near one: SYNs, RSTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    syns: usize,
    resets: usize,
    echoes: usize,
}

impl Tally {
    fn note(&mut self, frame: &[u8]) {
        let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return };
        let near: std::net::IpAddr = NEAR.parse().unwrap();
        match (&packet.net, &packet.transport) {
            (Some(NetSlice::Ipv4(ip)), _) if std::net::IpAddr::from(ip.header().source_addr()) != near => {}
            (_, Some(TransportSlice::Tcp(tcp))) if tcp.destination_port() != 0 => {
                self.syns += usize::from(tcp.syn());
                self.resets += usize::from(tcp.rst());
            }
            (_, Some(TransportSlice::Icmpv4(icmp))) => self.echoes += usize::from(icmp.type_u8() == 8),
            (_, Some(TransportSlice::Icmpv6(icmp))) => self.echoes += usize::from(icmp.type_u8() == 128),
            _ => {}
        }
    }
}

/// Runs `near` against a far end that listens on one port, and counts what arrives there. `None`: no namespaces here.
fn against<T: Send>(near: impl FnOnce() -> T + Send) -> Option<(T, Tally)> {
    let (tell, told) = channel();
    let (ready, go) = channel();
    let far = move |stop: &AtomicBool| {
        let _listener = TcpListener::bind(("::", OPEN)).unwrap();
        let mut frames = PacketSocket::open("far").unwrap();
        ready.send(()).unwrap();
        let (mut tally, mut frame) = (Tally::default(), [0; 2048]);
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(2));
            // The near end takes the wire with it.
            while let Ok(Some((length, _))) = frames.recv(&mut frame) {
                tally.note(&frame[..length]);
            }
        }
        tell.send(tally).unwrap();
    };
    let result = between(
        move || {
            go.recv().unwrap();
            let result = near();
            // The last RST.
            std::thread::sleep(std::time::Duration::from_millis(50));
            result
        },
        far,
    );
    if result.is_none() {
        eprintln!("skipped: no network namespaces here (they take privileges, and iproute2)");
    }
    Some((result?, told.recv().unwrap()))
}

/// All of ten trains are answered, in order, by stamps of one clock.
fn answered(host: &'static str, request: Request, port: u16) -> Option<Tally> {
    let (note, tally) = against(move || {
        let mut path = AgentlessPath::connect(&config(host, request, port)).unwrap();
        let fleet = trains(10, 3, &path);
        for passage in path.carry(&fleet).unwrap() {
            for (fate, order) in passage.observation.fates.iter().zip(0..) {
                let arrival = fate.arrival.expect("an answer");
                assert_eq!((arrival.order, arrival.copies), (order, 1));
                let round_trip = arrival.stamps.kernel.unwrap() - fate.sent.kernel.unwrap();
                assert!((Nanos(1)..Nanos::from_secs(1)).contains(&round_trip), "{round_trip}");
            }
        }
        path.circumstances().notes.get("port").cloned()
    })?;
    match request {
        Request::Icmp => assert!(tally.echoes >= 31 && note.is_none(), "{tally:?}"),
        Request::Tcp => {
            assert!(tally.syns >= 31, "{tally:?}");
            assert_eq!(note.as_deref(), Some(if port == OPEN { "open" } else { "closed" }));
        }
    }
    Some(tally)
}

#[test]
fn echoes_are_answered() {
    answered(FAR, Request::Icmp, CLOSED);
    answered(FAR6, Request::Icmp, CLOSED);
}

#[test]
fn a_closed_port_answers_and_nothing_is_owed() {
    for host in [FAR, FAR6] {
        if let Some(tally) = answered(host, Request::Tcp, CLOSED) {
            assert_eq!(tally.resets, 0);
        }
    }
}

#[test]
fn what_an_open_port_opens_is_reset() {
    for host in [FAR, FAR6] {
        if let Some(tally) = answered(host, Request::Tcp, OPEN) {
            assert_eq!(tally.resets, tally.syns, "each SYN that was accepted is taken back");
        }
    }
}

#[test]
fn the_rate_is_kept() {
    let measured = against(|| {
        let mut path = AgentlessPath::connect(&config(FAR, Request::Icmp, CLOSED)).unwrap();
        let asking = Asking { longest: Nanos::from_secs(3), ..Asking::default() };
        let mut method = Agentless::new(asking, &path.facts());
        let began = clock::monotonic();
        let effort: Effort = run(&mut method, &mut path, None, |_| {}).unwrap();
        (effort.packets, clock::monotonic() - began)
    });
    let Some(((packets, took), tally)) = measured else { return };
    assert!(packets >= 30, "{packets}");
    // One packet asked whether anybody answers.
    assert!(tally.echoes as f64 <= 20.0 * took.as_secs_f64() + 4.0, "{} in {took}", tally.echoes);
}

#[test]
fn what_stands_in_the_way_is_said() {
    let errors = against(|| {
        let error = |host: &str, request, port| match AgentlessPath::connect(&config(host, request, port)) {
            Ok(_) => panic!("{host} answered"),
            Err(error) => error,
        };
        let own = error(NEAR, Request::Icmp, CLOSED);
        assert!(matches!(own, AgentlessError::OwnAddress { .. }), "{own}");
        let unknown = error("no such host.invalid", Request::Icmp, CLOSED);
        assert!(matches!(unknown, AgentlessError::UnknownHost { .. }), "{unknown}");
        let nowhere = error("198.51.100.1", Request::Icmp, CLOSED);
        assert!(matches!(nowhere, AgentlessError::Unreachable { .. }), "{nowhere}");
        error("10.77.0.99", Request::Tcp, CLOSED).to_string()
    });
    let Some((silent, _)) = errors else { return };
    assert!(silent.contains("10.77.0.99 does not answer SYNs to TCP port 9"), "{silent}");
}
