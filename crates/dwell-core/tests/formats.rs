//! The formats of captures: one packet as each of them has it, and each of them cut off anywhere.

use dwell_core::capture::{LinkType, ReadError, Reader};
use proptest::prelude::*;

/// A packet as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    at: i128,
    link: LinkType,
    bytes: Vec<u8>,
    length: u32,
}

/// Gives a byte at a time, as a slow pipe does.
struct Bytes<'a>(&'a [u8]);

impl std::io::Read for Bytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let one = into.len().min(1);
        self.0.read(&mut into[..one])
    }
}

fn read(file: impl std::io::Read) -> (Vec<Read>, Result<(), ReadError>) {
    let mut packets = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (packets, Err(error)),
    };
    loop {
        match reader.advance() {
            Ok(None) => return (packets, Ok(())),
            Err(error) => return (packets, Err(error)),
            Ok(Some(at)) => {
                let packet = reader.packet();
                assert_eq!(at, packet.at);
                let (link, bytes, length) = (packet.link, packet.bytes.to_vec(), packet.length);
                packets.push(Read { at, link, bytes, length });
            }
        }
    }
}

fn words(order: fn(u32) -> [u8; 4], words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| order(*word)).collect()
}

const BE: fn(u32) -> [u8; 4] = u32::to_be_bytes;
const LE: fn(u32) -> [u8; 4] = u32::to_le_bytes;

/// Two packets of 6 and 5 bytes, of which the first was longer on its link.
fn expected(micros: bool, link: i32) -> Vec<Read> {
    let at = |nanos: i128| 1_700_000_000_000_000_000 + if micros { nanos / 1_000 * 1_000 } else { nanos };
    let link = LinkType(link);
    vec![
        Read { at: at(123_456_789), link, bytes: b"packet".to_vec(), length: 1514 },
        Read { at: at(999_999_999), link, bytes: b"other".to_vec(), length: 5 },
    ]
}

fn pcap(order: fn(u32) -> [u8; 4], magic: u32, version: [u16; 2], swapped: bool, more: &[u8]) -> Vec<u8> {
    let half = |half: u16| {
        let [a, b, c, d] = order(u32::from(half));
        if order(1) == BE(1) { [c, d] } else { [a, b] }
    };
    let unit = if magic == 0xa1b2_3c4d { 1 } else { 1_000 };
    let mut file = [&order(magic)[..], &half(version[0]), &half(version[1])].concat();
    file.extend(words(order, &[0, 0, 65_535, 0xf000_0001]));
    for (nanos, bytes, length) in [(123_456_789, &b"packet"[..], 1514), (999_999_999, b"other", 5)] {
        let kept = bytes.len() as u32;
        let (first, second) = if swapped { (length, kept) } else { (kept, length) };
        file.extend(words(order, &[1_700_000_000, nanos / unit, first, second]));
        file.extend(more);
        file.extend(bytes);
    }
    file
}

fn snoop(link: u32) -> Vec<u8> {
    let mut file = [b"snoop\0\0\0", &words(BE, &[2, link])[..]].concat();
    for (micros, bytes, length) in [(123_456, &b"packet"[..], 1514), (999_999, b"other", 5)] {
        file.extend(words(BE, &[length, bytes.len() as u32, 32, 0, 1_700_000_000, micros]));
        file.extend(bytes);
        file.resize(file.len().next_multiple_of(8), 0);
    }
    file
}

fn block(order: fn(u32) -> [u8; 4], kind: u32, body: &[u8]) -> Vec<u8> {
    let length = order(body.len().next_multiple_of(4) as u32 + 12);
    let mut bytes = [&order(kind)[..], &length, body].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    [bytes, length.to_vec()].concat()
}

/// Enhanced packets of an interface that counts from 1,000 s on in nanoseconds, or obsolete ones.
fn pcapng(order: fn(u32) -> [u8; 4], obsolete: bool) -> Vec<u8> {
    let little = order(1) == LE(1);
    let half = |half: u16| if little { half.to_le_bytes() } else { half.to_be_bytes() };
    let long = |long: i64| if little { long.to_le_bytes() } else { long.to_be_bytes() };
    let mut file =
        block(order, 0x0a0d_0d0a, &[&order(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat());
    // A name, resolution, offset, end.
    let options = [
        &half(2)[..],
        &half(3),
        b"eth\0",
        &half(9),
        &half(1),
        &[9, 0, 0, 0],
        &half(14),
        &half(8),
        &long(1_000),
        &[0; 4],
    ];
    let interface = [&half(1)[..], &half(0), &order(0), &options.concat()].concat();
    file.extend(block(order, 1, &interface));
    file.extend(block(order, 5, &[0; 12]));
    for (nanos, bytes, length) in [(123_456_789u64, &b"packet"[..], 1514), (999_999_999, b"other", 5)] {
        let units = 1_699_999_000_000_000_000 + nanos;
        let interface = if obsolete { [half(0), half(9)].concat() } else { order(0).to_vec() };
        let rest = words(order, &[(units >> 32) as u32, units as u32, bytes.len() as u32, length]);
        file.extend(block(order, if obsolete { 2 } else { 6 }, &[&interface[..], &rest, bytes].concat()));
    }
    file
}

fn erf() -> Vec<u8> {
    let mut file = Vec::new();
    for (nanos, bytes) in [(123_456_789u64, &b"packet"[..]), (999_999_999, b"other")] {
        let time = 1_700_000_000 << 32 | ((nanos << 32) / 1_000_000_000 + 1);
        let length = (16 + 2 + bytes.len()) as u16;
        file.extend(time.to_le_bytes());
        file.extend([2, 4]);
        file.extend(length.to_be_bytes());
        file.extend([0, 0, 0, 60, 0, 0]);
        file.extend(bytes);
    }
    file
}

/// Each file with what it holds.
fn all() -> Vec<(Vec<u8>, Vec<Read>)> {
    let mut files = Vec::new();
    for order in [BE, LE] {
        files.push((pcap(order, 0xa1b2_c3d4, [2, 4], false, &[]), expected(true, 1)));
        files.push((pcap(order, 0xa1b2_3c4d, [2, 4], false, &[]), expected(false, 1)));
        files.push((pcap(order, 0xa1b2_cd34, [2, 4], false, &[9; 8]), expected(true, 1)));
        files.push((pcap(order, 0xa1b2_c3d4, [2, 2], true, &[]), expected(true, 1)));
        files.push((pcapng(order, false), expected(false, 1)));
        files.push((pcapng(order, true), expected(false, 1)));
    }
    files.push((snoop(4), expected(true, 1)));
    files.push((snoop(8), expected(true, 10)));
    files.push((snoop(77), expected(true, -78)));
    files
}

#[test]
fn each_format_holds_the_same_packets() {
    for (file, wanted) in all() {
        let (packets, end) = read(&file[..]);
        assert!(end.is_ok(), "{end:?}");
        assert_eq!(packets, wanted);
    }
    let (packets, end) = read(&erf()[..]);
    assert!(end.is_ok(), "{end:?}");
    let wanted = expected(false, 197);
    assert_eq!(packets.len(), wanted.len());
    for (found, wanted) in packets.iter().zip(wanted) {
        // A unit of 2^-32 s is a quarter of a nanosecond.
        assert!((found.at - wanted.at).abs() <= 1, "{} {}", found.at, wanted.at);
        assert_eq!((found.link, &found.bytes[18..], found.length), (wanted.link, &wanted.bytes[..], 78));
    }
}

/// Gives a byte at a time.
struct Bytewise<'a>(&'a [u8]);

impl std::io::Read for Bytewise<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        std::io::Read::read(&mut self.0, &mut into[..1])
    }
}

#[test]
fn the_format_does_not_depend_on_how_the_bytes_come() {
    let no_capture =
        |end: Result<(), ReadError>| assert!(matches!(end, Err(ReadError::NoCapture)), "{end:?}");
    // One record as long as the longest header, and something behind it: that may be anything.
    let one = &erf()[..24];
    let more = [one, &[0; 40]].concat();
    no_capture(read(&more[..]).1);
    no_capture(read(Bytewise(&more)).1);
    for (packets, end) in [read(one), read(Bytewise(one))] {
        assert!(end.is_ok() && packets.len() == 1, "{end:?}");
    }
}

#[test]
fn what_is_cut_off_anywhere_is_read_up_to_there_and_said_to_be_cut() {
    for (file, wanted) in all() {
        for end in 1..file.len() {
            let (packets, ended) = read(&file[..end]);
            assert_eq!(packets, wanted[..packets.len()], "cut at {end}");
            match ended {
                Err(ReadError::CutOff { whole }) => assert_eq!(whole, packets.len()),
                Err(ReadError::NoCapture) => assert!(end < 24 && packets.is_empty()),
                // At the end of a record: nothing tells that there were more.
                Ok(()) => assert_eq!(read(&file[..end]).0, packets),
                other => panic!("cut at {end}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_follows_the_last_packet_is_the_same_however_it_comes() {
    for (file, packets) in all() {
        for more in 0..40 {
            let file = [&file[..], &vec![0xff; more]].concat();
            let ((whole, end), (slow, slow_end)) = (read(&file[..]), read(Bytes(&file)));
            assert_eq!((&whole, &slow), (&packets, &packets));
            assert_eq!(format!("{end:?}"), format!("{slow_end:?}"), "{more} bytes behind them");
        }
    }
}

#[test]
fn the_coarsest_unit_of_times_is_known() {
    let interface = |resolution: u8| {
        let options =
            [&9u16.to_le_bytes()[..], &1u16.to_le_bytes(), &[resolution, 0, 0, 0], &[0; 4]].concat();
        block(LE, 1, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], &options].concat())
    };
    let section = block(LE, 0x0a0d_0d0a, &[&LE(0x1a2b_3c4d)[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    let coarsest = |file: Vec<u8>| {
        let mut reader = Reader::new(&file[..]).expect("a capture");
        while reader.advance().expect("whole").is_some() {}
        reader.coarsest().0
    };
    // Powers of ten, and of two, rounded up; of several interfaces and sections the coarsest.
    for (resolutions, unit) in
        [(&[9, 6][..], 1_000), (&[6, 3, 9], 1_000_000), (&[0x8a], 976_563), (&[12], 1), (&[0], 1_000_000_000)]
    {
        let interfaces: Vec<u8> = resolutions.iter().flat_map(|one| interface(*one)).collect();
        assert_eq!(coarsest([&section[..], &interfaces, &pcapng(LE, false)].concat()), unit);
    }
    assert_eq!((coarsest(pcapng(LE, false)), coarsest(snoop(4))), (1, 1_000));
}

#[test]
fn packets_without_times_are_passed_over_if_one_likes() {
    let mut file = pcapng(LE, false);
    file.extend(block(LE, 3, &[6, 0, 0, 0, 1, 2, 3, 4, 5, 6]));
    let again = pcapng(LE, false);
    file.extend(&again);
    let mut reader = Reader::new(&file[..]).expect("a capture");
    let (mut packets, mut timeless) = (0, Vec::new());
    loop {
        match reader.advance() {
            Ok(Some(_)) => packets += 1,
            Ok(None) => break,
            Err(ReadError::Timeless { number }) => timeless.push(number),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((packets, timeless, reader.whole()), (4, vec![3], 5));
}

/// Whoever writes a million microseconds or more counts in something else.
#[test]
fn a_fraction_of_a_second_is_less_than_one() {
    let first_fraction = |mut file: Vec<u8>, place: usize, fraction: [u8; 4]| {
        file[place..place + 4].copy_from_slice(&fraction);
        let mut reader = Reader::new(&file[..]).expect("a capture");
        let first = reader.advance();
        let second = reader.advance().expect("whole").expect("another");
        assert_eq!(second, expected(true, 1)[1].at);
        first.map(|at| at.is_some())
    };
    let micros = pcap(LE, 0xa1b2_c3d4, [2, 4], false, &[]);
    for (file, place, order) in [(micros, 28, LE as fn(u32) -> [u8; 4]), (snoop(4), 36, BE)] {
        assert!(first_fraction(file.clone(), place, order(999_999)).expect("a time"));
        let refused = first_fraction(file, place, order(1_000_000));
        assert!(matches!(refused, Err(ReadError::Timeless { number: 1 })), "{refused:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(file in 0usize..16, damage in prop::collection::vec((0usize..400, any::<u8>()), 0..6)) {
        let mut files = all();
        files.push((erf(), Vec::new()));
        let mut bytes = files[file % files.len()].0.clone();
        damage.into_iter().for_each(|(at, with)| { if let Some(byte) = bytes.get_mut(at) { *byte = with } });
        let _ = read(&bytes[..]);
    }
}
