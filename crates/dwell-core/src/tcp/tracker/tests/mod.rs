//! What the tracker makes of each behaviour of real traffic.

mod bounds;
mod missed;
mod model;
mod odd;
mod one_way;
mod order;
mod ordinary;
mod refusals;
mod repeated;

use super::super::{Ending, Endpoint, Flag, Half, Handshake, Options, Segment, TcpFlags, Timestamps};
use super::{Counts, Limits, Tracker};
use crate::unit::Nanos;
use std::net::{IpAddr, Ipv4Addr};

const ISN_C: u32 = 1_000;
const ISN_S: u32 = 50_000;

fn us(us: i64) -> Nanos {
    Nanos::from_micros(us)
}

fn exact(microseconds: i64) -> Half {
    Half::Exact(us(microseconds))
}

fn one_of(one: i64, other: i64) -> Half {
    Half::OneOf(us(one), us(other))
}

fn at_most(microseconds: i64) -> Half {
    Half::AtMost(us(microseconds))
}

fn end(number: u32, port: u16) -> Endpoint {
    Endpoint { address: IpAddr::V4(Ipv4Addr::from_bits(number)), port }
}

fn client() -> Endpoint {
    end(0x0a00_0001, 40_000)
}

fn server() -> Endpoint {
    end(0x0a00_0002, 443)
}

fn bare(at: i64, flags: TcpFlags, sequence: u32, acknowledgment: u32) -> Segment {
    Segment {
        at: us(at),
        from: client(),
        to: server(),
        flags,
        sequence,
        acknowledgment,
        payload: 0,
        options: Options::default(),
    }
}

fn syn(at: i64) -> Segment {
    bare(at, TcpFlags::SYN, ISN_C, 0)
}

fn syn_ack(at: i64) -> Segment {
    back(bare(at, TcpFlags::SYN.with(TcpFlags::ACK), ISN_S, ISN_C.wrapping_add(1)))
}

fn ack(at: i64) -> Segment {
    bare(at, TcpFlags::ACK, ISN_C.wrapping_add(1), ISN_S.wrapping_add(1))
}

/// The same from the server.
fn back(segment: Segment) -> Segment {
    Segment { from: segment.to, to: segment.from, ..segment }
}

fn with_data(segment: Segment, payload: u32) -> Segment {
    Segment { payload, ..segment }
}

fn stamped(segment: Segment, value: u32, echo: u32) -> Segment {
    let timestamps = Some(Timestamps { value, echo });
    Segment { options: Options { timestamps, ..segment.options }, ..segment }
}

/// All that is told of these segments, and the counts.
fn counted(segments: &[Segment]) -> (Vec<Handshake>, Counts) {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    for segment in segments {
        tracker.see(segment, &mut |handshake| told.push(handshake));
    }
    tracker.finish(&mut |handshake| told.push(handshake));
    (told, *tracker.counts())
}

fn told(segments: &[Segment]) -> Vec<Handshake> {
    counted(segments).0
}

/// What is told of these segments, which are of one connection.
fn only(segments: &[Segment]) -> Handshake {
    let told = told(segments);
    assert_eq!(told.len(), 1, "{told:?}");
    told[0]
}

fn flags(handshake: &Handshake) -> Vec<Flag> {
    handshake.flags.iter().filter(|flag| *flag != Flag::NoTimestamps).collect()
}

/// Server's half, client's half, total.
fn halves(handshake: &Handshake) -> (Half, Half, Half) {
    (handshake.server_half, handshake.client_half, handshake.total)
}
