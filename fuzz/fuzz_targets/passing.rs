//! What passes a probe, in any order and at any time: handshakes, and round trips throughout connections.
#![no_main]

use dwell_core::Nanos;
use dwell_core::tcp::continuous::{Continuous, FlowLimits, Quic, Sample, Throughout};
use dwell_core::tcp::dissect::Datagram;
use dwell_core::tcp::{Endpoint, Half, Handshake, Limits, Options, Segment, TcpFlags, Timestamps, Tracker};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

/// Bytes of one packet.
const PACKET: usize = 12;

/// Few enough for a search of all that passed.
const MOST: usize = 256;

/// One of few ends, so that connections meet.
fn end(number: u8) -> Endpoint {
    let port = 40_000 + u16::from(number >> 2 & 1);
    match number & 3 {
        3 => Endpoint { address: "2001:db8::1".parse().expect("an address"), port },
        host => Endpoint { address: [10, 0, 0, host].into(), port },
    }
}

/// A number near the place where numbers begin anew.
fn number(byte: u8) -> u32 {
    0_u32.wrapping_add_signed(i32::from(byte as i8))
}

/// A packet from its bytes; its time is so long after the last, or before.
fn segment(bytes: &[u8; PACKET], last: Nanos) -> Segment {
    let [ends, low, high, unit, flags, sequence, acknowledgment, payload, options, value, echo, _] = *bytes;
    let step = i64::from(i16::from_le_bytes([low, high])) << (unit & 47);
    let stamps = Timestamps { value: value.into(), echo: echo.into() };
    Segment {
        at: last + Nanos(step),
        from: end(ends & 7),
        to: end(ends >> 3 & 7),
        flags: TcpFlags(flags.into()),
        sequence: number(sequence),
        acknowledgment: number(acknowledgment),
        payload: payload.into(),
        options: Options {
            timestamps: (options & 1 == 1).then_some(stamps),
            fast_open: options & 2 != 0,
            mptcp: options & 4 != 0,
            cut: options & 8 != 0,
        },
    }
}

/// A time that is told is one between two packets that passed.
fn is_between(value: Nanos, times: &BTreeSet<Nanos>) -> bool {
    value >= Nanos::ZERO && times.iter().any(|from| times.contains(&(*from + value)))
}

fn is_true(half: Half, times: &BTreeSet<Nanos>) -> bool {
    match half {
        Half::Unknown => true,
        Half::Exact(value) | Half::AtMost(value) => is_between(value, times),
        Half::OneOf(one, other) => one <= other && is_between(one, times) && is_between(other, times),
    }
}

fn values(half: Half) -> Vec<Nanos> {
    match half {
        Half::Unknown => vec![],
        Half::Exact(value) | Half::AtMost(value) => vec![value],
        Half::OneOf(one, other) => vec![one, other],
    }
}

/// A total is from one packet to another, or where a SYN/ACK was sent again the sum of halves that end and begin with
/// different ones.
fn is_true_total(handshake: &Handshake, times: &BTreeSet<Nanos>) -> bool {
    let server = values(handshake.server_half);
    let client = values(handshake.client_half);
    let is_sum = |value: Nanos| server.iter().any(|one| client.iter().any(|other| *one + *other == value));
    values(handshake.total).into_iter().all(|value| is_between(value, times) || is_sum(value))
}

fn check(sample: &Sample, times: &BTreeSet<Nanos>) {
    assert!(times.contains(&sample.at) && is_true(sample.value, times), "{sample:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let limits = FlowLimits { flows: 16, ..FlowLimits::default() };
    let every = Nanos::from_secs(1);
    let mut tracker = Tracker::new(Limits { handshakes: 8, ..Limits::default() });
    let (mut continuous, mut quic) = (Continuous::new(limits), Quic::new(limits));
    let mut throughout = Throughout::new(limits, every);
    let (mut times, mut told, mut at) = (BTreeSet::new(), Vec::new(), Nanos::ZERO);
    let (mut samples, mut counted) = (0_u64, 0_u64);
    for packet in bytes.as_chunks::<PACKET>().0.iter().take(MOST) {
        let segment = segment(packet, at);
        at = segment.at;
        times.insert(at);
        let flow = tracker.seed().of(&segment.from, &segment.to);
        if packet[3] & 0x80 != 0 {
            let payload = &packet[4..];
            let datagram = Datagram { at, from: segment.from, to: segment.to, payload, length: 1_200 };
            quic.see(flow, &datagram, &mut |sample| {
                check(&sample, &times);
                samples += u64::from(sample.value.value().is_some());
            });
            throughout.see_datagram(flow, &datagram);
        } else {
            tracker.see(&segment, &mut |handshake| told.push(handshake));
            let glance = tracker.seed().glance(&segment.from, &segment.to);
            let _ = tracker.pending(glance);
            continuous.see(flow, &segment, &mut |sample| {
                check(&sample, &times);
                samples += u64::from(sample.value.value().is_some());
            });
            throughout.see(flow, &segment);
        }
    }
    tracker.finish(&mut |handshake| told.push(handshake));
    throughout.end();
    for handshake in &told {
        assert!(times.contains(&handshake.first_at), "{handshake:?}");
        for half in [handshake.server_half, handshake.client_half] {
            assert!(is_true(half, &times), "{handshake:?}");
        }
        assert!(is_true_total(handshake, &times), "{handshake:?}");
    }
    // What an interval tells is what its samples were.
    for trips in throughout.take() {
        counted += trips.samples;
        assert!(is_true(trips.least, &times), "{trips:?}");
        assert!(
            trips.least.value().is_some_and(|least| Nanos::ZERO <= least && least <= trips.mean),
            "{trips:?}"
        );
        assert!(trips.from < trips.until && trips.until - trips.from <= every, "{trips:?}");
    }
    let became = throughout.samples();
    assert_eq!(became.samples, counted);
    // Which flows are forgotten for others is another matter each time.
    if continuous.forgotten() + quic.forgotten() + became.forgotten_flows == 0 {
        assert_eq!(became.samples, samples);
    }
});
