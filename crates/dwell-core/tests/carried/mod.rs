//! Packets, written by etherparse: an opinion of headers that is not the dissector's own.

#![allow(dead_code)] // Each test file uses some of it.

use dwell_core::Nanos;
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::dissect::{Passing, Skipped, dissect};
use dwell_core::tcp::{Endpoint, Options, Segment, TcpFlags, Timestamps};
use etherparse::{PacketBuilder, TcpOptionElement};
use std::net::IpAddr;

pub(crate) const AT: Nanos = Nanos(1_700_000_000_123_456_789);

/// A segment with time stamps, of either version of IP.
pub(crate) fn expected(v6: bool, payload: u32) -> Segment {
    let end = |last: u8, port| {
        let v6_address: [u16; 8] = [0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(last)];
        let address = if v6 { IpAddr::from(v6_address) } else { IpAddr::from([192, 0, 2, last]) };
        Endpoint { address, port }
    };
    Segment {
        at: AT,
        from: end(1, 40_000),
        to: end(2, 443),
        flags: TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR),
        sequence: 0xffff_fff0,
        acknowledgment: 77,
        payload,
        options: Options { timestamps: Some(Timestamps { value: 5, echo: 6 }), ..Options::default() },
    }
}

/// The IP packet of [`expected`].
pub(crate) fn packet(v6: bool, payload: u32) -> Vec<u8> {
    let Segment { from, to, .. } = expected(v6, payload);
    let builder = match (from.address, to.address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), 64),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), 64),
        _ => unreachable!("both of one version"),
    };
    let options = [TcpOptionElement::MaximumSegmentSize(1460), TcpOptionElement::Timestamp(5, 6)];
    let builder = builder.tcp(from.port, to.port, 0xffff_fff0, 1024).syn().ece().cwr();
    let mut header = Vec::new();
    builder.options(&options).unwrap().write(&mut header, &vec![7; payload as usize]).unwrap();
    // The builder sets no acknowledgment without ACK; the field is there all the same.
    let tcp = if v6 { 40 } else { 20 };
    header[tcp + 8..tcp + 12].copy_from_slice(&77u32.to_be_bytes());
    header
}

/// What the dissector makes of a frame that was captured whole.
pub(crate) fn whole(link: i32, bytes: &[u8]) -> Result<Passing<'_>, Skipped> {
    cut(link, bytes, bytes.len())
}

/// What it makes of a frame of which this much was captured.
pub(crate) fn cut(link: i32, bytes: &[u8], kept: usize) -> Result<Passing<'_>, Skipped> {
    let length = bytes.len() as u32;
    dissect(&Captured { at: i128::from(AT.0), link: LinkType(link), bytes: &bytes[..kept], length })
}

/// Bytes of text in hexadecimal, spaces as one likes.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// An IP packet of version 4 that carries this.
pub(crate) fn carrying(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let header = [
        &[0x45, 0][..],
        &total.to_be_bytes(),
        &[0, 1, 0, 0, 64, protocol, 0, 0, 10, 9, 8, 7, 10, 9, 8, 6],
        payload,
    ];
    header.concat()
}

/// A datagram that carries this.
pub(crate) fn datagram(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let udp =
        [&source.to_be_bytes()[..], &destination.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload];
    carrying(17, &udp.concat())
}

/// An Ethernet frame of this type.
pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), payload].concat()
}
