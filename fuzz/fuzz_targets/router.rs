//! What a router says of a probe, and what a host says of an echo.
#![no_main]

use dwell_core::echo::message::{Answer, read_probe};
use dwell_core::fsd::{Exceeded, Probe};
use etherparse::PacketBuilder;
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_probe(bytes);
    if let Some(answer) = Answer::read(bytes) {
        assert_eq!(Answer::read(&answer.write()), Some(answer));
    }
    let Some(exceeded) = Exceeded::read(bytes) else { return };
    // A router that quotes a probe of these marks says the same.
    let probe = Probe { marks: exceeded.marks, hops: 1, length: Probe::least(exceeded.marks.destination) };
    let quoted = probe.write().expect("both addresses are of the version of the packet");
    let mut message = Vec::new();
    match (exceeded.router, exceeded.to) {
        (IpAddr::V4(router), IpAddr::V4(to)) => PacketBuilder::ipv4(router.octets(), to.octets(), 64)
            .icmpv4_raw(11, 0, [0; 4])
            .write(&mut message, &quoted),
        (IpAddr::V6(router), IpAddr::V6(to)) => PacketBuilder::ipv6(router.octets(), to.octets(), 64)
            .icmpv6_raw(3, 0, [0; 4])
            .write(&mut message, &quoted),
        _ => panic!("a packet between two versions"),
    }
    .expect("a short packet");
    let again = Exceeded::read(&message).expect("a message that quotes a probe");
    assert_eq!(Exceeded { length: exceeded.length, ..again }, exceeded);
});
