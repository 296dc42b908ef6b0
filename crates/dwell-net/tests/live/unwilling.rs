//! Hosts without an agent that do not answer as they were asked: another answers for them, or they limit their answers.

use crate::wire::{FAR, between};
use dwell_core::host::agentless::{Agentless, AgentlessConfig as Asking, Request};
use dwell_core::{Effort, Method, Nanos, Path, run};
use dwell_net::{AgentlessConfig, AgentlessError, AgentlessPath, PacketSocket};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// An address that the near end sends to by way of the far one, which has it not and passes nothing on.
const BEHIND: &str = "198.51.100.7";

fn echoes(host: &str) -> AgentlessConfig {
    AgentlessConfig { host: host.to_owned(), request: Request::Icmp, port: 0, core: None, real_time: false }
}

/// The reply to the echo request in `frame`, by the far end in its own name.
fn reply_of_another(frame: &[u8]) -> Option<Vec<u8>> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Icmpv4(icmp))) = (&packet.net, &packet.transport)
    else {
        return None;
    };
    if icmp.type_u8() != 8 || ip.header().destination_addr().to_string() != BEHIND {
        return None;
    }
    let ends = packet.link.as_ref()?.to_header()?.ethernet2()?;
    let [id_high, id_low, number @ ..] = icmp.bytes5to8();
    let far: std::net::Ipv4Addr = FAR.parse().unwrap();
    let mut reply = Vec::new();
    PacketBuilder::ethernet2(ends.destination, ends.source)
        .ipv4(far.octets(), ip.header().source(), 64)
        .icmpv4_echo_reply(u16::from_be_bytes([id_high, id_low]), u16::from_be_bytes(number))
        .write(&mut reply, icmp.payload())
        .unwrap();
    Some(reply)
}

#[test]
fn replies_of_another_host_are_none() {
    let (ready, go) = channel();
    let far = move |stop: &AtomicBool| {
        let mut frames = PacketSocket::open("far").unwrap();
        ready.send(()).unwrap();
        let mut frame = [0; 2048];
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
            while let Ok(Some((length, _))) = frames.recv(&mut frame) {
                if let Some(reply) = reply_of_another(&frame[..length]) {
                    frames.send(&reply).unwrap();
                }
            }
        }
    };
    let near = move || {
        go.recv().unwrap();
        let routed = Command::new("ip").args(["route", "add", BEHIND, "via", FAR]).status();
        assert!(routed.is_ok_and(|status| status.success()));
        match AgentlessPath::connect(&echoes(BEHIND)) {
            Ok(_) => panic!("{FAR} was taken for {BEHIND}"),
            Err(error) => error,
        }
    };
    let Some(error) = between(near, far) else {
        eprintln!("skipped: no network namespaces here (they take privileges, and iproute2)");
        return;
    };
    assert!(matches!(error, AgentlessError::NoAnswer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("replies come from another address (10.77.0.2"), "{text}");
}

#[test]
fn a_host_that_limits_its_answers_is_asked_less() {
    let (ready, go) = channel();
    let far = move |stop: &AtomicBool| {
        // Echo replies (bit 0) too, one a second after the first few.
        std::fs::write("/proc/sys/net/ipv4/icmp_ratemask", "1").unwrap();
        std::fs::write("/proc/sys/net/ipv4/icmp_ratelimit", "1000").unwrap();
        ready.send(()).unwrap();
        // The namespace ends with this thread.
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let near = move || {
        go.recv().unwrap();
        let mut path = AgentlessPath::connect(&echoes(FAR)).unwrap();
        let asking = Asking { longest: Nanos::from_secs(6), ..Asking::default() };
        let unhindered = 2.0 * asking.pairs_per_second * asking.longest.as_secs_f64();
        let mut method = Agentless::new(asking, &path.facts());
        let effort: Effort = run(&mut method, &mut path, None, |_| {}).unwrap();
        (effort.packets, unhindered, method.report())
    };
    let Some((packets, unhindered, report)) = between(near, far) else { return };
    let limited = report.warnings.iter().find(|warning| warning.contains("limits its answers"));
    assert!(limited.is_some(), "{:?}", report.warnings);
    assert!((packets as f64) < 0.7 * unhindered, "{packets} of {unhindered}");
}
