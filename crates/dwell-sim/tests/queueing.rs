//! The engine's queues and cross traffic against closed forms.

use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{CrossKind, CrossSpec, Framing, LinkSpec, Network, Offered, Outcome, QueueLimit};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

const RATE: BitRate = BitRate::from_mbps(100);

/// A link of 100 Mb/s on which a packet of 1,000 B takes 80 us and nothing else.
fn link() -> LinkSpec {
    LinkSpec { framing: Framing::None, queue: QueueLimit::Unlimited, ..LinkSpec::new(Some(RATE)) }
}

fn cross(kind: CrossKind, load: f64, hops: usize) -> CrossSpec {
    CrossSpec { kind, offered: Offered::Load(load), sizes: Bytes(1000).into(), hops, priority: 0 }
}

/// Injects `count` packets of `size`, exponentially spaced by `mean` nanoseconds, and returns how long each waited.
fn poisson_waits(network: &mut Network, count: u64, size: Bytes, mean: f64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut at, mut out, mut waits) = (0.0, Vec::new(), Vec::new());
    for key in 0..count {
        let unit: f64 = Exp1.sample(&mut rng);
        at += unit * mean;
        network.inject(Nanos::from_f64(at), key, size);
        network.advance(Nanos::from_f64(at), &mut out);
        waits.extend(out.drain(..).filter_map(waited));
    }
    network.finish(&mut out);
    waits.extend(out.drain(..).filter_map(waited));
    waits
}

fn waited(outcome: Outcome) -> Option<f64> {
    match outcome {
        Outcome::Leaves { waited, .. } => Some(waited.as_f64()),
        Outcome::Lost { .. } => None,
    }
}

/// Mean, and its standard error from the means of 40 batches: waits that follow one another are alike.
fn mean_and_error(samples: &[f64]) -> (f64, f64) {
    let batches: Vec<f64> = samples
        .chunks_exact(samples.len() / 40)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let variance = batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Pollaczek and Khinchine for constant service: rho s / (2 (1 - rho)).
fn md1(load: f64) -> f64 {
    load * 80_000.0 / (2.0 * (1.0 - load))
}

#[track_caller]
fn agrees(what: &str, samples: &[f64], expected: f64) {
    let (mean, error) = mean_and_error(samples);
    assert!(error < 0.05 * expected, "{what}: the run is too short to tell: {mean} +- {error}");
    assert!((mean - expected).abs() < 3.5 * error, "{what}: {mean} +- {error}, closed form {expected}");
}

#[test]
fn injected_poisson_traffic_waits_as_m_d_1() {
    for load in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let mut network = Network::new(&[link()], 1);
        let waits = poisson_waits(&mut network, 400_000, Bytes(1000), 80_000.0 / load);
        agrees(&format!("load {load}"), &waits, md1(load));
    }
}

#[test]
fn probes_among_poisson_cross_traffic_wait_as_m_d_1() {
    // Poisson probes see time averages (Wolff 1982); one byte every ten packets disturbs the queue by 0.01 %.
    for load in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let mut loaded = link();
        loaded.cross = vec![cross(CrossKind::Poisson, load, 1)];
        let mut network = Network::new(&[loaded], 2);
        let waits = poisson_waits(&mut network, 200_000, Bytes(1), 800_000.0 / load);
        agrees(&format!("load {load}"), &waits, md1(load));
    }
}

#[test]
fn constant_cross_traffic_alone_makes_probes_wait_for_the_rest_of_one_packet() {
    // No queue forms; a probe meets a packet being sent with probability rho and waits for half of it.
    let mut loaded = link();
    loaded.cross = vec![cross(CrossKind::Constant, 0.4, 1)];
    // Often, and so rarely that the engine skips what no probe can feel: the phase must be kept.
    for between in [2e6, 1e9] {
        let waits = poisson_waits(&mut Network::new(&[loaded.clone()], 3), 100_000, Bytes(1), between);
        agrees(&format!("a probe every {between} ns"), &waits, 0.4 * 40_000.0);
    }
}

#[test]
fn traffic_through_two_equal_links_queues_at_the_first_only() {
    // Packets of one size leave the first link no closer than the second can send them, so at the second a probe
    // waits for one packet at most.
    let mut first = link();
    first.cross = vec![cross(CrossKind::Poisson, 0.6, 2)];
    let waits = poisson_waits(&mut Network::new(&[first, link()], 4), 200_000, Bytes(1), 2_000_000.0);
    let (load, s, probe) = (0.6f64, 80_000.0, 80.0);
    // Where it waited at the first (rho), it follows a packet by its own time, and waits for the rest of it.
    let behind = load * (s - probe);
    // Where it did not, the last packet left an exponential time before, with rate rho / s: E max(0, s - U).
    let after_idle = (1.0 - load) * (s - (1.0 - (-load).exp()) * s / load);
    agrees("two links", &waits, md1(load) + behind + after_idle);
}

#[test]
fn probes_that_come_rarely_meet_the_same_queue() {
    // Long after one another, so that the engine skips what the next probe cannot feel. Pollaczek and Khinchine for
    // two sizes: (sum of rate times squared service) / (2 (1 - rho)).
    for load in [0.3f64, 0.5, 0.7] {
        let mut loaded = link();
        let (long, short) = (load * 0.75, load * 0.25);
        loaded.cross = vec![cross(CrossKind::Poisson, long, 1), cross(CrossKind::Poisson, short, 1)];
        loaded.cross[1].sizes = Bytes(250).into();
        let mut network = Network::new(&[loaded], 11);
        let count = 20_000;
        let waits = poisson_waits(&mut network, count, Bytes(1), 1e9);
        let expected = (long * 80_000.0 + short * 20_000.0) / (2.0 * (1.0 - load));
        agrees(&format!("load {load}"), &waits, expected);
        let offered = count as f64 * (long / 80e-6 + short / 20e-6);
        let drawn = (network.packet_hops() - count) as f64;
        assert!(drawn < 0.5 * offered, "load {load}: {drawn} packets drawn of {offered}");
    }
}

/// Packets of cross traffic that enter within `seconds`, each counted on every link; probes of one byte keep the
/// engine from skipping any.
fn offered(links: &[LinkSpec], seconds: i64) -> f64 {
    let mut network = Network::new(links, 5);
    let probes = seconds * 1_000;
    for key in 1..=probes {
        network.inject(Nanos::from_millis(key), key as u64, Bytes(1));
    }
    network.advance(Nanos::from_secs(seconds), &mut Vec::new());
    network.finish(&mut Vec::new());
    network.packet_hops() as f64 - (probes as usize * links.len()) as f64
}

#[test]
fn cross_traffic_offers_what_was_asked() {
    let seconds = 20;
    let sent = |kind, load, hops, links: usize| {
        let mut links = vec![link(); links];
        links[0].cross = vec![cross(kind, load, hops)];
        offered(&links, seconds)
    };
    // 100 Mb/s hold 12,500 packets of 1,000 B a second.
    let expected = 0.3 * 12_500.0 * seconds as f64;
    assert!((sent(CrossKind::Constant, 0.3, 1, 1) - expected).abs() <= 1.0);
    let poisson = sent(CrossKind::Poisson, 0.3, 1, 1);
    assert!((poisson - expected).abs() < 4.0 * expected.sqrt(), "{poisson} packets, {expected} expected");
    // Entering at the first of four links and leaving after three; the last packets may still be under way.
    assert!((sent(CrossKind::Constant, 0.3, 3, 4) - 3.0 * expected).abs() <= 6.0);
}

#[test]
fn load_counts_what_framing_adds() {
    let mut framed = LinkSpec::new(Some(RATE));
    framed.cross = vec![CrossSpec { sizes: Bytes(60).into(), ..cross(CrossKind::Constant, 0.5, 1) }];
    // A short frame takes 72 B and a gap of 12.
    let expected = 0.5 * 100e6 / (84.0 * 8.0);
    assert!((offered(&[framed.clone()], 1) - expected).abs() <= 1.0);
    framed.cross[0].offered = Offered::Rate(BitRate::from_mbps(50));
    assert!((offered(&[framed], 1) - expected).abs() <= 1.0);
}

#[test]
fn cross_traffic_leaves_where_it_was_told() {
    let mut links = vec![link(), link(), link()];
    links[0].cross = vec![cross(CrossKind::Poisson, 0.9, 2)];
    // A probe that enters behind the loaded links, as it were: the third link alone has no queue.
    let alone = poisson_waits(&mut Network::new(&links[..2], 8), 5_000, Bytes(1), 1_000_000.0);
    let with_third = poisson_waits(&mut Network::new(&links, 8), 5_000, Bytes(1), 1_000_000.0);
    assert_eq!(alone, with_third);
}

#[test]
fn random_loss_is_as_asked() {
    let mut lossy = link();
    lossy.loss = 0.2;
    let mut network = Network::new(&[lossy], 9);
    let arrived = poisson_waits(&mut network, 50_000, Bytes(100), 1_000_000.0).len() as f64;
    let sigma = (50_000.0f64 * 0.2 * 0.8).sqrt();
    assert!((arrived - 40_000.0).abs() < 4.0 * sigma, "{arrived} of 50000 arrived");
}

#[test]
fn overload_loses_the_excess() {
    // 150 % on a short queue: a third is lost. Cross traffic enters through the same queue as the probes.
    let mut narrow = LinkSpec { queue: QueueLimit::Packets(10), ..link() };
    narrow.cross = vec![cross(CrossKind::Poisson, 1.5, 1)];
    let mut network = Network::new(&[narrow], 10);
    let arrived = poisson_waits(&mut network, 20_000, Bytes(1), 5_000_000.0).len() as f64 / 20_000.0;
    assert!((arrived - 1.0 / 1.5).abs() < 0.02, "{arrived} of the probes arrived");
}
