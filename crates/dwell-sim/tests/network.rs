//! The engine against closed forms and against itself.

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{CrossKind, CrossSpec, LinkSpec, Network, Offered, Outcome, QueueLimit, Reroute};

fn link(mbps: u64) -> LinkSpec {
    LinkSpec::new(Some(BitRate::from_mbps(mbps)))
}

fn leaving(outcomes: &[Outcome]) -> Vec<(u64, Nanos)> {
    let leaves = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Leaves { key, at, .. } => Some((*key, *at)),
        Outcome::Lost { .. } => None,
    });
    leaves.collect()
}

fn carry(links: &[LinkSpec], packets: &[(i64, u64)]) -> Vec<Outcome> {
    let mut network = Network::new(links, 1);
    let mut out = Vec::new();
    for (key, (at, size)) in packets.iter().enumerate() {
        network.inject(Nanos(*at), key as u64, Bytes(*size));
    }
    network.finish(&mut out);
    out
}

#[test]
fn a_lone_packet_takes_serialisation_and_propagation_to_the_nanosecond() {
    let mut links = vec![link(10), link(100), link(1000)];
    links[1].propagation = Nanos(12_345);
    // 1502 B: 1,201,600 ns at 10 Mb/s, 120,160 at 100 Mb/s, 12,016 at 1 Gb/s.
    let out = carry(&links, &[(1_000, 1502)]);
    assert_eq!(
        out,
        [Outcome::Leaves {
            key: 0,
            at: Nanos(1_000 + 1_201_600 + 120_160 + 12_345 + 12_016),
            departed: Nanos(1_000 + 1_201_600),
            waited: Nanos(0)
        }]
    );
}

#[test]
fn a_route_that_changes_takes_another_time_and_keeps_the_order() {
    let route = |from: i64, to: i64| LinkSpec {
        propagation: Nanos(from),
        reroute: Some(Reroute { at: Nanos(500_000), propagation: Nanos(to) }),
        ..link(1_000)
    };
    // 12,016 ns each; the second is sent at 499,000 + 12,016, when the route is the new one.
    let packets = [(0, 1502), (499_000, 1502), (600_000, 1502)];
    let longer = leaving(&carry(&[route(100_000, 300_000)], &packets));
    assert_eq!(longer.iter().map(|(_, at)| at.0).collect::<Vec<_>>(), [112_016, 811_016, 912_016]);
    let shorter = leaving(&carry(&[route(600_000, 10_000)], &packets));
    assert_eq!(shorter.iter().map(|(_, at)| at.0).collect::<Vec<_>>(), [612_016, 612_016, 622_016]);
}

#[test]
fn short_frames_are_padded_and_followed_by_the_gap() {
    // Two packets of 10 B on 10 Mb/s: each takes 72 B, and 12 B lie between them.
    let times = leaving(&carry(&[link(10)], &[(0, 10), (0, 10)]));
    assert_eq!(times, [(0, Nanos(57_600)), (1, Nanos(57_600 + 9_600 + 57_600))]);
}

#[test]
fn unequal_pairs_lose_dispersion_at_each_hop_and_equal_ones_keep_it() {
    let hops = |count| vec![link(100); count];
    let dispersion = |links: &[LinkSpec], heading, trailing| {
        let times = leaving(&carry(links, &[(0, heading), (1_000_000, trailing)]));
        times[1].1 - times[0].1
    };
    for count in 1..=5 {
        // (s_h - s_t) / c = (1502 - 87) * 8 / 100 Mb/s = 113.2 us at each hop.
        let expected = Nanos(1_000_000 - 113_200 * count as i64);
        assert_eq!(dispersion(&hops(count), 1502, 87), expected);
        assert_eq!(dispersion(&hops(count), 87, 87), Nanos(1_000_000));
    }
}

#[test]
fn rounding_does_not_add_up() {
    // 100 B and its gap take 89.6 ns at 10 Gb/s: a thousand of them 89,600 ns, less the last gap of 9.6 ns.
    let times = leaving(&carry(&[link(10_000)], &[(0, 100); 1000]));
    assert_eq!(times[999].1, Nanos(89_590));
}

#[test]
fn a_full_queue_drops() {
    let mut narrow = link(10);
    narrow.queue = QueueLimit::Packets(3);
    let out = carry(&[narrow.clone()], &[(0, 1000); 10]);
    assert_eq!(leaving(&out).len(), 4, "one being sent and three waiting");
    narrow.queue = QueueLimit::Bytes(Bytes(2_500));
    let out = carry(&[narrow], &[(0, 1000); 10]);
    assert_eq!(leaving(&out).len(), 3, "one being sent and two waiting");
}

#[test]
fn advancing_in_real_time_changes_nothing() {
    let mut links = vec![link(100), link(50), link(1000)];
    let poisson = |load, hops| CrossSpec {
        kind: CrossKind::Poisson,
        offered: Offered::Load(load),
        sizes: Bytes(500).into(),
        hops,
        priority: 0,
    };
    links[0].cross = vec![poisson(0.3, 2), poisson(0.2, 1)];
    links[1].cross = vec![poisson(0.2, 2)];
    links[1].loss = 0.05;
    links[2].propagation = Nanos(10_000);
    let packets: Vec<_> = (0..500).map(|k| (k * 97_003, 100 + (k as u64 * 37) % 1400)).collect();
    let batch = carry(&links, &packets);

    let mut network = Network::new(&links, 1);
    let mut stepped = Vec::new();
    for (key, (at, size)) in packets.iter().enumerate() {
        while let Some(wake) = network.wake_at().filter(|wake| wake.0 < *at) {
            network.advance(wake, &mut stepped);
        }
        network.advance(Nanos(*at), &mut stepped);
        assert_eq!(network.inject(Nanos(*at), key as u64, Bytes(*size)), Nanos(*at));
    }
    network.finish(&mut stepped);
    assert_eq!(leaving(&stepped), leaving(&batch));
    assert_eq!(stepped.len(), packets.len());
}
