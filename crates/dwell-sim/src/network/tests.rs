//! What the engine holds in memory.

use super::Network;
use crate::link::{Balance, Discipline, LinkSpec, QueueLimit, Reordering, Shaper};
use crate::times::Times;
use crate::traffic::{CrossKind, CrossSpec, Offered};
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

#[test]
fn counters_miss_none_of_what_comes_while_a_link_rests() {
    let (rate, size, seconds) = (BitRate::from_mbps(100), Bytes(1_526), 100);
    for load in [0.1, 0.3] {
        let own = CrossSpec { offered: Offered::Load(load), ..through(1) };
        let link = LinkSpec { cross: vec![own], queue: QueueLimit::Unlimited, ..LinkSpec::new(Some(rate)) };
        let expected = load * rate.0 as f64 * seconds as f64 / (size + INTER_FRAME_GAP).bits() as f64;
        // Probes that leave it as much time as it needs to come to rest, and some more.
        for (every, step) in [20, 30, 70].into_iter().flat_map(|every| [(every, every), (every, 2)]) {
            let mut network = Network::new(std::slice::from_ref(&link), 1);
            let mut out = Vec::new();
            // Whether they are known beforehand, or only when they come; readings in between change nothing.
            for ms in (1..=seconds * 1_000 / step).map(|number| number * step) {
                if ms % every == 0 {
                    network.inject(Nanos::from_millis(ms), ms as u64, Bytes(100));
                }
                network.advance(Nanos::from_millis(ms), &mut out);
                if ms % 350 == 0 {
                    network.reading(Nanos::from_millis(ms), size);
                }
            }
            let counted = network.reading(Nanos::from_secs(seconds), size).links[0].cross;
            let packets = counted / (size + INTER_FRAME_GAP).0 as f64;
            assert!(
                (packets - expected).abs() < 4.0 * expected.sqrt(),
                "load {load}, every {every} ms by {step} ms: {packets} packets, {expected} should be"
            );
        }
    }
}
