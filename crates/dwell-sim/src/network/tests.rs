//! What the engine holds in memory.

use super::Network;
use crate::link::{Balance, Discipline, LinkSpec, QueueLimit, Reordering, Shaper};
use crate::times::Times;
use crate::traffic::{CrossKind, CrossSpec, Offered, ParetoSpec};
use dwell_core::unit::INTER_FRAME_GAP;
use dwell_core::{BitRate, Bytes, Nanos};

fn through(links: usize) -> CrossSpec {
    let offered = Offered::Load(0.6);
    CrossSpec { kind: CrossKind::Poisson, offered, sizes: Bytes(1526).into(), hops: links, priority: 0 }
}

/// Three sections with a flow of cross traffic through all of them; `special` in the middle.
fn path(special: LinkSpec) -> Vec<LinkSpec> {
    let plain = LinkSpec { propagation: Nanos(200_000), ..LinkSpec::new(Some(BitRate::from_mbps(1_000))) };
    let first = LinkSpec { cross: vec![through(3)], ..plain.clone() };
    vec![first, special, plain]
}

fn every_kind() -> Vec<(&'static str, LinkSpec)> {
    let plain = LinkSpec { queue: QueueLimit::Unlimited, ..LinkSpec::new(Some(BitRate::from_mbps(1_000))) };
    let own = CrossSpec { offered: Offered::Load(0.2), ..through(1) };
    let crossed = LinkSpec { cross: vec![own], ..plain.clone() };
    let shaper = Shaper { rate: BitRate::from_mbps(900), burst: Bytes(20_000), peak: None };
    let late = Reordering { share: 0.1, by: Times::Fixed(Nanos(500_000)) };
    vec![
        ("fifo", crossed.clone()),
        ("fair", LinkSpec { discipline: Discipline::Fair, ..crossed.clone() }),
        ("priority", LinkSpec { discipline: Discipline::Priority { probes: 1 }, ..crossed.clone() }),
        ("shaper", LinkSpec { shaper: Some(shaper), ..crossed.clone() }),
        ("disorder", LinkSpec { reordering: Some(late), duplication: 0.1, ..plain.clone() }),
        ("parallel", LinkSpec::bundle(vec![crossed, plain], Balance::Packet)),
    ]
}

fn room(network: &Network) -> usize {
    network.sections.iter().map(super::Section::room).sum()
}

#[test]
fn memory_does_not_grow_with_time() {
    for (kind, special) in every_kind() {
        let mut network = Network::new(&path(special), 1);
        let mut out = Vec::new();
        let mut until = |network: &mut Network, end: i64| {
            for ms in (network.reached / 1_000_000_000 + 1)..=end {
                network.inject(Nanos::from_millis(ms), ms as u64, Bytes(100));
                network.advance(Nanos::from_millis(ms), &mut out);
            }
            out.clear();
        };
        // Long enough for each queue to have been at its longest a few times.
        until(&mut network, 2_000);
        let early = room(&network);
        until(&mut network, 12_000);
        let late = room(&network);
        assert!(network.packet_hops() > 12 * 3 * 45_000, "{kind}: {} packets", network.packet_hops());
        assert!(early < 20_000 && late <= 2 * early, "{kind}: room for {early} packets grew to {late}");
    }
}

#[test]
fn one_long_step_takes_no_more_memory_than_many_short_ones() {
    for (kind, special) in every_kind() {
        let mut network = Network::new(&path(special), 1);
        network.advance(Nanos::from_secs(5), &mut Vec::new());
        let room = room(&network);
        assert!(network.packet_hops() > 5 * 3 * 45_000, "{kind}: {} packets", network.packet_hops());
        assert!(room < 40_000, "{kind}: room for {room} packets");
    }
}

const RATE: BitRate = BitRate(100_000_000);
const SIZE: Bytes = Bytes(1_526);

/// How many of others' packets the counters of a link saw in so many seconds, beside a probe every so many milliseconds, which is known that
/// long before it comes, or only `step` ms.
fn counted(kind: CrossKind, load: f64, seconds: i64, every: i64, step: i64) -> f64 {
    let own = CrossSpec { kind, offered: Offered::Load(load), ..through(1) };
    let link = LinkSpec { cross: vec![own], queue: QueueLimit::Unlimited, ..LinkSpec::new(Some(RATE)) };
    let mut network = Network::new(&[link], 1);
    let mut out = Vec::new();
    for ms in (1..=seconds * 1_000 / step).map(|number| number * step) {
        if ms % every == 0 {
            network.inject(Nanos::from_millis(ms), ms as u64, Bytes(100));
        }
        network.advance(Nanos::from_millis(ms), &mut out);
        // Readings in between change nothing.
        if ms % 350 == 0 {
            network.reading(Nanos::from_millis(ms), SIZE);
        }
    }
    network.advance(Nanos::from_secs(seconds), &mut out);
    network.reading(Nanos::from_secs(seconds), SIZE).links[0].cross / (SIZE + INTER_FRAME_GAP).0 as f64
}

/// Probes that leave the link as much time as it needs to come to rest, and some more; known beforehand, and when they come.
const RESTING: [(i64, i64); 6] = [(20, 20), (20, 2), (30, 30), (30, 2), (70, 70), (70, 2)];

#[test]
fn counters_miss_none_of_what_comes_while_a_link_rests() {
    for load in [0.1, 0.3] {
        let expected = load * RATE.0 as f64 * 100.0 / (SIZE + INTER_FRAME_GAP).bits() as f64;
        for (every, step) in RESTING {
            let packets = counted(CrossKind::Poisson, load, 100, every, step);
            assert!(
                (packets - expected).abs() < 4.0 * expected.sqrt(),
                "load {load}, every {every} ms by {step} ms: {packets} packets, {expected} should be"
            );
        }
    }
}

#[test]
fn what_follows_its_own_times_is_counted_alike_whether_a_link_rests_or_not() {
    let peak = BitRate::from_mbps(95);
    let bursts = CrossKind::Pareto(ParetoSpec { shape: 1.5, peak, on: Nanos::from_millis(5), off: None });
    for kind in [CrossKind::Constant, bursts] {
        let drawn = counted(kind.clone(), 0.1, 20, 1, 1);
        for (every, step) in RESTING {
            let packets = counted(kind.clone(), 0.1, 20, every, step);
            // The last one may stand in the bin of the moment.
            assert!(
                (packets - drawn).abs() < 2.0,
                "{kind:?}, every {every} ms by {step} ms: {packets}, drawn {drawn}"
            );
        }
    }
}
