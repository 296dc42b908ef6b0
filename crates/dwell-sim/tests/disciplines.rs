//! Disciplines, token buckets, parallel links, duplication and reordering against closed forms.

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{
    Balance, CrossKind, CrossSpec, Discipline, Framing, LinkSpec, Network, Offered, Outcome, Policer,
    QueueLimit, Reordering, Shaper, Times, WhyLost,
};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A link of 100 Mb/s on which a packet of 1,000 B takes 80 us and nothing else.
fn link() -> LinkSpec {
    let plain = LinkSpec::new(Some(BitRate::from_mbps(100)));
    LinkSpec { framing: Framing::None, queue: QueueLimit::Unlimited, ..plain }
}

fn poisson(load: f64, size: u64, priority: u8) -> CrossSpec {
    let offered = Offered::Load(load);
    CrossSpec { kind: CrossKind::Poisson, offered, sizes: Bytes(size).into(), hops: 1, priority }
}

/// Injects `count` packets of `size`, exponentially spaced by `mean` nanoseconds.
fn outcomes(links: &[LinkSpec], count: u64, size: Bytes, mean: f64) -> Vec<Outcome> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut network, mut at, mut out) = (Network::new(links, 3), 0.0, Vec::new());
    for key in 0..count {
        let unit: f64 = Exp1.sample(&mut rng);
        at += unit * mean;
        network.inject(Nanos::from_f64(at), key, size);
        network.advance(Nanos::from_f64(at), &mut out);
    }
    network.finish(&mut out);
    out
}

fn waits(links: &[LinkSpec], count: u64, size: Bytes, mean: f64) -> Vec<f64> {
    let waited = |outcome| match outcome {
        Outcome::Leaves { waited, .. } => Some(waited.as_f64()),
        Outcome::Lost { .. } => None,
    };
    outcomes(links, count, size, mean).into_iter().filter_map(waited).collect()
}

/// The mean lies within 3.5 standard errors, from the means of 40 batches, of the closed form, and those are small.
#[track_caller]
fn agrees(what: &str, samples: &[f64], expected: f64) {
    let mean_of = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    let batches: Vec<f64> = samples.chunks_exact(samples.len() / 40).map(mean_of).collect();
    let mean = mean_of(&batches);
    let variance =
        batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (batches.len() - 1) as f64;
    let error = (variance / batches.len() as f64).sqrt();
    assert!(error < 0.05 * expected, "{what}: the run is too short to tell: {mean} +- {error}");
    assert!((mean - expected).abs() < 3.5 * error, "{what}: {mean} +- {error}, closed form {expected}");
}

/// Mean residual service of what is being sent when somebody comes: half the sum of rate times squared service.
fn residual(flows: &[(f64, f64)]) -> f64 {
    flows.iter().map(|(load, service)| load * service / 2.0).sum()
}

#[test]
fn classes_wait_as_cobham_says() {
    // Non-preemptive (Cobham 1954): class k waits R / ((1 - load above k) (1 - load of k and above)).
    let classes = [(3, 0.3, 80_000.0), (2, 0.25, 40_000.0), (1, 0.2, 20_000.0)];
    let residual = residual(&classes.map(|(_, load, service)| (load, service)));
    let load = |of: &dyn Fn(u8) -> bool| {
        classes.iter().filter(|(class, ..)| of(*class)).map(|(_, load, _)| load).sum::<f64>()
    };
    // Of the highest class of all, the same as one of cross traffic each, and the lowest of all.
    for probes in [4, 3, 2, 1, 0] {
        let expected =
            residual / ((1.0 - load(&|class| class > probes)) * (1.0 - load(&|class| class >= probes)));
        let discipline = Discipline::Priority { probes };
        let cross = vec![poisson(0.3, 1000, 3), poisson(0.25, 500, 2), poisson(0.2, 250, 1)];
        let waits = waits(&[LinkSpec { discipline, cross, ..link() }], 120_000, Bytes(1), 800_000.0);
        agrees(&format!("class {probes}"), &waits, expected);
    }
}

#[test]
fn rare_probes_of_the_lowest_class_meet_the_same_queue() {
    // So far apart that the engine skips what lies between.
    let discipline = Discipline::Priority { probes: 0 };
    let cross = vec![poisson(0.5, 1000, 1)];
    let spec = LinkSpec { discipline, cross, ..link() };
    let expected = residual(&[(0.5, 80_000.0)]) / (0.5 * 0.5);
    agrees("lowest class", &waits(&[spec], 20_000, Bytes(1), 1e9), expected);
}

#[test]
fn one_class_for_all_is_first_come_first_served() {
    for discipline in [Discipline::Priority { probes: 2 }, Discipline::Fifo] {
        let spec = LinkSpec { discipline, cross: vec![poisson(0.7, 1000, 2)], ..link() };
        agrees("one class", &waits(&[spec], 120_000, Bytes(1), 800_000.0), 0.7 * 80_000.0 / (2.0 * 0.3));
    }
}

/// Share of the injected packets that leave in the first `seconds`, sent at `offered` of the link's rate against cross
/// traffic.
fn throughput(spec: LinkSpec, size: u64, offered: f64) -> f64 {
    let (mut network, mut out) = (Network::new(&[spec], 5), Vec::new());
    let gap = size as f64 * 80.0 / offered;
    let seconds = 4.0;
    for key in 0..(seconds * 1e9 / gap) as u64 {
        network.inject(Nanos::from_f64(key as f64 * gap), key, Bytes(size));
        network.advance(Nanos::from_f64(key as f64 * gap), &mut out);
    }
    let end = Nanos::from_f64(seconds * 1e9);
    let left =
        out.iter().filter(|outcome| matches!(outcome, Outcome::Leaves { at, .. } if *at <= end)).count();
    left as f64 * size as f64 * 80.0 / end.as_f64()
}

#[test]
fn fair_queueing_shares_bytes_and_gives_the_rest_to_who_asks() {
    let queue = QueueLimit::Packets(200);
    let fair = |cross| LinkSpec { discipline: Discipline::Fair, queue, cross, ..link() };
    // Both ask for more than half: each has half, whatever the sizes of packets.
    for (ours, theirs) in [(1000, 1000), (200, 1500), (1500, 100)] {
        let share = throughput(fair(vec![poisson(0.9, theirs, 0)]), ours, 0.9);
        assert!((share - 0.5).abs() < 0.01, "{ours} B against {theirs} B: {share}");
    }
    // Who asks for less than its part has all of it, and the others share the rest.
    let share = throughput(fair(vec![poisson(0.2, 1000, 0), poisson(2.0, 1000, 0)]), 1000, 0.9);
    assert!((share - 0.4).abs() < 0.01, "{share}");
    let share = throughput(fair(vec![poisson(2.0, 1000, 0)]), 1000, 0.3);
    assert!((share - 0.3).abs() < 0.01, "a flow below its share loses nothing: {share}");
    // First come, first served, everybody has as much as it asks of the whole.
    let share = throughput(LinkSpec { queue, cross: vec![poisson(2.0, 1000, 0)], ..link() }, 1000, 0.3);
    assert!((share - 0.3 / 2.3).abs() < 0.02, "{share}");
}

#[test]
fn a_lone_packet_waits_for_a_fair_turn_and_no_longer() {
    // Behind one flow that fills the link, a packet waits for the one being sent, and for one more quantum of it.
    let cross = vec![poisson(3.0, 1000, 0)];
    let queue = QueueLimit::Packets(100);
    let spec = LinkSpec { discipline: Discipline::Fair, queue, cross, ..link() };
    let waits = waits(&[spec], 4_000, Bytes(100), 5_000_000.0);
    assert_eq!(waits.len(), 4_000, "it is never the longest flow that loses");
    let longest = waits.iter().copied().fold(0.0, f64::max);
    assert!(longest <= 80_000.0 * 3.0, "{longest} ns");
}

/// Leaving times of `count` packets of `size` that come all at once.
fn burst(spec: LinkSpec, count: u64, size: u64) -> Vec<i64> {
    let (mut network, mut out) = (Network::new(&[spec], 1), Vec::new());
    (0..count).for_each(|key| _ = network.inject(Nanos(0), key, Bytes(size)));
    network.finish(&mut out);
    let at = |outcome| match outcome {
        Outcome::Leaves { at, .. } => at.0,
        Outcome::Lost { .. } => panic!("{outcome:?}"),
    };
    out.into_iter().map(at).collect()
}

#[test]
fn a_token_bucket_lets_a_burst_pass_at_its_peak_and_the_rest_at_its_rate() {
    // Packets of 1,000 B: 80 us on the link, 160 us at the peak of 50 Mb/s, 800 us at 10 Mb/s.
    let shaper =
        Shaper { rate: BitRate::from_mbps(10), burst: Bytes(5_000), peak: Some(BitRate::from_mbps(50)) };
    let at = burst(LinkSpec { shaper: Some(shaper), ..link() }, 10_000, 1_000);
    // The nth packet has its tokens once n - 5 packets' worth came: from the sixth on, until the burst is used up, the
    // peak is slower than the tokens.
    let expected = |n: i64| 80_000 + (160_000 * n).max(800_000 * (n - 4));
    for (n, at) in at.iter().enumerate() {
        assert_eq!(*at, expected(n as i64), "packet {n}");
    }
    // Without a peak the burst goes at the link's rate.
    let at = burst(LinkSpec { shaper: Some(Shaper { peak: None, ..shaper }), ..link() }, 10, 1_000);
    assert_eq!(at[..6], [80_000, 160_000, 240_000, 320_000, 400_000, 880_000]);
}

#[test]
fn a_policer_drops_what_comes_too_fast_and_delays_nothing() {
    // Packets of 1,000 B, 80 us apart on a link of 100 Mb/s; at 10 Mb/s five of them, and every tenth after.
    let policer = Some(Policer { rate: BitRate::from_mbps(10), burst: Bytes(5_000) });
    let links = [link(), LinkSpec { policer, ..link() }];
    let mut network = Network::new(&links, 1);
    (0..100).for_each(|key| _ = network.inject(Nanos::ZERO, key, Bytes(1_000)));
    let mut out = Vec::new();
    network.finish(&mut out);
    let mut passed = Vec::new();
    for outcome in out {
        match outcome {
            Outcome::Leaves { key, at, .. } => {
                assert_eq!(at, Nanos(160_000 + 80_000 * key as i64), "{key}");
                passed.push(key);
            }
            Outcome::Lost { why, .. } => assert_eq!(why, WhyLost::Policed),
        }
    }
    assert_eq!(passed, [0, 1, 2, 3, 4, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
}

#[test]
fn tokens_hold_under_any_discipline_and_load() {
    let shaper = Some(Shaper { rate: BitRate::from_mbps(10), burst: Bytes(5_000), peak: None });
    for discipline in [Discipline::Fifo, Discipline::Fair, Discipline::Priority { probes: 1 }] {
        let queue = QueueLimit::Packets(100);
        let share = throughput(LinkSpec { shaper, discipline, queue, ..link() }, 1000, 0.5);
        // 10 % of the link, and the burst at the start: 5 of 5,000 packets.
        assert!((share - 0.1).abs() < 0.0005, "{discipline:?}: {share}");
    }
}

#[test]
fn a_full_class_loses_its_own_packets_only() {
    let queue = QueueLimit::Packets(3);
    let spec = LinkSpec { discipline: Discipline::Priority { probes: 1 }, queue, ..link() };
    let crowded = LinkSpec { cross: vec![poisson(0.9, 1000, 0)], ..spec };
    let out = outcomes(&[crowded], 20_000, Bytes(1), 800_000.0);
    assert!(out.iter().all(|outcome| matches!(outcome, Outcome::Leaves { .. })));
}

#[test]
fn packets_in_turn_take_parallel_links_and_overtake_one_another() {
    let slow = LinkSpec { propagation: Nanos(300_000), ..link() };
    let bundle = LinkSpec::bundle(vec![link(), slow], Balance::Packet);
    let out = outcomes(std::slice::from_ref(&bundle), 40_000, Bytes(1000), 100_000.0);
    let keys: Vec<_> = out.iter().map(Outcome::key).collect();
    let overtaken = keys.windows(2).filter(|two| two[0] > two[1]).count();
    assert!(overtaken > 5_000, "{overtaken}");
    // Each link has every other packet: E_2 arrivals, at half of the load that one link would have.
    let waits = |links: &[LinkSpec]| {
        let waits = waits(links, 40_000, Bytes(1000), 100_000.0);
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    assert!(waits(&[bundle]) < 0.2 * waits(&[link()]));
    // Two links carry twice as much: a burst of 1,000 takes half as long.
    let two = LinkSpec::bundle(vec![link(), link()], Balance::Packet);
    assert_eq!(burst(two, 1_000, 1_000).last(), Some(&(500 * 80_000)));
}

#[test]
fn flows_keep_to_one_link_of_several_and_seeds_choose() {
    let fast = |us: i64| LinkSpec { propagation: Nanos(us * 1_000), ..link() };
    let bundle = LinkSpec::bundle((0..4).map(|k| fast(k * 1_000)).collect(), Balance::Flow);
    let mut seen = [0; 4];
    for seed in 0..400 {
        let (mut network, mut out) = (Network::new(std::slice::from_ref(&bundle), seed), Vec::new());
        (0..5).for_each(|key| _ = network.inject(Nanos(key * 10_000_000), key as u64, Bytes(1000)));
        network.finish(&mut out);
        let delays = out.iter().map(|outcome| match outcome {
            Outcome::Leaves { key, at, .. } => at.0 - *key as i64 * 10_000_000 - 80_000,
            Outcome::Lost { .. } => panic!("{outcome:?}"),
        });
        let delays: Vec<_> = delays.collect();
        assert!(delays.iter().all(|delay| *delay == delays[0]), "{delays:?}");
        seen[(delays[0] / 1_000_000) as usize] += 1;
    }
    // 100 expected, with a standard deviation of 8.7.
    assert!(seen.iter().all(|count| (65..135).contains(count)), "{seen:?}");
}

#[test]
fn shares_of_packets_come_twice_or_late() {
    let reordering = Some(Reordering { share: 0.2, by: Times::Fixed(Nanos(5_000_000)) });
    let spec = LinkSpec { duplication: 0.1, reordering, ..link() };
    let out = outcomes(&[spec], 50_000, Bytes(1000), 1_000_000.0);
    let sigma = |share: f64| (50_000.0 * share * (1.0 - share)).sqrt();
    let extra = out.len() as f64 - 50_000.0;
    assert!((extra - 5_000.0).abs() < 4.0 * sigma(0.1), "{extra} copies");
    // A packet that is held back for 5 ms is overtaken by another but for a chance of exp(-5) = 0.7 %, if that one is
    // not held back itself; a packet is late if one behind it came before it.
    let (mut late, mut latest) = (0.0, 0);
    let mut seen = std::collections::HashSet::new();
    for key in out.iter().map(Outcome::key).filter(|key| seen.insert(*key)) {
        late += f64::from(u8::from(key < latest));
        latest = latest.max(key);
    }
    // The packets that are held back and followed by one that is not within 5 ms: 1 - exp(-0.8 * 5) of them.
    let expected = 10_000.0 * (1.0 - (-4.0f64).exp());
    assert!((late - expected).abs() < 4.0 * sigma(0.2), "{late} late, {expected} expected");
}

#[test]
fn a_smaller_mtu_is_a_black_hole_for_what_is_larger() {
    let links = [link(), LinkSpec { mtu: Some(Bytes(1_000)), ..link() }, link()];
    let lost = |size| {
        let out = outcomes(&links, 10, Bytes(size), 1e6);
        let lost =
            |outcome: &&Outcome| matches!(outcome, Outcome::Lost { link: 1, why: WhyLost::TooBig, .. });
        (out.iter().filter(lost).count(), out.len())
    };
    assert_eq!(lost(1_026), (0, 10));
    assert_eq!(lost(1_027), (10, 10));
}

#[test]
fn rates_from_10_mbps_to_100_gbps_over_32_links_are_exact() {
    for mbps in [10, 100, 1_000, 10_000, 40_000, 100_000] {
        let plain = LinkSpec::new(Some(BitRate::from_mbps(mbps)));
        let links = vec![LinkSpec { framing: Framing::None, ..plain }; 32];
        let (mut network, mut out) = (Network::new(&links, 1), Vec::new());
        // Late in the life of the clock, where floating point would be off.
        let start = Nanos::from_secs(99 * 86_400);
        (0..1_000).for_each(|key| _ = network.inject(start, key, Bytes(1_000)));
        network.finish(&mut out);
        for (n, outcome) in out.iter().enumerate() {
            // 8,000 bits: at 100 Gb/s 80 ns, 80 ps a byte; 32 links, and those ahead on the first.
            let expected = start + Nanos((32 + n as i64) * 8_000_000 / mbps as i64);
            assert!(
                matches!(outcome, Outcome::Leaves { at, .. } if *at == expected),
                "{mbps} Mb/s: {outcome:?}"
            );
        }
    }
}
