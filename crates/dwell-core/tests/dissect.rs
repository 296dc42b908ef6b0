//! Frames of every kind of oddity, and any bytes at all.

mod carried;

use carried::{AT, carrying, cut, ethernet, expected, packet, whole};
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::dissect::{Passing, Skipped, Straight, dissect};
use dwell_core::tcp::{FlowSeed, Options, Segment, TcpFlags};
use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use std::net::IpAddr;

fn segment(link: i32, bytes: &[u8]) -> Segment {
    match whole(link, bytes) {
        Ok(Passing::Segment(segment)) => segment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn padding_is_no_payload() {
    let mut frame = ethernet(0x0800, &packet(false, 0));
    frame.resize(120, 0xee);
    assert_eq!(segment(1, &frame), expected(false, 0));
}

#[test]
fn large_segments_without_a_length_have_the_frames() {
    let mut v4 = ethernet(0x0800, &packet(false, 3000));
    v4[16..18].copy_from_slice(&[0, 0]);
    assert_eq!(segment(1, &v4), expected(false, 3000));
    let mut v6 = ethernet(0x86dd, &packet(true, 3000));
    v6[18..20].copy_from_slice(&[0, 0]);
    assert_eq!(segment(1, &v6), expected(true, 3000));
    // Also where only the headers were captured.
    assert_eq!(cut(1, &v6, 100), Ok(Passing::Segment(expected(true, 3000))));
}

#[test]
fn the_first_fragment_is_used_and_the_others_are_counted() {
    let mut first = packet(false, 80);
    first[6] = 0x20;
    assert_eq!(segment(101, &first), expected(false, 80));
    let mut later = packet(false, 80);
    later[7] = 20;
    assert_eq!(whole(101, &later), Err(Skipped::Fragment));
    // Version 6: a header of its own.
    let inner = packet(true, 80);
    for (offset, wanted) in [(1u16, Ok(Passing::Segment(expected(true, 80)))), (0x51, Err(Skipped::Fragment))]
    {
        let fragment = [&[6, 0][..], &offset.to_be_bytes(), &[0, 0, 0, 1]].concat();
        assert_eq!(whole(101, &extended(&inner, 44, &fragment)), wanted);
    }
    // One so small that the options go on in the next.
    let mut tiny = packet(false, 0);
    (tiny[3], tiny[6]) = (44, 0x20);
    tiny.truncate(44);
    let found = segment(101, &tiny);
    assert!(found.options.cut && found.options.timestamps.is_none() && found.payload == 0);
}

/// A packet of version 6 with one more header ahead of what it carries.
fn extended(packet: &[u8], protocol: u8, header: &[u8]) -> Vec<u8> {
    let mut bytes = [&packet[..40], header, &packet[40..]].concat();
    bytes[40] = packet[6];
    bytes[6] = protocol;
    let length = (bytes.len() - 40) as u16;
    bytes[4..6].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn extension_headers_are_passed_over_and_routes_are_followed() {
    let inner = packet(true, 5);
    let mut all = inner.clone();
    for (protocol, header) in [(60, vec![0; 16]), (51, vec![0; 24]), (43, vec![0; 8]), (0, vec![0; 8])] {
        let mut header = header;
        header[1] = if protocol == 51 { 4 } else { (header.len() / 8 - 1) as u8 };
        all = extended(&all, protocol, &header);
    }
    assert_eq!(segment(101, &all), expected(true, 5));
    let last: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let stops = |kind, list: [[u8; 16]; 2]| [&[0, 4, kind, 1, 0, 0, 0, 0][..], &list[0], &list[1]].concat();
    for route in [stops(0, [[1; 16], last]), stops(4, [last, [1; 16]])] {
        let found = segment(101, &extended(&inner, 43, &route));
        assert_eq!(found.to.address, IpAddr::from(last));
    }
}

#[test]
fn options_are_read_as_far_as_they_go() {
    let with = |options: &[u8]| {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([1; 4], [2; 4], 9).tcp(1, 2, 3, 4).syn();
        builder.options_raw(options).unwrap().write(&mut bytes, &[]).unwrap();
        segment(101, &bytes).options
    };
    assert_eq!(with(&[34, 2, 1, 1]), Options { fast_open: true, ..Options::default() });
    assert_eq!(with(&[254, 4, 0xf9, 0x89]), Options { fast_open: true, ..Options::default() });
    assert_eq!(with(&[254, 4, 0xe2, 0xd4]), Options::default());
    assert_eq!(with(&[30, 12, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), Options { mptcp: true, ..Options::default() });
    // Behind the end of the list, and behind a length that cannot be, there are none.
    assert_eq!(with(&[0, 34, 2, 1]), Options::default());
    assert_eq!(with(&[9, 0, 34, 2]), Options::default());
    assert_eq!(with(&[9, 99, 34, 2]), Options::default());
    // A snap length within them.
    let frame = ethernet(0x0800, &packet(false, 5));
    let Ok(Passing::Segment(found)) = cut(1, &frame, 54) else { panic!("the header is whole") };
    assert_eq!(found.options, Options { cut: true, ..Options::default() });
}

#[test]
fn a_refusal_names_the_segment_that_it_quotes() {
    for (v6, protocol, kind) in [(false, 1, 3), (true, 58, 1)] {
        let quoted = packet(v6, 0);
        let wanted = expected(v6, 0);
        for code in [0, 1, 3, 4, 13] {
            // A router quotes 8 bytes behind the IP header.
            let header = if v6 { 40 } else { 20 };
            let message = [&[kind, code, 0, 0, 0, 0, 0, 0], &quoted[..header + 8]].concat();
            let frame = ethernet(0x0800, &carrying(protocol, &message));
            match whole(1, &frame) {
                Ok(Passing::Unreachable(found)) => {
                    assert!(v6 || code != 4, "too large is no refusal");
                    assert_eq!(
                        (found.at, found.from, found.to, found.sequence),
                        (AT, wanted.from, wanted.to, wanted.sequence)
                    );
                }
                Err(Skipped::NotTcp) if !v6 && code == 4 => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn times_that_nanoseconds_cannot_tell_are_none() {
    let bytes = packet(false, 0);
    let length = bytes.len() as u32;
    let absurd = Captured { at: i128::from(i64::MAX) + 1, link: LinkType(101), bytes: &bytes, length };
    assert_eq!(dissect(&absurd), Err(Skipped::Time));
}

proptest! {
    #[test]
    fn etherparse_says_the_same(
        v6: bool, tags in 0usize..3, from: [u8; 16], to: [u8; 16], ports: (u16, u16), numbers: (u32, u32),
        flags in 0u16..512, stamps: Option<(u32, u32)>, payload in 0usize..2000, padding in 0usize..20,
    ) {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let v4 = |address: [u8; 16]| [address[0], address[1], address[2], address[3]];
        let vlan = |id| etherparse::VlanId::try_new(id).unwrap();
        macro_rules! written { ($link:expr) => {{
            let link = $link;
            let ip = if v6 { link.ipv6(from, to, 9) } else { link.ipv4(v4(from), v4(to), 9) };
            let mut tcp = ip.tcp(ports.0, ports.1, numbers.0, 1000);
            if flags & 0x01 != 0 { tcp = tcp.fin(); }
            if flags & 0x02 != 0 { tcp = tcp.syn(); }
            if flags & 0x04 != 0 { tcp = tcp.rst(); }
            if flags & 0x08 != 0 { tcp = tcp.psh(); }
            if flags & 0x10 != 0 { tcp = tcp.ack(numbers.1); }
            if flags & 0x20 != 0 { tcp = tcp.urg(1); }
            if flags & 0x40 != 0 { tcp = tcp.ece(); }
            if flags & 0x80 != 0 { tcp = tcp.cwr(); }
            if flags & 0x100 != 0 { tcp = tcp.ns(); }
            if let Some((value, echo)) = stamps {
                tcp = tcp.options(&[TcpOptionElement::Noop, TcpOptionElement::Timestamp(value, echo)]).unwrap();
            }
            let mut bytes = Vec::new();
            tcp.write(&mut bytes, &vec![1; payload]).unwrap();
            bytes
        }}}
        let mut frame = match tags {
            0 => written!(builder),
            1 => written!(builder.single_vlan(vlan(5))),
            _ => written!(builder.double_vlan(vlan(5), vlan(6))),
        };
        frame.resize(frame.len() + padding, 0);
        let found = segment(1, &frame);
        let theirs = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &theirs.transport else { panic!("no TCP") };
        let (a, b) = if v6 { (IpAddr::from(from), IpAddr::from(to)) } else { (v4(from).into(), v4(to).into()) };
        prop_assert_eq!((found.from.address, found.from.port), (a, tcp.source_port()));
        prop_assert_eq!((found.to.address, found.to.port), (b, tcp.destination_port()));
        prop_assert_eq!((found.sequence, found.acknowledgment), (tcp.sequence_number(), tcp.acknowledgment_number()));
        prop_assert_eq!(found.payload as usize, payload);
        prop_assert_eq!(found.flags, TcpFlags(flags));
        prop_assert_eq!(found.options.timestamps.map(|both| (both.value, both.echo)), stamps);
        // The first look knows the same connection, and whether it is opened or refused.
        let length = frame.len() as u32;
        let captured = Captured { at: 0, link: LinkType::ETHERNET, bytes: &frame, length };
        let (straight, seed) = (Straight::of(&captured).expect("straight"), FlowSeed::random());
        prop_assert_eq!(straight.is_midstream(), flags & 0x06 == 0);
        prop_assert_eq!(straight.flow(&seed), seed.of(&found.from, &found.to));
        prop_assert_eq!(straight.glance(&seed), seed.glance(&found.from, &found.to));
    }

    #[test]
    fn no_frame_is_too_strange(link in 0i32..300, bytes in prop::collection::vec(any::<u8>(), 0..200), more in 0u32..9) {
        let frame = Captured { at: 5, link: LinkType(link), bytes: &bytes, length: bytes.len() as u32 + more };
        let _ = (dissect(&frame), Straight::of(&frame).map(|straight| straight.flow(&FlowSeed::random())));
    }

    #[test]
    fn a_damaged_frame_is_no_reason_to_panic(
        link in prop::sample::select(vec![1, 0, 9, 10, 101, 105, 113, 127, 276]),
        damage in prop::collection::vec((0usize..120, any::<u8>()), 1..6), length: u32, protocol: u8,
    ) {
        let mut bytes = ethernet(0x0800, &carrying(protocol, &packet(false, 40)));
        damage.into_iter().for_each(|(at, with)| { if let Some(byte) = bytes.get_mut(at) { *byte = with } });
        let frame = Captured { at: 5, link: LinkType(link), bytes: &bytes, length };
        // What the first look knows, the closer look knows as well.
        if let (Some(straight), Ok(Passing::Segment(found))) = (Straight::of(&frame), dissect(&frame)) {
            let seed = FlowSeed::random();
            prop_assert_eq!(straight.flow(&seed), seed.of(&found.from, &found.to));
            prop_assert_eq!(straight.glance(&seed), seed.glance(&found.from, &found.to));
        }
    }
}
