//! What is not asked for is not told.

use crate::{loopback, observer, send_paced, told};
use dwell_core::inside::{Journey, Way};
use dwell_net::inside::{Observer, ObserverError, Watching};
use nix::sched::{CloneFlags, unshare};
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

/// Journeys of one packet to each of two ports.
pub(crate) fn two_ports(watching: impl Fn([u16; 2]) -> Watching) -> Option<(Vec<Journey>, [u16; 2])> {
    let receivers = loopback().map(|_| UdpSocket::bind(loopback()[0]).expect("a socket"));
    let addresses = [0, 1].map(|which: usize| receivers[which].local_addr().expect("its address"));
    let ports = addresses.map(|address| address.port());
    let mut observer = observer(&watching(ports))?;
    let sender = UdpSocket::bind(loopback()[0]).expect("a socket");
    for (receiver, address) in receivers.iter().zip(addresses) {
        send_paced(&sender, address, 5, Duration::ZERO);
        (0..5).for_each(|_| assert_eq!(receiver.recv(&mut [0; 64]).ok(), Some(33)));
    }
    let (journeys, _) = told(&mut observer);
    let ours = journeys.into_iter().filter(|journey| {
        ports.contains(&journey.flow.local.port()) || ports.contains(&journey.flow.remote.port())
    });
    Some((ours.collect(), ports))
}

/// Gives this thread a network of its own, where nobody else's packets are. Who may make none keeps the host's.
fn alone() {
    if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
        assert!(up.success());
    }
}

#[test]
fn a_port_an_interface_an_address() {
    alone();
    let Some((journeys, ports)) =
        two_ports(|ports| Watching { ports: vec![ports[0]], ..Watching::default() })
    else {
        return;
    };
    // Sent and received.
    assert_eq!(journeys.len(), 10);
    assert!(journeys.iter().all(|journey| ports[1] != journey.flow.local.port()));
    let told = |watching: Watching| two_ports(|_| watching.clone()).expect("as before").0.len();
    assert_eq!(told(Watching::default()), 20);
    assert_eq!(told(Watching { ways: vec![Way::Send], ..Watching::default() }), 10);
    assert_eq!(told(Watching { interface: Some(9_999), ..Watching::default() }), 0);
    assert_eq!(told(Watching { interface: Some(1), ..Watching::default() }), 20);
    let other = "192.0.2.1".parse().expect("an address");
    assert_eq!(told(Watching { addresses: vec![other], ..Watching::default() }), 0);
    assert_eq!(told(Watching { addresses: vec![other, loopback()[0].ip()], ..Watching::default() }), 20);
}

#[test]
fn a_process_and_a_control_group() {
    let Some((journeys, _)) = two_ports(|ports| Watching { ports: ports.to_vec(), ..Watching::default() })
    else {
        return;
    };
    let cgroup = journeys[0].cgroup.expect("of a thread");
    let told = |watching: Watching| two_ports(|_| watching.clone()).expect("as before").0.len();
    assert_eq!(told(Watching { pid: Some(std::process::id()), ..Watching::default() }), 20);
    assert_eq!(told(Watching { pid: Some(1), ..Watching::default() }), 0);
    assert_eq!(told(Watching { cgroup: Some(cgroup), ..Watching::default() }), 20);
    assert_eq!(told(Watching { cgroup: Some(cgroup + 1_000_000), ..Watching::default() }), 0);
}

#[test]
fn more_ports_than_can_be_watched_are_refused() {
    let watching = Watching { ports: (1..=17).collect(), ..Watching::default() };
    match Observer::attach(&watching) {
        Err(ObserverError::TooMany { most: 16, asked: 17, .. }) => {}
        Err(ObserverError::NoBtf | ObserverError::NotPermitted(_)) => eprintln!("skipped: no privilege"),
        other => panic!("{:?}", other.err()),
    }
}
