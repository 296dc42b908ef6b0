//! What only an Ethernet interface shows.

use crate::bench::pairs;
use crate::wire::{FAR, between};
use dwell_core::{Bytes, Departure, Direction, Nanos, Packet, Path, Train};
use dwell_net::interface::Interface;
use dwell_net::{Agent, AgentConfig, ConnectConfig, Identity, LivePath, PacketSocket, Peers, clock};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::sync::mpsc::channel;

fn skipped<T>(result: Option<T>) -> Option<T> {
    if result.is_none() {
        eprintln!("skipped: no network namespaces here (they take privileges, and iproute2)");
    }
    result
}

#[test]
fn trains_cross_a_wire() {
    let (agent, client) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let (known, expected) = (Peers::only(client.public_key()), Peers::only(agent.public_key()));
    let (tell, told) = channel();
    let near = move || {
        let mut config = ConnectConfig::new(FAR, client, expected);
        config.port = told.recv().unwrap();
        let mut path = LivePath::connect(config).unwrap();
        assert_eq!(path.facts().max_size, Bytes(1526));
        for passage in path.carry(&pairs(50, Nanos::from_micros(100))).unwrap() {
            for fate in passage.observation.fates {
                let arrival = fate.arrival.unwrap().stamps;
                let transit = arrival.kernel.unwrap() - fate.sent.kernel.unwrap();
                assert!(transit >= Nanos::ZERO && transit < Nanos::from_millis(100), "{transit}");
            }
        }
        // What the interface refuses is lost, and nothing else.
        let sizes = [Bytes(200), Bytes(2_000), Bytes(200)];
        let packets = sizes.map(|size| Packet { size, hold: Nanos::ZERO }).to_vec();
        let train = Train { direction: Direction::Forward, packets };
        let passages = path.carry(&vec![Departure { pause: Nanos::ZERO, train }]).unwrap();
        let fates = &passages[0].observation.fates;
        assert_eq!(fates.iter().map(|fate| fate.arrival.is_some()).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(
            fates.iter().map(|fate| fate.sent.kernel.is_some()).collect::<Vec<_>>(),
            [true, false, true]
        );
        let told = path.circumstances();
        assert_eq!(
            (told.sender.interface.as_deref(), told.receiver.interface.as_deref()),
            (Some("near"), Some("far"))
        );
        assert_eq!(told.receiver.driver.as_deref(), Some("veth"));
    };
    let far = move |stop: &std::sync::atomic::AtomicBool| {
        let mut config = AgentConfig::new(agent, known);
        config.listen = "[::]:0".parse().unwrap();
        let agent = Agent::bind(config).unwrap();
        tell.send(agent.local_addr().port()).unwrap();
        agent.serve(stop).unwrap();
    };
    skipped(between(near, far));
}

#[test]
fn frames_go_in_and_out_as_they_are_on_a_wire() {
    let (tell, told) = channel();
    let (done, finished) = channel::<()>();
    let near = move || {
        Interface::named("near").unwrap().offloads_off().unwrap();
        let offloads = Interface::named("near").unwrap().offloads().unwrap();
        for name in ["tx-checksum-ip-generic", "tx-udp-segmentation", "rx-gro"] {
            assert!(!offloads[name], "{name} is on");
        }
        told.recv().unwrap();
        let mut socket = PacketSocket::open("near").unwrap();
        let mut frame = [0u8; 60];
        frame[..6].fill(0xff);
        // An EtherType for experiments.
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..19].copy_from_slice(b"dwell");
        assert!(socket.send(&frame).unwrap());
        finished.recv().unwrap();
        let mut seen = [0; 2048];
        while let Some((length, _)) = socket.recv(&mut seen).unwrap() {
            assert_ne!(seen[..length], frame, "it sees what it sent itself");
        }
        let error = PacketSocket::open("none").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
    };
    let far = move |_: &std::sync::atomic::AtomicBool| {
        let mut socket = PacketSocket::open("far").unwrap();
        let start = clock::realtime();
        tell.send(()).unwrap();
        let mut frame = [0; 2048];
        loop {
            let mut one = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
            assert!(poll(&mut one, PollTimeout::from(10_000u16)).unwrap() > 0, "no frame came");
            let Some((length, stamp)) = socket.recv(&mut frame).unwrap() else { continue };
            if frame[14..length].starts_with(b"dwell") {
                assert_eq!(length, 60);
                assert!((start..=clock::realtime()).contains(&stamp));
                break;
            }
        }
        done.send(()).unwrap();
    };
    skipped(between(near, far));
}
