//! The observer of a host's inside, against what programs see from outside. Without privilege or BTF the tests say so,
//! and are skipped.

mod answer;
mod ends;
mod filter;
mod namespace;
mod own;
mod tcp;
mod udp;

use dwell_core::Nanos;
use dwell_core::inside::{Dropped, Event, Journey};
use dwell_net::clock;
use dwell_net::inside::{Observer, Watching};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// An observer, or `None` where there can be none here, which is then said.
fn observer(watching: &Watching) -> Option<Observer> {
    if let Err(reason) = Observer::survey(watching) {
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(Observer::attach(watching).expect("what the survey promised"))
}

/// All that was told until nothing more comes.
fn told(observer: &mut Observer) -> (Vec<Journey>, Vec<Dropped>) {
    let (mut journeys, mut drops) = (Vec::new(), Vec::new());
    loop {
        let before = journeys.len() + drops.len();
        let mut tell = |event| match event {
            Event::Journey(journey) => journeys.push(*journey),
            Event::Dropped(dropped) => drops.push(dropped),
        };
        observer.wait(Duration::from_millis(150), &mut tell).expect("a ring that can be read");
        if journeys.len() + drops.len() == before {
            return (journeys, drops);
        }
    }
}

/// Free ports of this host itself, by either version of IP.
fn loopback() -> [SocketAddr; 2] {
    [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()]
}

/// What a sender knows of what it sent.
struct Sent {
    /// Just before each call.
    calls: Vec<Nanos>,
}

/// Sends that many packets, one each `pause`.
fn send_paced(sender: &UdpSocket, to: SocketAddr, packets: usize, pause: Duration) -> Sent {
    let pause = Nanos(i64::try_from(pause.as_nanos()).expect("a short pause"));
    let mut calls = Vec::new();
    for _ in 0..packets {
        let now = clock::monotonic();
        calls.push(now);
        sender.send_to(&[7; 33], to).expect("sent");
        clock::spin_until(now + pause);
    }
    Sent { calls }
}
