//! Headers of IP, TCP and ICMP.

use dwell_core::tcp::{Endpoint, Options, Segment, TcpFlags, Unreachable};
use std::net::IpAddr;

/// The one's complement sum of RFC 1071, not yet folded.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low))).sum()
}

fn folded(mut sum: u32) -> [u8; 2] {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// An IPv4 header for a payload of `length` bytes; `fragment` is the word of its flags and offset.
pub(super) fn ipv4(
    out: &mut Vec<u8>,
    from: [u8; 4],
    to: [u8; 4],
    protocol: u8,
    length: usize,
    fragment: u16,
) {
    let start = out.len();
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&((20 + length) as u16).to_be_bytes());
    out.extend_from_slice(&[0x12, 0x34]);
    out.extend_from_slice(&fragment.to_be_bytes());
    out.extend_from_slice(&[60, protocol, 0, 0]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
    let check = folded(sum(&out[start..]));
    out[start + 10..start + 12].copy_from_slice(&check);
}

/// An IPv6 header for a payload of `length` bytes.
pub(super) fn ipv6(out: &mut Vec<u8>, from: [u8; 16], to: [u8; 16], next: u8, length: usize) {
    out.extend_from_slice(&[0x60, 0, 0, 0]);
    out.extend_from_slice(&(length as u16).to_be_bytes());
    out.extend_from_slice(&[next, 60]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
}

/// The header of whichever version two ends have.
pub(super) fn ip(out: &mut Vec<u8>, from: IpAddr, to: IpAddr, protocol: u8, length: usize) {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ipv4(out, from.octets(), to.octets(), protocol, length, 0x4000),
        (from, to) => {
            let octets = |address| Endpoint { address, port: 0 }.octets();
            ipv6(out, octets(from), octets(to), protocol, length);
        }
    }
}

/// The options of a segment, padded.
fn options(segment: &Segment) -> Vec<u8> {
    let Options { timestamps, fast_open, mptcp, .. } = segment.options;
    let syn = segment.flags.has(TcpFlags::SYN);
    let ack = segment.flags.has(TcpFlags::ACK);
    let mut out = Vec::with_capacity(40);
    if syn {
        out.extend_from_slice(&[2, 4, 0x05, 0xb4, 4, 2]);
    }
    if let Some(stamps) = timestamps {
        if !syn {
            out.extend_from_slice(&[1, 1]);
        }
        out.extend_from_slice(&[8, 10]);
        out.extend_from_slice(&stamps.value.to_be_bytes());
        out.extend_from_slice(&stamps.echo.to_be_bytes());
    }
    if syn {
        out.extend_from_slice(&[1, 3, 3, 7]);
    }
    if fast_open {
        out.extend_from_slice(&[1, 1, 34, 6, 0xde, 0xad, 0xbe, 0xef]);
    }
    if mptcp {
        // MP_CAPABLE, version 1 (RFC 8684, 3.1): of 4 bytes on a SYN, with one key on a SYN/ACK, with both on the ACK.
        let length = match (syn, ack) {
            (true, false) => 4,
            (true, true) => 12,
            _ => 20,
        };
        out.extend_from_slice(&[30, length, 0x01, 0x01]);
        out.resize(out.len() + usize::from(length) - 4, 0x5a);
    }
    out.resize(out.len().next_multiple_of(4), 1);
    out
}

/// A TCP header for a segment whose payload is nothing but zeros.
pub(super) fn tcp(out: &mut Vec<u8>, segment: &Segment) {
    let start = out.len();
    let options = options(segment);
    out.extend_from_slice(&segment.from.port.to_be_bytes());
    out.extend_from_slice(&segment.to.port.to_be_bytes());
    out.extend_from_slice(&segment.sequence.to_be_bytes());
    out.extend_from_slice(&segment.acknowledgment.to_be_bytes());
    let words = (5 + options.len() / 4) as u16;
    out.extend_from_slice(&(words << 12 | segment.flags.0).to_be_bytes());
    out.extend_from_slice(&[0xfa, 0xf0, 0, 0, 0, 0]);
    out.extend_from_slice(&options);
    let length = (out.len() - start) as u32 + segment.payload;
    let check = folded(sum(&out[start..]) + pseudo(&segment.from, &segment.to, 6, length));
    out[start + 16..start + 18].copy_from_slice(&check);
}

/// The sum of the pseudo-header. Mapped addresses add the same `ffff` twice, which is nothing.
fn pseudo(from: &Endpoint, to: &Endpoint, protocol: u32, length: u32) -> u32 {
    sum(&from.octets()) + sum(&to.octets()) + protocol + (length & 0xffff) + (length >> 16)
}

/// An ICMP message of either version, with what it quotes. Says which protocol it is.
pub(super) fn unreachable(out: &mut Vec<u8>, message: &Unreachable) -> u8 {
    let start = out.len();
    let Unreachable { from, to, sequence, .. } = message;
    let v4 = from.address.is_ipv4();
    out.extend_from_slice(if v4 { &[3, 1, 0, 0, 0, 0, 0, 0] } else { &[1, 3, 0, 0, 0, 0, 0, 0] });
    ip(out, from.address, to.address, 6, 40);
    out.extend_from_slice(&from.port.to_be_bytes());
    out.extend_from_slice(&to.port.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
    let more = if v4 { 0 } else { pseudo(to, from, 58, (out.len() - start) as u32) };
    let check = folded(sum(&out[start..]) + more);
    out[start + 2..start + 4].copy_from_slice(&check);
    if v4 { 1 } else { 58 }
}
