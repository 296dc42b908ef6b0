//! Cross traffic offers what was asked, in the sizes and with the bursts that were asked for.

mod recorded;

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{
    CrossKind, CrossSpec, Flow, Framing, LinkSpec, Network, Offered, Outcome, ParetoSpec, QueueLimit,
    SizeShare, Sizes,
};
use std::collections::BTreeMap;

const RATE: BitRate = BitRate::from_mbps(100);

fn link() -> LinkSpec {
    LinkSpec { queue: QueueLimit::Unlimited, ..LinkSpec::new(Some(RATE)) }
}

/// The mix of Internet traffic: 7 of 12 packets are small, 4 of them middle, 1 full.
fn mix() -> Sizes {
    let share = |size, weight| SizeShare { size: Bytes(size), weight };
    Sizes::Mix(vec![share(78, 7.0), share(602, 4.0), share(1526, 1.0)])
}

fn pareto(shape: f64, on: i64, peak: u64) -> CrossKind {
    CrossKind::Pareto(ParetoSpec {
        shape,
        on: Nanos::from_micros(on),
        off: None,
        peak: BitRate::from_mbps(peak),
    })
}

fn cross(kind: CrossKind, offered: Offered, sizes: impl Into<Sizes>) -> CrossSpec {
    CrossSpec { kind, offered, sizes: sizes.into(), hops: 1, priority: 0 }
}

/// Packets of `spec` within so many seconds.
fn packets(spec: &CrossSpec, seed: u64, seconds: i64) -> impl Iterator<Item = (Nanos, Bytes)> {
    let end = Nanos::from_secs(seconds);
    Flow::new(spec, &link(), seed).unwrap().take_while(move |(at, _)| *at < end)
}

/// Share of the link that `spec` takes within so many seconds.
fn load(spec: &CrossSpec, seed: u64, seconds: i64) -> f64 {
    let bits = |(_, size): (Nanos, Bytes)| Framing::Ethernet.occupied(size).bits() as f64;
    packets(spec, seed, seconds).map(bits).sum::<f64>() / (RATE.0 as f64 * seconds as f64)
}

#[test]
fn mixed_sizes_come_by_their_weights_and_share_the_load() {
    for kind in [CrossKind::Constant, CrossKind::Poisson, pareto(1.9, 2_000, 90)] {
        let spec = cross(kind, Offered::Load(0.4), mix());
        let mut counts = BTreeMap::new();
        packets(&spec, 3, 100).for_each(|(_, size)| *counts.entry(size).or_insert(0.0) += 1.0);
        let total: f64 = counts.values().sum();
        for (size, share) in [(78, 7.0 / 12.0), (602, 4.0 / 12.0), (1526, 1.0 / 12.0)] {
            let (got, sigma) = (counts[&Bytes(size)] / total, (share * (1.0 - share) / total).sqrt());
            assert!((got - share).abs() < 4.0 * sigma, "{size} B: {got} of the packets, {share} asked");
        }
        let got = load(&spec, 3, 100);
        assert!((got / 0.4 - 1.0).abs() < 0.05, "{:?}: load {got}", spec.kind);
    }
}

#[test]
fn pareto_traffic_offers_what_was_asked_in_the_mean() {
    // Bounded at 1,000 means, a period of exponent 1.5 varies by 4.3 times its mean: 40,000 of them, on and off,
    // leave some 2 % on the load of one run.
    for (shape, offered) in [(1.2, 0.1), (1.5, 0.3), (1.8, 0.6)] {
        let spec = cross(pareto(shape, 1_000, 80), Offered::Load(offered), Bytes(826));
        let runs: Vec<f64> = (0..12).map(|seed| load(&spec, seed, 60)).collect();
        let mean = runs.iter().sum::<f64>() / 12.0;
        let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / 11.0;
        let error = (variance / 12.0).sqrt();
        assert!(error < 0.08 * offered, "shape {shape}: the runs are too short to tell: {mean} +- {error}");
        assert!((mean - offered).abs() < 4.0 * error, "shape {shape}: {mean} +- {error} for {offered}");
    }
}

#[test]
fn off_times_may_be_given_instead_of_the_load() {
    let spec = ParetoSpec {
        shape: 1.7,
        on: Nanos::from_millis(1),
        off: Some(Nanos::from_millis(3)),
        peak: BitRate::from_mbps(60),
    };
    let spec = cross(CrossKind::Pareto(spec), Offered::Own, Bytes(826));
    assert_eq!(link().bits_of(&spec), Some(15e6));
    let mean = (0..6).map(|seed| load(&spec, seed, 60)).sum::<f64>() / 6.0;
    assert!((mean / 0.15 - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn while_on_packets_come_at_the_peak_rate_and_never_faster() {
    let spec = cross(pareto(1.5, 5_000, 80), Offered::Load(0.2), Bytes(988));
    let times: Vec<_> = packets(&spec, 1, 20).map(|(at, _)| at.0).collect();
    let gaps: Vec<_> = times.windows(2).map(|two| two[1] - two[0]).collect();
    // 988 B and the gap take 100 us at 80 Mb/s.
    assert!(gaps.iter().all(|gap| *gap >= 100_000 - 1));
    let at_peak = gaps.iter().filter(|gap| **gap <= 100_001).count() as f64 / gaps.len() as f64;
    // A burst has 50 packets in the mean, so one gap in 50 spans an off time.
    assert!((0.97..0.99).contains(&at_peak), "{at_peak} of the gaps");
}

#[test]
fn many_pareto_sources_burst_at_every_scale_and_poisson_does_not() {
    // Variance of the load of intervals of 10 ms to 640 ms: it falls as m^-1 without memory, and for on/off
    // sources as m^(1 - shape) (Willinger et al. 1997), here m^-0.4.
    let slope = |kind: CrossKind| {
        let (seconds, cell) = (600, 10_000_000);
        let mut cells = vec![0.0; (seconds * 1_000_000_000 / cell) as usize];
        for seed in 0..10 {
            let spec = cross(kind.clone(), Offered::Load(0.02), Bytes(826));
            packets(&spec, seed, seconds).for_each(|(at, _)| cells[(at.0 / cell) as usize] += 1.0);
        }
        let variance = |m: usize| {
            let sums: Vec<f64> =
                cells.chunks_exact(m).map(|part| part.iter().sum::<f64>() / m as f64).collect();
            let mean = sums.iter().sum::<f64>() / sums.len() as f64;
            sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len() as f64
        };
        (variance(64) / variance(1)).ln() / 64f64.ln()
    };
    let (bursty, plain) = (slope(pareto(1.4, 5_000, 20)), slope(CrossKind::Poisson));
    assert!((-0.65..-0.2).contains(&bursty), "Pareto: {bursty}");
    assert!((-1.1..-0.9).contains(&plain), "Poisson: {plain}");
}

/// The mean wait of probes that come every so often.
fn waits(link: &LinkSpec, count: i64, every: i64) -> f64 {
    let (mut network, mut out) = (Network::new(std::slice::from_ref(link), 4), Vec::new());
    for key in 1..=count {
        network.inject(Nanos(every * key), key as u64, Bytes(1));
    }
    network.finish(&mut out);
    let waited = |outcome: &Outcome| match outcome {
        Outcome::Leaves { waited, .. } => waited.as_f64(),
        Outcome::Lost { .. } => 0.0,
    };
    out.iter().map(waited).sum::<f64>() / count as f64
}

#[test]
fn bursts_below_the_link_rate_make_probes_wait_for_the_rest_of_one_packet() {
    // A single source below the link's rate never queues: as with constant traffic, a probe meets a packet with
    // probability 0.3 and waits for half of it. Often, and so rarely that the engine skips what no probe can feel.
    let mut loaded = LinkSpec { framing: Framing::None, ..link() };
    loaded.cross = vec![cross(pareto(1.8, 1_000, 60), Offered::Load(0.3), Bytes(1000))];
    for every in [170_003, 29_000_017] {
        let mean = waits(&loaded, 100_000, every);
        assert!((mean / (0.3 * 40_000.0) - 1.0).abs() < 0.06, "every {every} ns: {mean} ns");
    }
}

#[test]
fn a_capture_is_replayed_as_recorded_from_a_random_phase() {
    let capture = CrossKind::Capture(recorded::some());
    let spec = cross(capture, Offered::Own, Sizes::Own);
    // Four packets over 3 ms, and a mean gap of 1 ms behind the last.
    let round = Nanos::from_millis(4);
    let order = [72, 1526, 612, 72].map(Bytes);
    let mut phases = Vec::new();
    for seed in 0..50 {
        let got: Vec<_> = Flow::new(&spec, &link(), seed).unwrap().take(400).collect();
        assert!(got.is_sorted_by_key(|(at, _)| *at));
        let full = got.iter().position(|(_, size)| *size == Bytes(1526)).unwrap();
        phases.push(got[full].0);
        for (index, (at, size)) in got[full..].iter().enumerate() {
            assert_eq!(*size, order[(index + 1) % 4]);
            let within = [0, 995_000, 3_000_000, 4_000_000][index % 4];
            let expected = got[full].0 + round * (index / 4) as i64 + Nanos(within);
            assert!((*at - expected).abs() <= Nanos(1), "packet {index} at {at}, {expected} expected");
        }
    }
    phases.sort();
    assert!(phases[0] < Nanos(400_000) && phases[49] > Nanos(3_600_000) && phases[49] <= round, "{phases:?}");
}

#[test]
fn a_capture_is_slowed_to_the_load_that_was_asked() {
    for offered in [Offered::Load(0.02), Offered::Rate(BitRate::from_mbps(50))] {
        let spec = cross(CrossKind::Capture(recorded::some()), offered, Sizes::Own);
        let asked = link().bits_of(&spec).unwrap() / RATE.0 as f64;
        let got = load(&spec, 1, 20);
        assert!((got / asked - 1.0).abs() < 2e-3, "{got} for {asked}");
    }
}
