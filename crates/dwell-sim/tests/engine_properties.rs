//! What holds of the engine on any path, with any packets, however it is stepped.

mod recorded;

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{
    Balance, CrossKind, CrossSpec, Discipline, Framing, LinkSpec, Network, Offered, Outcome, ParetoSpec,
    Policer, QueueLimit, Reordering, Shaper, SizeShare, Sizes, Times, WhyLost,
};
use proptest::prelude::*;

prop_compose! {
    fn any_cross(most_hops: usize)(
        load in 0.0..0.5f64,
        above in 1.05..20.0f64,
        on in 10_000..50_000_000i64,
        shape in 1.05..1.95f64,
        kind in 0..4,
        sizes in prop::collection::vec((64..2000u64, 0.1..1.0f64), 1..4),
        hops in 1..=most_hops,
        priority in 0..3u8,
    ) -> CrossSpec {
        // A rate, because an unshaped link has no share.
        let rate = load * 5e7 + 1.0;
        let peak = BitRate((rate * above) as u64 + 2);
        let kind = match kind {
            0 => CrossKind::Constant,
            1 => CrossKind::Poisson,
            2 => CrossKind::Pareto(ParetoSpec { shape, on: Nanos(on), off: None, peak }),
            _ => CrossKind::Capture(recorded::some()),
        };
        let share = |(size, weight)| SizeShare { size: Bytes(size), weight };
        let sizes = match sizes.as_slice() {
            [(size, _)] => Bytes(*size).into(),
            _ => Sizes::Mix(sizes.into_iter().map(share).collect()),
        };
        CrossSpec { kind, offered: Offered::Rate(BitRate(rate as u64)), sizes, hops, priority }
    }
}

prop_compose! {
    /// What a link of the plainest kind has.
    fn any_plain_link(most_hops: usize)(
        rate in prop_oneof![Just(None), (1_000_000..2_000_000_000u64).prop_map(|rate| Some(BitRate(rate)))],
        propagation in 0..200_000i64,
        queue in prop_oneof![
            Just(QueueLimit::Unlimited),
            (0..5u64).prop_map(QueueLimit::Packets),
            (1600..9000u64).prop_map(|size| QueueLimit::Bytes(Bytes(size))),
        ],
        framed in any::<bool>(),
        loss in prop_oneof![Just(0.0), 0.0..0.3f64],
        jitter in prop_oneof![
            Just(Times::default()),
            (0..50_000i64).prop_map(|mean| Times::Exponential { mean: Nanos(mean), least: Nanos(0) }),
        ],
        cross in prop::collection::vec(any_cross(most_hops), 0..3),
    ) -> LinkSpec {
        let framing = if framed { Framing::Ethernet } else { Framing::None };
        let propagation = Nanos(propagation);
        LinkSpec { propagation, queue, framing, loss, jitter, cross, ..LinkSpec::new(rate) }
    }
}

/// More than all cross traffic of a path asks for: 12 flows of 25 Mb/s, and framing.
const ENOUGH: u64 = 500_000_000;

prop_compose! {
    fn any_shaper()(
        rate in ENOUGH..1_000_000_000,
        burst in 1_500..20_000u64,
        peak in prop::option::of(1_000_000_000..3_000_000_000u64),
    ) -> Shaper {
        Shaper { rate: BitRate(rate), burst: Bytes(burst), peak: peak.map(BitRate) }
    }
}

fn any_discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        2 => Just(Discipline::Fifo),
        1 => Just(Discipline::Fair),
        1 => (0..3u8).prop_map(|probes| Discipline::Priority { probes }),
    ]
}

prop_compose! {
    /// One link with all that it may do.
    fn any_single_link(most_hops: usize)(
        plain in any_plain_link(most_hops),
        discipline in any_discipline(),
        shaper in prop::option::weighted(0.3, any_shaper()),
        policer in prop::option::weighted(0.2, (ENOUGH..1_000_000_000, 1_500..20_000u64)),
        mtu in prop::option::weighted(0.2, 68..1500u64),
        duplication in prop_oneof![3 => Just(0.0), 1 => 0.0..0.5f64],
        reordering in prop::option::weighted(0.3, (0.0..0.6f64, 0..300_000i64)),
    ) -> LinkSpec {
        let reordering = reordering.map(|(share, by)| Reordering { share, by: Times::Fixed(Nanos(by)) });
        // Under strict priority, overload starves the probes for ever.
        let rate = plain.rate.map(|rate| BitRate(rate.0.max(ENOUGH)));
        let policer = policer.map(|(rate, burst)| Policer { rate: BitRate(rate), burst: Bytes(burst) });
        LinkSpec { rate, discipline, shaper, policer, mtu: mtu.map(Bytes), duplication, reordering, ..plain }
    }
}

fn any_link(most_hops: usize) -> impl Strategy<Value = LinkSpec> {
    let bundle =
        (prop::collection::vec(any_single_link(1), 1..4), any::<bool>()).prop_map(|(links, flow)| {
            LinkSpec::bundle(links, if flow { Balance::Flow } else { Balance::Packet })
        });
    prop_oneof![2 => any_plain_link(most_hops), 2 => any_single_link(most_hops), 1 => bundle]
}

fn any_path() -> impl Strategy<Value = Vec<LinkSpec>> {
    (1..5usize).prop_flat_map(|count| (0..count).map(|index| any_link(count - index)).collect::<Vec<_>>())
}

/// A path on which probes keep their order, and come out once at most.
fn any_orderly_path() -> impl Strategy<Value = Vec<LinkSpec>> {
    let orderly = |mut link: LinkSpec| {
        (link.duplication, link.reordering) = (0.0, None);
        link
    };
    any_path().prop_map(move |links| {
        let one = |link: LinkSpec| {
            let parallel = link.parallel.iter().cloned().map(orderly).collect();
            LinkSpec { parallel, balance: Balance::Flow, ..orderly(link) }
        };
        links.into_iter().map(one).collect()
    })
}

/// The links of a section.
fn all_of(section: &LinkSpec) -> &[LinkSpec] {
    if section.parallel.is_empty() { std::slice::from_ref(section) } else { &section.parallel }
}

/// Gaps between packets, and their sizes.
fn any_packets() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let gap = prop_oneof![4 => Just(0), 4 => 0..1_000i64, 4 => 0..2_000_000i64, 1 => 0..300_000_000i64];
    prop::collection::vec((gap, 1..1600u64), 1..60)
}

/// Injects all at once, then runs to the end.
fn batch(links: &[LinkSpec], packets: &[(i64, u64)], seed: u64) -> Vec<Outcome> {
    let (mut network, mut out, mut at) = (Network::new(links, seed), Vec::new(), 0);
    for (key, (gap, size)) in packets.iter().enumerate() {
        at += gap;
        assert_eq!(network.inject(Nanos(at), key as u64, Bytes(*size)), Nanos(at));
    }
    network.finish(&mut out);
    out
}

/// By packet; copies of one in the order of their ends, on the first link first.
fn sorted(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    outcomes.sort_by_key(|outcome| match outcome {
        Outcome::Leaves { key, at, .. } => (*key, *at, usize::MAX),
        Outcome::Lost { key, at, link, .. } => (*key, *at, *link),
    });
    outcomes
}

fn leaving(outcome: &Outcome) -> Option<(u64, Nanos)> {
    match outcome {
        Outcome::Leaves { key, at, .. } => Some((*key, *at)),
        Outcome::Lost { .. } => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_packet_has_one_fate_and_none_overtakes(
        links in any_orderly_path(),
        packets in any_packets(),
        seed: u64,
    ) {
        let outcomes = batch(&links, &packets, seed);
        let mut keys: Vec<_> = outcomes.iter().map(Outcome::key).collect();
        keys.sort_unstable();
        prop_assert_eq!(keys, (0..packets.len() as u64).collect::<Vec<_>>());
        let leaves: Vec<_> = outcomes.iter().filter_map(leaving).collect();
        prop_assert!(leaves.is_sorted(), "keys and times rise together: {leaves:?}");
    }

    #[test]
    fn every_copy_leaves_once_or_is_lost_once(links in any_path(), packets in any_packets(), seed: u64) {
        let outcomes = batch(&links, &packets, seed);
        let mut fates = vec![0; packets.len()];
        outcomes.iter().for_each(|outcome| fates[outcome.key() as usize] += 1);
        prop_assert!(fates.iter().all(|fates| *fates >= 1), "a packet without a fate: {fates:?}");
        let twice = |link: &LinkSpec| link.duplication > 0.0;
        let doubling = links.iter().filter(|section| all_of(section).iter().any(twice)).count();
        let most = 1 << doubling;
        prop_assert!(fates.iter().all(|fates| *fates <= most), "{fates:?}, but at most {most} copies");
        let times: Vec<_> = outcomes.iter().filter_map(leaving).map(|(_, at)| at).collect();
        prop_assert!(times.is_sorted(), "told in the order of leaving: {times:?}");
    }

    #[test]
    fn what_is_too_big_is_lost_where_it_is_too_big(
        links in any_path(),
        packets in any_packets(),
        seed: u64,
    ) {
        let fits = |size: u64, link: &LinkSpec| link.mtu.is_none_or(|mtu| size <= mtu.0 + 26);
        for outcome in batch(&links, &packets, seed) {
            let size = packets[outcome.key() as usize].1;
            match outcome {
                Outcome::Lost { why: WhyLost::TooBig, link, .. } => {
                    prop_assert!(!all_of(&links[link]).iter().all(|link| fits(size, link)));
                }
                Outcome::Lost { .. } => {}
                Outcome::Leaves { .. } => {
                    let passes = |section: &LinkSpec| all_of(section).iter().any(|link| fits(size, link));
                    prop_assert!(links.iter().all(passes));
                }
            }
        }
    }

    #[test]
    fn no_packet_is_faster_than_its_links(links in any_path(), packets in any_packets(), seed: u64) {
        let mut entered = Vec::new();
        packets.iter().fold(0, |at, (gap, _)| { entered.push(at + gap); at + gap });
        for outcome in batch(&links, &packets, seed) {
            if let Outcome::Leaves { key, at, departed, waited } = outcome {
                let (entry, size) = (entered[key as usize], Bytes(packets[key as usize].1));
                let passage = |link: &LinkSpec| {
                    let sent = link.rate.map_or(0.0, |rate| rate.nanos_for(link.framing.padded(size)));
                    sent + link.propagation.as_f64()
                };
                let fastest = |section| all_of(section).iter().map(passage).fold(f64::INFINITY, f64::min);
                let on_links: f64 = links.iter().map(fastest).sum();
                let took = (at.0 - entry) as f64;
                prop_assert!(took >= on_links + waited.as_f64() - 2.0, "{took} ns, but {on_links} + {waited}");
                let delays = |link: &LinkSpec| link.jitter.fixed().is_none() || link.reordering.is_some();
                let varies = links.iter().any(|link| delays(link) || !link.parallel.is_empty());
                prop_assert!(varies || took <= on_links + waited.as_f64() + 2.0);
                prop_assert!(departed.0 >= entry && departed <= at);
            }
        }
    }

    #[test]
    fn the_steps_of_advance_change_nothing(
        links in any_path(),
        packets in any_packets(),
        steps in prop::collection::vec(prop_oneof![1..500_000i64, 1..50_000_000i64], 1..20),
        seed: u64,
    ) {
        // In real time: whatever the steps, and a packet becomes known only when it enters.
        let (mut network, mut out, mut entry, mut now) = (Network::new(&links, seed), Vec::new(), 0, 0);
        let mut steps = steps.iter().cycle();
        for (key, (gap, size)) in packets.iter().enumerate() {
            entry += gap;
            while now < entry {
                now = entry.min(now + steps.next().unwrap());
                network.advance(Nanos(now), &mut out);
            }
            prop_assert_eq!(network.inject(Nanos(entry), key as u64, Bytes(*size)), Nanos(entry));
        }
        network.finish(&mut out);
        prop_assert_eq!(sorted(out), sorted(batch(&links, &packets, seed)));
    }

    #[test]
    fn who_wakes_when_told_is_never_late(links in any_path(), packets in any_packets(), seed: u64) {
        // As the testbed's forwarder does: sleep until `wake_at` or the next packet, and no outcome is overdue.
        let (mut network, mut out, mut entry) = (Network::new(&links, seed), Vec::new(), 0);
        let mut all = Vec::new();
        let fair = |link: &LinkSpec| link.discipline == Discipline::Fair;
        let fair = links.iter().any(|section| all_of(section).iter().any(fair));
        let check = |now: i64, out: &mut Vec<Outcome>, all: &mut Vec<Outcome>| {
            for outcome in out.drain(..) {
                let (Outcome::Leaves { at, .. } | Outcome::Lost { at, .. }) = outcome;
                let pushed_out = matches!(outcome, Outcome::Lost { why: WhyLost::QueueFull, .. }) && fair;
                // A nanosecond for rounding.
                assert!(pushed_out || at.0 + 1 >= now, "{outcome:?} is told at {now}");
                all.push(outcome);
            }
        };
        for (key, (gap, size)) in packets.iter().enumerate() {
            entry += gap;
            while let Some(wake) = network.wake_at().filter(|wake| wake.0 <= entry) {
                network.advance(wake, &mut out);
                check(wake.0, &mut out, &mut all);
            }
            network.inject(Nanos(entry), key as u64, Bytes(*size));
        }
        while let Some(wake) = network.wake_at() {
            network.advance(wake, &mut out);
            check(wake.0, &mut out, &mut all);
        }
        prop_assert_eq!(sorted(all), sorted(batch(&links, &packets, seed)));
    }

    #[test]
    fn another_seed_is_another_run_and_the_same_one_the_same(seed: u64) {
        let mut link = LinkSpec::new(Some(BitRate::from_mbps(100)));
        link.cross = vec![CrossSpec {
            kind: CrossKind::Poisson,
            offered: Offered::Load(0.5),
            sizes: Bytes(1526).into(),
            hops: 1,
            priority: 0,
        }];
        let packets = vec![(500_000, 100); 50];
        let links = [link];
        prop_assert_eq!(batch(&links, &packets, seed), batch(&links, &packets, seed));
        prop_assert_ne!(batch(&links, &packets, seed), batch(&links, &packets, seed.wrapping_add(1)));
    }
}

#[test]
fn a_packet_that_comes_too_late_enters_now() {
    let links = [LinkSpec::new(Some(BitRate::from_mbps(100)))];
    let mut network = Network::new(&links, 1);
    network.advance(Nanos(10_000), &mut Vec::new());
    assert_eq!(network.inject(Nanos(9_000), 0, Bytes(100)), Nanos(10_000));
    assert_eq!(network.inject(Nanos(20_000), 1, Bytes(100)), Nanos(20_000));
    assert_eq!(network.inject(Nanos(15_000), 2, Bytes(100)), Nanos(20_000), "after its predecessor");
}

#[test]
fn absurd_times_neither_panic_nor_hang() {
    let mut network = Network::new(&[LinkSpec::new(Some(BitRate::from_mbps(10)))], 1);
    let mut out = Vec::new();
    network.inject(Nanos(i64::MIN), 0, Bytes(100));
    network.inject(Nanos::MAX, 1, Bytes(u64::MAX));
    network.inject(Nanos::MAX, 2, Bytes(0));
    network.advance(Nanos::MAX, &mut out);
    network.finish(&mut out);
    assert_eq!(out.len(), 3);
    assert_eq!(network.wake_at(), None);
}
