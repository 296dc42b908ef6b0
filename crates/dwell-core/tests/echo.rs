//! Echoes out of captures: what is matched, what is counted and not used, and that no bytes are too strange.

use dwell_core::capture::{Captured, LinkType, ReadError, each_packet};
use dwell_core::echo::message::{Answer, probe};
use dwell_core::echo::{Asked, Echo, Exchanges, Tally, join};
use dwell_core::host::salehin2013;
use dwell_core::{BitRate, Finding, Nanos, Quantity};
use etherparse::PacketBuilder;
use proptest::prelude::*;

const HERE: [u8; 4] = [192, 0, 2, 1];
const THERE: [u8; 4] = [192, 0, 2, 2];

type Packets = Vec<(i64, LinkType, Vec<u8>)>;

fn ethernet(from: [u8; 4], to: [u8; 4]) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from, to, 64)
}

fn written(step: etherparse::PacketBuilderStep<etherparse::Icmpv4Header>) -> Vec<u8> {
    let mut bytes = Vec::new();
    step.write(&mut bytes, &[0; 56]).unwrap();
    bytes
}

fn request(sequence: u16) -> Vec<u8> {
    written(ethernet(HERE, THERE).icmpv4_echo_request(7, sequence))
}

fn reply(from: [u8; 4], sequence: u16) -> Vec<u8> {
    written(ethernet(from, HERE).icmpv4_echo_reply(7, sequence))
}

/// Echoes 1 ms apart, that take `gap` ns, on a clock that begins at `start`.
fn echoes(start: i64, gap: i64, sequences: std::ops::Range<u16>) -> Packets {
    let one = |sequence: u16| {
        let at = start + i64::from(sequence) * 1_000_000;
        [(at, LinkType::ETHERNET, request(sequence)), (at + gap, LinkType::ETHERNET, reply(THERE, sequence))]
    };
    sequences.flat_map(one).collect()
}

fn heard(packets: &Packets, asked: Asked) -> (Vec<dwell_core::echo::Exchange>, Tally) {
    let mut exchanges = Exchanges::new(asked);
    for (at, link, bytes) in packets {
        let length = bytes.len() as u32;
        exchanges.hear(&Captured { at: i128::from(*at), link: *link, bytes, length });
    }
    exchanges.finish()
}

#[test]
fn clocks_that_have_nothing_to_do_with_each_other_are_never_compared() {
    // Figures of Table II, D3000 at 10 Mb/s; the host's clock is 50 years off.
    let (tap, _) = heard(&echoes(1_700_000_000_000_000_000, 151_000, 0..20), Asked::Icmp);
    let (host, _) = heard(&echoes(100_000_000_000_000_000, 22_000, 5..30), Asked::Icmp);
    let joined = join(&tap, &host, Some(BitRate::from_mbps(10)));
    assert_eq!((joined.echoes.len(), joined.tap_only, joined.host_only), (15, 5, 10));
    let report = salehin2013::report(&joined.echoes);
    let found = |quantity| report.finding(quantity);
    assert_eq!(found(Quantity::TwoWayPpt), Finding::nanos(41_000.0, 41_000.0, 41_000.0));
    assert_eq!(found(Quantity::PptAverage), Finding::nanos(20_500.0, 20_500.0, 20_500.0));
    assert!(matches!(found(Quantity::PptUp), Finding::Unmeasurable { .. }));
}

#[test]
fn a_tap_alone_gives_a_bound() {
    let (tap, _) = heard(&echoes(0, 151_000, 0..20), Asked::Icmp);
    let echoes: Vec<Echo> = tap.iter().map(|seen| Echo::at_tap(seen, None)).collect();
    let Finding::Bound { bound, .. } = salehin2013::report(&echoes).finding(Quantity::TwoWayPpt) else {
        panic!("no bound")
    };
    assert_eq!(bound, 151_000.0);
    assert!(matches!(salehin2013::report(&[]).finding(Quantity::TwoWayPpt), Finding::Unmeasurable { .. }));
}

#[test]
fn what_is_in_doubt_is_counted_and_not_used() {
    let mut packets = echoes(0, 50_000, 0..10);
    let ethernet = LinkType::ETHERNET;
    packets.retain(|(_, _, bytes)| {
        *bytes != reply(THERE, 1) && *bytes != reply(THERE, 2) && *bytes != request(5)
    });
    packets.push((2_040_000, ethernet, reply([192, 0, 2, 9], 2)));
    packets.push((3_060_000, ethernet, reply(THERE, 3)));
    packets.push((4_060_000, ethernet, request(4)));
    packets.push((6_000_000, LinkType(105), vec![0; 40]));
    packets.push((-1, ethernet, reply(THERE, 20)));
    packets.push((7, ethernet, request(20)));
    let (seen, tally) = heard(&packets, Asked::Icmp);
    assert_eq!(seen.len() as u64, tally.echoes);
    let Tally { echoes, lost, duplicated, other_host, unasked, backwards, .. } = tally;
    assert_eq!((echoes, lost, other_host, duplicated, unasked, backwards), (5, 1, 1, 2, 1, 1));
    assert_eq!(tally.unknown_link["Wi-Fi"], 1);
    assert_eq!(tally.unused().len(), 6);
}

#[test]
fn the_same_echo_is_known_on_every_link() {
    let frame = request(3);
    let ip = frame[14..].to_vec();
    let links = [(1, 0), (101, 0), (12, 0), (0, 4), (108, 4), (113, 16), (276, 20)];
    let keys = links.map(|(link, header)| {
        let behind = |ip: &[u8]| match link {
            1 => frame[..14].iter().chain(ip).copied().collect::<Vec<u8>>(),
            _ => std::iter::repeat_n(0, header).chain(ip.iter().copied()).collect(),
        };
        let packets =
            vec![(0, LinkType(link), behind(&ip)), (9, LinkType(link), behind(&reply(THERE, 3)[14..]))];
        let (seen, _) = heard(&packets, Asked::Icmp);
        assert_eq!(seen.len(), 1, "link type {link}");
        (seen[0].key, seen[0].size)
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
    // 84 bytes of IP, 26 of Ethernet: the paper's 110.
    assert_eq!(keys[0].1.0, 110);
}

fn udp(to_host: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (step, ports) =
        if to_host { (ethernet(HERE, THERE), (5, 7)) } else { (ethernet(THERE, HERE), (7, 5)) };
    step.udp(ports.0, ports.1).write(&mut bytes, payload).unwrap();
    bytes
}

#[test]
fn answers_tell_the_hosts_times_and_their_departures_later() {
    let answer =
        |number, earlier| Answer { number, arrived: Some(Nanos(10)), t3: Nanos(50), t5: Nanos(70), earlier };
    let packets: Packets = vec![
        (100, LinkType::ETHERNET, udp(true, &probe(1))),
        (300, LinkType::ETHERNET, udp(false, &answer(1, None).write())),
        (400, LinkType::ETHERNET, udp(true, &probe(2))),
        (600, LinkType::ETHERNET, udp(false, &answer(2, Some((1, Nanos(95)))).write())),
    ];
    let (seen, _) = heard(&packets, Asked::Udp { port: 7 });
    let echoes: Vec<Echo> = seen.iter().map(|seen| Echo::at_tap(seen, None)).collect();
    assert_eq!(echoes[0].halves(), Some((Nanos(40), Nanos(25))));
    assert_eq!((echoes[1].halves(), echoes[1].two_way()), (None, Some(Nanos(180))));
    // To another port it is somebody else's traffic.
    assert_eq!(heard(&packets, Asked::Udp { port: 8 }).1.echoes, 0);
}

fn tcp(to_host: bool, sequence: u32, acknowledged: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (step, ports) =
        if to_host { (ethernet(HERE, THERE), (5, 7)) } else { (ethernet(THERE, HERE), (7, 5)) };
    step.tcp(ports.0, ports.1, sequence, 1000).ack(acknowledged).write(&mut bytes, payload).unwrap();
    bytes
}

#[test]
fn a_segment_answers_the_one_that_it_acknowledges() {
    let ethernet = LinkType::ETHERNET;
    let mut packets: Packets = vec![
        (0, ethernet, tcp(true, 100, 1, b"question")),
        // The bare acknowledgement is no answer.
        (10, ethernet, tcp(false, 1, 108, b"")),
        (50, ethernet, tcp(false, 1, 108, b"answer")),
        (51, ethernet, tcp(false, 7, 108, b"and more")),
    ];
    let (seen, tally) = heard(&packets, Asked::Tcp { port: 7 });
    assert_eq!((seen.len(), seen[0].reply - seen[0].request, tally.duplicated), (1, Nanos(50), 0));
    // Two that wait at once: one acknowledgement covers both.
    packets.push((100, ethernet, tcp(true, 108, 15, b"one")));
    packets.push((110, ethernet, tcp(true, 111, 15, b"two")));
    packets.push((150, ethernet, tcp(false, 15, 114, b"both")));
    let (seen, tally) = heard(&packets, Asked::Tcp { port: 7 });
    assert_eq!((seen.len(), tally.crowded), (1, 2));
}

proptest! {
    #[test]
    fn no_frame_is_too_strange(frames in prop::collection::vec((0i32..300, prop::collection::vec(any::<u8>(), 0..120)), 0..20)) {
        for asked in [Asked::Icmp, Asked::Udp { port: 7 }, Asked::Tcp { port: 7 }] {
            let packets: Packets = frames.iter().map(|(link, bytes)| (5, LinkType(*link), bytes.clone())).collect();
            let (seen, tally) = heard(&packets, asked);
            prop_assert_eq!((seen.len() as u64, tally.packets), (tally.echoes, frames.len() as u64));
        }
    }

    #[test]
    fn a_cut_or_damaged_frame_is_refused_or_read(cut in 0usize..100, at in 0usize..98, with: u8) {
        let mut bytes = request(1);
        bytes[at % 98] = with;
        bytes.truncate(cut);
        heard(&vec![(0, LinkType::ETHERNET, bytes)], Asked::Icmp);
    }

    #[test]
    fn no_file_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut exchanges = Exchanges::new(Asked::Icmp);
        let _ = each_packet(&bytes[..], |packet| {
            exchanges.hear(&packet);
            Ok::<(), ReadError>(())
        });
    }
}
