//! One and the same segment, in everything that it can travel in and be captured of.

mod carried;

use carried::{carrying, cut, datagram, ethernet, expected, hex, packet, whole};
use dwell_core::tcp::dissect::{Passing, Skipped};

/// What stands in front of the packet on each link: of version 4, and of version 6.
#[rustfmt::skip]
const LINKS: &[(i32, &str, &str)] = &[
    (12, "", ""), (14, "", ""), (101, "", ""), (228, "", ""), (229, "", ""),
    (0, "02000000", "1e000000"), (0, "00000002", "0a000000"), (108, "00000002", "0000001c"),
    (1, "020202020202 040404040404 0800", "020202020202 040404040404 86dd"),
    (1, "020202020202 040404040404 8100 0007 0800", "020202020202 040404040404 8100 0007 86dd"),
    (1, "020202020202 040404040404 88a8 0007 8100 0008 0800", "020202020202 040404040404 9100 0007 8100 0008 86dd"),
    (1, "020202020202 040404040404 88e7 00000007 020202020202 040404040404 0800", "020202020202 040404040404 8870 aaaa03 0000f8 86dd"),
    (1, "020202020202 040404040404 8847 000100ff 000111ff", "020202020202 040404040404 8848 000101ff"),
    (1, "020202020202 040404040404 8847 000101ff 00000000 020202020202 040404040404 0800", "020202020202 040404040404 8847 000101ff 020202020202 040404040404 86dd"),
    (1, "020202020202 040404040404 8864 1100 0001 0042 0021", "020202020202 040404040404 8864 1100 0001 0042 0057"),
    (1, "020202020202 040404040404 0050 aaaa03 000000 0800", "020202020202 040404040404 0050 aaaa03 000000 86dd"),
    (1, "020202020202 040404040404 0050 060603", "020202020202 040404040404 0050 fefe03 8e"),
    (1, "020202020202 040404040404 8926 00000000 0800", "020202020202 040404040404 894f 0fc40103 00000000 0000000000000000 020202020202040404040404 86dd"),
    (113, "0000 0001 0006 0202020202020000 0800", "0004 0001 0006 0202020202020000 86dd"),
    (276, "0800 0000 00000001 0001 00 06 0202020202020000", "86dd 0000 00000001 0001 00 06 0202020202020000"),
    (9, "ff03 0021", "ff03 0057"), (9, "0021", "57"), (9, "21", "ff0357"), (50, "ff03 0021", "0f00 86dd"),
    (204, "01 ff03 0021", "00 0057"), (166, "00 03 0021", "01 03 0057"), (51, "1100 0001 0042 0021", "1100 0001 0042 0057"),
    (104, "0f00 0800", "8f00 86dd"), (107, "1841 03 cc", "1841 03 00 80 000000 86dd"), (107, "1841 0800", "1841 03 8e"),
    (10, "50 020202020202 040404040404 aaaa03 000000 0800", "50 020202020202 040404040404 aaaa03 000000 86dd"),
    (6, "10 40 020202020202 040404040404 aaaa03 000000 0800", "10 40 020202020202 840404040404 0410 0011 aaaa03 000000 86dd"),
    (100, "aaaa03 000000 0800", "aaaa03 0080c2 0007 0000 020202020202 040404040404 86dd"),
    (105, "0801 0000 020202020202 040404040404 020202020202 0000 aaaa03 000000 0800",
          "8803 0000 020202020202 040404040404 020202020202 0000 010203040506 0000 aaaa03 000000 86dd"),
    (127, "00000800 00000000 0801 0000 020202020202 040404040404 020202020202 0000 aaaa03 000000 0800",
          "0000 1200 030000 00 1122334455667788 20 00 8801 0000 020202020202 040404040404 020202020202 0000 0000 0000 aaaa03 000000 86dd"),
    (119, "44000000 0c000000 00000000 0801 0000 020202020202 040404040404 020202020202 0000 aaaa03 000000 0800",
          "80211001 0000000c 00000000 0801 0000 020202020202 040404040404 020202020202 0000 aaaa03 000000 86dd"),
    (163, "80211002 0000000c 00000000 0801 0000 020202020202 040404040404 020202020202 0000 aaaa03 000000 0800",
          "80211001 0000000c 00000000 8881 0000 020202020202 040404040404 020202020202 0000 0000 00000000 aaaa03 000000 86dd"),
    (192, "00000800 65000000", "00000c00 01000000 11223344 020202020202 040404040404 86dd"),
    (197, "0000000000000000 02 04 0060 0000 0060 0000 020202020202 040404040404 0800",
          "0000000000000000 81 04 0060 0000 0060 0000000000000000 0f00 86dd"),
];

#[track_caller]
fn finds(link: i32, frame: &[u8], v6: bool, payload: u32) {
    let segment = Passing::Segment(expected(v6, payload));
    assert_eq!(whole(link, frame), Ok(segment), "link {link}: {frame:02x?}");
    // Cut at each byte: the same, or that it was cut. Nothing else is ever found.
    for kept in 0..frame.len() {
        match cut(link, frame, kept) {
            Err(Skipped::CutShort) => assert!(kept + payload as usize <= frame.len(), "{kept}"),
            Ok(Passing::Segment(found)) => {
                let mut wanted = expected(v6, payload);
                if found.options.cut {
                    wanted.options.cut = true;
                    wanted.options.timestamps = found.options.timestamps;
                }
                assert_eq!(found, wanted, "link {link}, cut at {kept}");
            }
            // A tunnel is none until its header is whole.
            Ok(Passing::Datagram(_)) => {}
            other => panic!("link {link}, cut at {kept}: {other:?}"),
        }
    }
}

#[test]
fn every_link_type_shows_the_same_segment() {
    for (link, v4, v6) in LINKS {
        for (v6, header) in [(false, v4), (true, v6)] {
            finds(*link, &[hex(header), packet(v6, 9)].concat(), v6, 9);
        }
    }
}

/// Tunnels inside an IP packet: its protocol, and what stands in front of the inner packet (or frame).
#[rustfmt::skip]
const TUNNELS: &[(u8, &str, bool)] = &[
    (4, "", false), (41, "", true),
    (47, "0000 0800", false), (47, "b000 86dd 0000 0000 00000001 00000002", true),
    (47, "0000 6558 020202020202 040404040404 0800", false),
    (47, "1000 88be 00000001 1001000000000000 020202020202 040404040404 86dd", true),
    (47, "0000 88be 020202020202 040404040404 0800", false),
    (47, "1000 22eb 00000001 200100000000000000000001 0000000000000000 020202020202 040404040404 0800", false),
    (47, "3081 880b 0042 0001 00000001 00000002 ff03 0021", false),
    (47, "3001 880b 0042 0001 00000001 57", true),
    (47, "0000 8847 000101ff", false),
    (97, "3000 020202020202 040404040404 0800", false),
    (137, "000101ff", true), (143, "020202020202 040404040404 86dd", true),
];

#[test]
fn every_tunnel_shows_the_innermost_segment() {
    for (protocol, header, v6) in TUNNELS {
        let inner = [hex(header), packet(*v6, 3)].concat();
        finds(1, &ethernet(0x0800, &carrying(*protocol, &inner)), *v6, 3);
    }
    // Over UDP.
    for (ports, header, v6) in [
        ((5, 4789), "0800 0000 000001 00 020202020202 040404040404 0800", false),
        ((5, 8472), "0800 0000 000001 00 020202020202 040404040404 86dd", true),
        ((5, 4790), "0c00 0001 000001 00", false),
        ((5, 6081), "0100 6558 000001 00 00000000 020202020202 040404040404 0800", false),
        ((5, 6081), "0000 86dd 000001 00", true),
        ((5, 6635), "000101ff", false),
        ((2152, 2152), "30ff 0042 00000001", false),
        ((2152, 2152), "34ff 0042 00000001 0000 00 85 01 0009 00", true),
        ((1701, 1701), "0002 0001 0001 ff03 0021", false),
        ((1701, 1701), "4a02 0042 0001 0001 0000 0000 0002 0000 0057", true),
        ((5, 3544), "", true),
        ((3544, 5), "0001 00 00 0000000000000000 00 0000 1111 22222222", true),
    ] {
        let inner = [hex(header), packet(v6, 3)].concat();
        finds(1, &ethernet(0x0800, &datagram(ports.0, ports.1, &inner)), v6, 3);
    }
}

#[test]
fn what_is_no_tunnel_on_a_tunnels_port_is_a_datagram() {
    for port in [4789, 6081, 2152, 1701, 3544] {
        let frame = ethernet(0x0800, &datagram(port, port, &[0xc0; 20]));
        let Ok(Passing::Datagram(found)) = whole(1, &frame) else { panic!("{port}") };
        assert_eq!(
            (found.from.port, found.to.port, found.payload, found.length),
            (port, port, &[0xc0; 20][..], 20)
        );
    }
}

#[test]
fn what_is_of_no_use_says_why() {
    let inner = packet(false, 3);
    for (link, frame, why) in [
        (147, inner.clone(), Skipped::UnknownLink),
        (1, ethernet(0x0806, &[0; 28]), Skipped::NotIp),
        (1, ethernet(0x0800, &carrying(50, &[0; 28])), Skipped::Encrypted),
        (1, ethernet(0x0800, &carrying(1, &[8, 0, 0, 0, 0, 0, 0, 0])), Skipped::NotTcp),
        (1, ethernet(0x0800, &carrying(132, &[0; 28])), Skipped::NotTcp),
        (1, ethernet(0x0800, &packet(true, 3)), Skipped::Malformed),
        (1, vec![2; 9], Skipped::Malformed),
        (105, hex("8000 0000 020202020202 040404040404 020202020202 0000"), Skipped::NotIp),
        (105, hex("0841 0000 020202020202 040404040404 020202020202 0000 00000000"), Skipped::Encrypted),
        (105, hex("0801 0000 020202020202 040404040404 020202020202 1100 aaaa03"), Skipped::Fragment),
        (105, hex("8801 0000 020202020202 040404040404 020202020202 0000 8000 aa"), Skipped::Aggregated),
        (127, hex("00000900 02000000 40 0801"), Skipped::Malformed),
    ] {
        assert_eq!(whole(link, &frame), Err(why), "link {link}: {frame:02x?}");
    }
    let deep = (0..30).fold(inner, |inner, _| carrying(4, &inner));
    assert_eq!(whole(101, &deep), Err(Skipped::TooDeep));
}
