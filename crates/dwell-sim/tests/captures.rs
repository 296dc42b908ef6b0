//! Captures as traffic: what is read of each format, and what is refused.

mod recorded;

use dwell_core::capture::ReadError;
use dwell_core::{Bytes, Nanos};
use dwell_sim::{CaptureError, CrossKind, Framing, Scenario, Trace};
use proptest::prelude::*;
use recorded::{block, pcap, pcap_header};
use std::sync::Arc;

fn read(bytes: &[u8]) -> Result<Trace, CaptureError> {
    Trace::read(bytes)
}

/// Times since the first packet, and sizes.
fn packets(bytes: &[u8]) -> Vec<(i64, u64)> {
    let trace = read(bytes).unwrap();
    (0..trace.packets()).map(|index| trace.packet(index)).map(|(at, size)| (at.0, size.0)).collect()
}

#[track_caller]
fn refused(bytes: &[u8], says: &str) {
    let message = read(bytes).expect_err("must be refused").to_string();
    assert!(message.contains(says), "{message} does not say {says}");
}

/// A record of a pcap file with the fields in either order of bytes.
fn record(big_endian: bool, seconds: u32, fraction: u32, length: u32) -> Vec<u8> {
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    [word(seconds), word(fraction), word(0), word(length)].concat()
}

/// A section header and one interface with options.
fn pcapng(big_endian: bool, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let half = |value: u16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let mut interface = [&half(link)[..], &half(0), &word(0)].concat();
    for (code, value) in options {
        interface.extend(half(*code));
        interface.extend(half(value.len() as u16));
        interface.extend(*value);
        interface.resize(interface.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        interface.extend([0; 4]);
    }
    [block(big_endian, 0x0a0d_0d0a, &section), block(big_endian, 1, &interface)].concat()
}

/// An enhanced packet block without data.
fn enhanced(big_endian: bool, interface: u32, units: u64, length: u32) -> Vec<u8> {
    let words = [interface, (units >> 32) as u32, units as u32, 0, length];
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    block(big_endian, 6, &words.map(word).concat())
}

#[test]
fn pcap_of_both_orders_and_resolutions() {
    assert_eq!(packets(&pcap(&[(1_999_999_999, 60), (2_000_000_499, 1514)])), [(0, 72), (500, 1526)]);
    let micros =
        [pcap_header(0xa1b2_c3d4, 1), record(false, 7, 999_999, 60), record(false, 8, 1, 61)].concat();
    assert_eq!(packets(&micros), [(0, 72), (2_000, 73)]);
    let mut swapped = 0xa1b2_3c4du32.to_be_bytes().to_vec();
    swapped.extend([0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 1]);
    let swapped = [swapped, record(true, 7, 5, 60), record(true, 7, 9, 1514)].concat();
    assert_eq!(packets(&swapped), [(0, 72), (4, 1526)]);
}

#[test]
fn pcapng_of_both_orders_with_its_resolutions_and_offsets() {
    for big_endian in [false, true] {
        let with = |options: &[(u16, &[u8])], units: [u64; 2]| {
            let file = [
                pcapng(big_endian, 1, options),
                enhanced(big_endian, 0, units[0], 60),
                enhanced(big_endian, 0, units[1], 1514),
            ];
            packets(&file.concat())
        };
        // Without a word microseconds, in 64 bits of which each half has its field.
        let late = (1u64 << 40) - 1;
        assert_eq!(with(&[], [late, late + 3]), [(0, 72), (3_000, 1526)]);
        assert_eq!(with(&[(9, &[9])], [late, late + 3]), [(0, 72), (3, 1526)]);
        // Powers of two: 2^-10 s.
        assert_eq!(with(&[(9, &[0x8a])], [1 << 20, (1 << 20) + 512]), [(0, 72), (500_000_000, 1526)]);
    }
    // Two interfaces: the second counts from a second later, in nanoseconds.
    for big_endian in [false, true] {
        let offset = if big_endian { 1i64.to_be_bytes() } else { 1i64.to_le_bytes() };
        let second = pcapng(big_endian, 1, &[(9, &[9]), (14, &offset)]);
        let header = block(big_endian, 0x0a0d_0d0a, &[0; 16]).len();
        let file = [
            pcapng(big_endian, 1, &[]),
            second[header..].to_vec(),
            enhanced(big_endian, 0, 1_000_000, 60),
            enhanced(big_endian, 1, 7, 60),
            enhanced(big_endian, 0, 1_000_001, 60),
        ];
        assert_eq!(packets(&file.concat()), [(0, 72), (7, 72), (1_000, 72)]);
    }
    // A new section numbers its interfaces anew, and its order of bytes is its own.
    let file = [
        pcapng(false, 1, &[(9, &[9])]),
        enhanced(false, 0, 10, 60),
        pcapng(true, 101, &[]),
        enhanced(true, 0, 1, 60),
    ];
    assert_eq!(packets(&file.concat()), [(0, 72), (990, 86)]);
}

#[test]
fn the_seeds_of_the_fuzz_target_are_captures() {
    let expected = [(0, 72), (1_000, 1526), (3_000, 72)];
    assert_eq!(packets(include_bytes!("../../../fuzz/seeds/capture/nanoseconds.pcap")), expected);
    assert_eq!(packets(include_bytes!("../../../fuzz/seeds/capture/one-interface.pcapng")), expected);
}

#[test]
fn sizes_are_those_of_an_ethernet_wire() {
    // An IP packet of 1500 B, as each link's captures tell its length. Of an unknown link only the length counts.
    for (link, length) in
        [(1, 1514), (101, 1500), (0, 1504), (113, 1516), (276, 1520), (0x1000_0001, 1514), (147, 1514)]
    {
        let file = [pcap_header(0xa1b2_c3d4, link), record(false, 1, 0, length), record(false, 1, 1, length)];
        assert_eq!(packets(&file.concat())[0].1, 1526, "link type {link}");
    }
}

#[test]
fn larger_records_than_the_buffer_and_short_reads_are_read() {
    // A record of 3 MB, and a reader that gives a byte at a time for the first of it.
    let mut file = pcap(&[(0, 60), (1_000, 60)]);
    file.extend([0u32, 2_000, 3_000_000, 9_000].map(u32::to_le_bytes).concat());
    file.extend(vec![0; 3_000_000]);
    file.extend(&pcap(&[(3_000, 61)])[24..]);
    let expected = [(0, 72), (1_000, 72), (2_000, 9_012), (3_000, 73)];
    assert_eq!(packets(&file), expected);
    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let most = if self.0.len() > 3_000_000 { 1 } else { 1000 };
            let most = most.min(into.len());
            self.0.read(&mut into[..most])
        }
    }
    assert_eq!(Trace::read(Slow(&file)).unwrap(), read(&file).unwrap());
}

#[test]
fn rounds_and_rates() {
    let trace = read(&pcap(&[(0, 60), (1_000, 1514), (3_000, 60)])).unwrap();
    // Two gaps in 3 us, and a third one of their mean.
    assert_eq!(trace.round(), Nanos(4_500));
    let bits = (84 + 1538 + 84) as f64 * 8.0;
    assert!((trace.bits_per_second(Framing::Ethernet) / (bits / 4.5e-6) - 1.0).abs() < 1e-12);
    assert!(
        (trace.bits_per_second(Framing::None) / ((72 + 1526 + 72) as f64 * 8.0 / 4.5e-6) - 1.0).abs() < 1e-12
    );
    assert_eq!(trace.packet(1), (Nanos(1_000), Bytes(1526)));
}

#[test]
fn captures_that_are_unfit_say_why() {
    refused(&[], "holds no packets");
    refused(&pcap(&[]), "holds no packets");
    refused(&pcapng(false, 1, &[]), "holds no packets");
    refused(&pcap(&[(5, 60)]), "a single packet");
    refused(&pcap(&[(5, 60), (5, 60), (5, 90)]), "all have the same time");
    refused(
        &pcap(&[(5, 60), (2_000_005, 60), (1_000_005, 60)]),
        "packet 3 comes 1.0 ms before the one ahead",
    );
    refused(&pcap(&[(5, 60), (4, 60)]), "packet 2 comes 1 ns before");
    refused(b"name = \"this is no capture\"\n", "is not a capture");
    refused(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "is compressed");
    refused(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "is not a capture");
    let days = [pcap_header(0xa1b2_c3d4, 1), record(false, 0, 0, 60), record(false, 4_000_000_000, 0, 60)];
    refused(&days.concat(), "packet 2 comes more than 100 days");
    let simple = [pcapng(false, 1, &[]), block(false, 3, &[60, 0, 0, 0])];
    refused(&simple.concat(), "packets without times (number 1 is one)");
    let nobody = [pcapng(false, 1, &[]), enhanced(false, 0, 1, 60), enhanced(false, 3, 2, 60)];
    refused(&nobody.concat(), "damaged after 1 whole packets");
    refused(&[pcapng(false, 1, &[(9, &[40])]), enhanced(false, 0, 1, 60)].concat(), "damaged after 0");
    let mut huge = pcap(&[(0, 60), (5, 60)]);
    huge.extend([0u32, 9, u32::MAX, 60].map(u32::to_le_bytes).concat());
    huge.extend(vec![0; 100]);
    let error = read(&huge).unwrap_err();
    assert!(
        matches!(
            error,
            CaptureError::Unread(ReadError::CutOff { whole: 2 } | ReadError::Damaged { whole: 2 })
        ),
        "{error}"
    );
}

#[test]
fn a_capture_cut_off_anywhere_is_refused_or_whole() {
    let gaps = [(0, 60), (1_000, 1514), (2_000, 60), (4_000, 90)];
    let classic = pcap(&gaps);
    let next = [
        pcapng(false, 1, &[(9, &[9])]),
        enhanced(false, 0, 0, 60),
        enhanced(false, 0, 1_000, 1514),
        enhanced(false, 0, 2_000, 60),
    ]
    .concat();
    for file in [classic, next] {
        let mut whole = 0;
        for end in 1..file.len() {
            match read(&file[..end]) {
                Ok(trace) => whole = trace.packets(),
                Err(CaptureError::Unread(ReadError::CutOff { whole: before })) => {
                    assert!(before >= whole, "{end}")
                }
                Err(
                    CaptureError::Unread(ReadError::NoCapture | ReadError::Empty) | CaptureError::OnePacket,
                ) => {}
                Err(other) => panic!("cut at {end}: {other}"),
            }
        }
        assert_eq!(read(&file).unwrap().packets(), whole + 1);
    }
    refused(
        &pcap(&gaps)[..100],
        "cut off after 2 whole packets; cut it at a whole packet (editcap -r FILE NEW 1-2",
    );
}

const LINK: &str = "name = \"x\"\n[[links]]\nrate = \"10 Mb/s\"\n";

/// A folder with a capture at some 2.6 Mb/s and a scenario that names it.
fn folder(more: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("traces")).unwrap();
    let capture = pcap(&[(0, 60), (1_000_000, 1514), (3_000_000, 60)]);
    std::fs::write(folder.path().join("traces/some.pcap"), capture).unwrap();
    let scenario = folder.path().join("some.toml");
    std::fs::write(&scenario, format!("{LINK}{more}")).unwrap();
    (folder, scenario)
}

const FLOW: &str = "[[links.cross]]\nkind = { capture = { file = \"traces/some.pcap\" } }\n";

#[test]
fn scenarios_find_captures_beside_them_and_hold_each_once() {
    let (_folder, file) =
        folder(&format!("{FLOW}{FLOW}load = 0.4\nhops = 2\n[[links]]\nrate = \"10 Mb/s\"\n{FLOW}"));
    let scenario = Scenario::load(&file).unwrap();
    let flows: Vec<_> = scenario.links.iter().flat_map(|link| &link.cross).collect();
    let traces: Vec<_> = flows
        .iter()
        .map(|flow| match &flow.kind {
            CrossKind::Capture(capture) => Arc::clone(capture.trace()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(traces[0].packets(), 3);
    assert!(Arc::ptr_eq(&traces[0], &traces[1]) && Arc::ptr_eq(&traces[0], &traces[2]));
    assert_eq!(scenario.links[0].bits_of(flows[1]), Some(4e6));
    let recorded = scenario.links[0].bits_of(flows[0]).unwrap();
    assert!((recorded - 1706.0 * 8.0 / 4.5e-3).abs() < 1.0, "{recorded}");
    let again = Scenario::parse(&file.display().to_string(), &scenario.to_toml()).unwrap();
    assert_eq!(again, scenario);
    // From links forward to those back.
    assert!(scenario.reverse_links().iter().any(|link| link.cross.iter().any(|flow| flow.hops == 2)));
}

#[test]
fn what_is_wrong_with_a_capture_names_scenario_line_key_and_file() {
    let says = |more: &str, capture: Option<&[u8]>| {
        let (folder, file) = folder(more);
        if let Some(bytes) = capture {
            std::fs::write(folder.path().join("traces/some.pcap"), bytes).unwrap();
        }
        let message = Scenario::load(&file).unwrap_err().to_string();
        message.replace(&folder.path().display().to_string(), "DIR")
    };
    let at = "DIR/some.toml:5: links[0].cross[0].kind.capture.file: ";
    assert_eq!(
        says(FLOW, Some(b"x")),
        format!("{at}traces/some.pcap is not a capture in the format of pcap, pcapng, snoop or ERF")
    );
    assert_eq!(
        says(FLOW, Some(&pcap(&[(0, 60)]))),
        format!("{at}traces/some.pcap holds a single packet, which has no rate")
    );
    let missing = says(&FLOW.replace("some.pcap", "none.pcap"), None);
    assert!(missing.starts_with(&format!("{at}traces/none.pcap cannot be read: ")), "{missing}");
    assert_eq!(says(&FLOW.replace("/some.pcap", ""), None), format!("{at}traces is not a file"));
    let fast = pcap(&[(0, 1514), (1_000_000, 1514)]);
    let expected = "traces/some.pcap was recorded at 12.304 Mb/s, and a link that it passes carries 10 Mb/s; give `load` or \
                    `rate`, and it is replayed more slowly";
    assert_eq!(says(FLOW, Some(&fast)), format!("{at}{expected}"));
    // Together with others it is the link that has too much.
    let both = format!("{FLOW}[[links.cross]]\nkind = \"poisson\"\nload = 0.8\n");
    assert_eq!(
        says(&both, None),
        "DIR/some.toml:2: links[0]: cross traffic asks for 110.3 % of this link; a link carries 100 %"
    );
    let sized = says(&format!("{FLOW}size = \"100 B\"\n"), None);
    assert_eq!(
        sized,
        "DIR/some.toml:4: links[0].cross[0]: a capture has sizes of its own; `size` and `sizes` cannot be given"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_written_is_read(gaps in prop::collection::vec((0..3_000_000_000u64, 14..65_000u32), 2..200)) {
        let mut at = 1_000;
        let sent: Vec<_> = gaps.iter().map(|(gap, length)| { at += gap; (at, *length) }).collect();
        prop_assume!(sent[0].0 < at);
        let expected: Vec<_> =
            sent.iter().map(|(at, length)| ((at - sent[0].0) as i64, u64::from(*length) + 12)).collect();
        prop_assert_eq!(packets(&pcap(&sent)), expected);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        next in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = if next {
            let offset = 3i64.to_le_bytes();
            [
                pcapng(false, 1, &[(9, &[9]), (14, &offset)]),
                enhanced(false, 0, 0, 60),
                block(false, 5, &[0; 12]),
                enhanced(false, 0, 1_000, 1514),
            ]
            .concat()
        } else {
            pcap(&[(0, 60), (1_000, 1514), (2_000, 60)])
        };
        for (at, by) in damage {
            let at = at.index(file.len());
            file[at] = by;
        }
        let _ = read(&file[..=end.index(file.len())]);
        if let Ok(trace) = read(&file) {
            // Whatever it holds can be replayed.
            prop_assert!(trace.packets() >= 2 && trace.round() > Nanos::ZERO);
            prop_assert!(trace.bits_per_second(Framing::Ethernet).is_finite());
        }
    }
}
