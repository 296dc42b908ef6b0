//! Pairs of probes out of captures: what is matched, what is counted and not used, what comes of them.

use dwell_core::capture::{Captured, LinkType};
use dwell_core::fsd::{Crossed, Crossing, Marks, Pair, Probe, Tally, Tap, beyond_fastest, cross, report};
use dwell_core::{Bytes, Finding, Nanos, Quantity, Side};
use etherparse::PacketBuilder;
use proptest::prelude::*;

const FAR: [u8; 4] = [192, 0, 2, 2];
const ROUTER: [u8; 4] = [198, 51, 100, 1];
const HOP: u8 = 3;

fn marks(sequence: u16) -> Marks {
    Marks { source: FAR.into(), destination: FAR.into(), id: 7, sequence }
}

fn probe(sequence: u16, hops: u8) -> Vec<u8> {
    Probe { marks: marks(sequence), hops, length: 576 }.write().unwrap()
}

/// What `router` makes of the probe, of which it quotes so many bytes.
fn exceeded(router: [u8; 4], sequence: u16, quoted: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let quoted = &probe(sequence, 1)[..quoted];
    PacketBuilder::ipv4(router, FAR, 60).icmpv4_raw(11, 0, [0; 4]).write(&mut bytes, quoted).unwrap();
    bytes
}

type Packets = Vec<(i64, Vec<u8>)>;

/// As two taps hear pairs of these numbers, 10 ms from probe to probe: the far one's clock begins at `start`, direct
/// probes take 1 ms, and messages 250 us more.
fn taps(start: i64, pairs: std::ops::Range<u16>) -> (Packets, Packets) {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for pair in pairs {
        let (direct, limited) = (2 * pair, 2 * pair + 1);
        let left = i64::from(pair) * 20_000_000;
        near.push((left, probe(direct, 64)));
        near.push((left + 10_000_000, probe(limited, HOP)));
        far.push((start + left + 1_000_000, probe(direct, 61)));
        far.push((start + left + 11_250_000, exceeded(ROUTER, limited, 548)));
    }
    (near, far)
}

fn heard(packets: &Packets, link: i32) -> Tap {
    let mut tap = Tap::default();
    for (at, bytes) in packets {
        let header = match link {
            1 => [[2; 12].as_slice(), &[8, 0]].concat(),
            113 => vec![0; 16],
            _ => Vec::new(),
        };
        let bytes = [header.as_slice(), bytes].concat();
        let length = bytes.len() as u32;
        tap.hear(&Captured { at: i128::from(*at), link: LinkType(link), bytes: &bytes, length });
    }
    tap
}

fn crossed(near: &Packets, far: &Packets) -> Crossed {
    let crossed = cross(&heard(near, 1), &heard(far, 113), HOP);
    let Tally { asked, pairs, half, other_hop, duplicated, not_expired, .. } = crossed.tally;
    let Tally { lost, unanswered, direct_lost, other_router, .. } = crossed.tally;
    let told =
        pairs + half + other_hop + duplicated + not_expired + lost + unanswered + direct_lost + other_router;
    assert_eq!((told, pairs), (asked, crossed.pairs.len() as u64), "each pair is told once");
    crossed
}

#[test]
fn clocks_that_have_nothing_to_do_with_each_other_are_never_compared() {
    let (near, far) = taps(1_700_000_000_000_000_000, 0..30);
    let crossed = crossed(&near, &far);
    assert_eq!((crossed.pairs.len(), crossed.router), (30, Some(ROUTER.into())));
    assert!(crossed.tally.unused().is_empty());
    let size = Bytes(576 + 26);
    assert!(crossed.pairs.iter().all(|pair| {
        [pair.direct, pair.limited].iter().all(|one| (one.sent, one.received) == (size, size))
    }));
    let report = report(&crossed.pairs);
    let Finding::Value { value, low, high, .. } = report.finding(Quantity::IcmpGeneration) else {
        panic!("{report:?}")
    };
    assert!([value, low, high].iter().all(|time| (time - 250_000.0).abs() < 1.0), "{report:?}");
}

#[test]
fn what_is_in_doubt_is_counted_and_not_used() {
    let (mut near, mut far) = taps(0, 0..12);
    let (only_near, only_far) = (taps(0, 20..21).0, taps(0, 30..31).1);
    near.extend(only_near);
    far.extend(only_far);
    far.retain(|(_, bytes)| {
        let gone = [exceeded(ROUTER, 3, 548), probe(4, 61), exceeded(ROUTER, 7, 548)];
        !gone.contains(bytes)
    });
    // Pair 3 by another router, that quotes as little as it may; pair 4 twice; pair 5 reaches the destination.
    far.push((7, exceeded([198, 51, 100, 9], 7, 28)));
    far.push((9, exceeded(ROUTER, 9, 548)));
    far.push((11, probe(11, 1)));
    // Pair 6 towards another hop, pair 7 without its direct probe, pair 8's direct probe seen twice.
    near.retain(|(_, bytes)| ![probe(13, HOP), probe(14, 64)].contains(bytes));
    near.push((13, probe(13, HOP + 1)));
    near.push((16, probe(16, 64)));
    let crossed = crossed(&near, &far);
    let Tally { unanswered, direct_lost, other_router, duplicated, not_expired, .. } = crossed.tally;
    assert_eq!((unanswered, direct_lost, other_router, duplicated, not_expired), (1, 1, 1, 2, 1));
    let Tally { other_hop, half, lost, foreign, pairs, asked, .. } = crossed.tally;
    assert_eq!((other_hop, half, lost, foreign, pairs, asked), (1, 1, 1, 1, 4, 13));
    assert_eq!(crossed.tally.unused().len(), 9);
    assert_eq!(crossed.router, Some(ROUTER.into()));
}

#[test]
fn links_that_cannot_be_read_and_others_pings_are_told_apart() {
    let (near, far) = taps(0, 0..8);
    let crossed = cross(&heard(&near, 1), &heard(&far, 105), HOP);
    assert_eq!((crossed.tally.lost, crossed.tally.unknown_link["Wi-Fi"], crossed.router), (8, 16, None));
    // Replies of a host to itself, of which none is marked as a probe.
    let mut ping = Vec::new();
    PacketBuilder::ipv4(FAR, FAR, HOP).icmpv4_echo_reply(7, 1).write(&mut ping, &[0; 56]).unwrap();
    let crossed = cross(&heard(&vec![(0, ping)], 1), &heard(&far, 101), HOP);
    assert_eq!((crossed.tally.asked, crossed.tally.foreign), (0, 8));
}

fn crossing(left: f64, delay: f64, size: u64, received: u64) -> Crossing {
    let (left, arrived) = (Nanos::from_f64(left), Nanos::from_f64(left + delay));
    Crossing { left, arrived, sent: Bytes(size), received: Bytes(received) }
}

/// Pairs half a second apart, on whose way a queue of `queue` ns at most stands; the far clock is `offset` off, and gains
/// `ppm`. The kinds take turns in leaving first.
fn pairs(count: usize, delay: f64, queue: f64, offset: f64, ppm: f64, sizes: [u64; 3]) -> Vec<Pair> {
    let mut state = 0x9e37_79b9_u64;
    let mut waits = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Queues are mostly short.
        queue * ((state >> 11) as f64 / (1u64 << 53) as f64).powi(4)
    };
    let [direct, limited, message] = sizes;
    (0..count)
        .map(|pair| {
            let (first, second) = (pair as f64 * 1e9, pair as f64 * 1e9 + 0.5e9);
            let (d, l) = if pair % 2 == 0 { (first, second) } else { (second, first) };
            let apart = |at: f64, delay: f64, waits: f64| offset + at * ppm / 1e6 + 2e6 + delay + waits;
            Pair {
                direct: crossing(d, apart(d, 0.0, waits()), direct, direct),
                limited: crossing(l, apart(l, delay, waits()), limited, message),
            }
        })
        .collect()
}

#[test]
fn sizes_that_do_not_cancel_leave_a_bound() {
    let finding =
        |sizes| report(&pairs(40, 80_000.0, 3_000.0, 1e12, 20.0, sizes)).finding(Quantity::IcmpGeneration);
    assert!(matches!(finding([602, 602, 602]), Finding::Value { .. }));
    let Finding::Bound { bound, side: Side::Upper, .. } = finding([82, 82, 110]) else { panic!() };
    assert!((80_000.0..90_000.0).contains(&bound), "{bound}");
    let Finding::Bound { bound, side: Side::Lower, .. } = finding([602, 602, 82]) else { panic!() };
    assert!((70_000.0..80_000.0).contains(&bound), "{bound}");
    assert!(matches!(finding([82, 110, 60]), Finding::Unmeasurable { .. }));
}

#[test]
fn too_few_pairs_or_a_clock_that_was_set_are_no_finding() {
    for count in 0..6 {
        let report = report(&pairs(count, 1e5, 0.0, 0.0, 0.0, [602; 3]));
        let Finding::Unmeasurable { reason } = report.finding(Quantity::IcmpGeneration) else { panic!() };
        assert_eq!(reason, format!("{count} pairs, and an interval takes 6"));
    }
    let report = report(&pairs(40, 1e5, 1e3, 0.0, 5_000.0, [602; 3]));
    let Finding::Unmeasurable { reason } = report.finding(Quantity::IcmpGeneration) else { panic!() };
    assert!(reason.contains("one clock gains 5000 ppm"), "{reason}");
    assert!(beyond_fastest(&[]).is_none());
}

proptest! {
    #[test]
    fn the_delay_is_found_under_any_clocks(
        delay in 0.0..5e6f64, queue in 0.0..1e6f64, offset in -1e17..1e17f64, ppm in -200.0..200.0f64,
    ) {
        let pairs = pairs(200, delay, queue, offset, ppm, [602; 3]);
        let report = report(&pairs);
        let Finding::Value { value, low, high, .. } = report.finding(Quantity::IcmpGeneration) else {
            panic!("{report:?}")
        };
        // Of 200 pairs the median is nearer than a fifth of the longest queue, by far.
        prop_assert!((value - delay).abs() < queue / 5.0 + 100.0, "{value} ({low} to {high}), in truth {delay}");
        let Finding::Value { value: skew, .. } = report.finding(Quantity::ClockSkew) else { panic!() };
        prop_assert!((skew - ppm).abs() < queue / 1e6 + 0.01, "{skew}, in truth {ppm}");
        let [direct, limited] = beyond_fastest(&pairs).unwrap();
        prop_assert!(direct.iter().all(|time| *time >= 0.0) && limited.len() == 200);
    }

    #[test]
    fn no_frame_is_too_strange(
        frames in prop::collection::vec((0i32..300, any::<i64>(), prop::collection::vec(any::<u8>(), 0..120)), 0..20),
        cut in 0usize..600,
    ) {
        let mut tap = Tap::default();
        for (link, at, bytes) in &frames {
            tap.hear(&Captured { at: i128::from(*at), link: LinkType(*link), bytes, length: bytes.len() as u32 });
        }
        for bytes in [probe(1, HOP), exceeded(ROUTER, 1, 548)] {
            let bytes = &bytes[..cut.min(bytes.len())];
            tap.hear(&Captured { at: i128::MAX, link: LinkType(101), bytes, length: u32::MAX });
            tap.hear(&Captured { at: 0, link: LinkType(101), bytes, length: u32::MAX });
        }
        let crossed = cross(&tap, &tap, HOP);
        prop_assert_eq!(crossed.tally.packets, [frames.len() as u64 + 4; 2]);
    }

    #[test]
    fn no_times_are_too_strange(times in prop::collection::vec(any::<[i64; 4]>(), 0..20)) {
        let one = |left, arrived| {
            Crossing { left: Nanos(left), arrived: Nanos(arrived), sent: Bytes(60), received: Bytes(60) }
        };
        let pairs: Vec<Pair> =
            times.iter().map(|[a, b, c, d]| Pair { direct: one(*a, *b), limited: one(*c, *d) }).collect();
        let _ = (report(&pairs), beyond_fastest(&pairs));
    }
}
