//! Packet-hops per second of the engine on one core. A packet-hop is one packet, injected or of cross traffic, that
//! one link accepts or drops; a packet that passes three links counts three times ([`Network::packet_hops`]), and cross
//! traffic that the engine skips not at all.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{
    Balance, CrossKind, CrossSpec, Discipline, LinkSpec, Network, Offered, Reordering, Shaper, Times,
};
use std::hint::black_box;

/// `count` links of 1 Gb/s.
fn links(count: usize) -> Vec<LinkSpec> {
    vec![LinkSpec { propagation: Nanos(10_000), ..LinkSpec::new(Some(BitRate::from_mbps(1000))) }; count]
}

fn poisson(load: f64, hops: usize) -> CrossSpec {
    CrossSpec {
        kind: CrossKind::Poisson,
        offered: Offered::Load(load),
        sizes: Bytes(826).into(),
        hops,
        priority: 0,
    }
}

/// Five links of a kind, with cross traffic of 60 % on each, and with 30 % through all of them besides 30 % on each.
fn crossed(kind: &LinkSpec) -> [Vec<LinkSpec>; 2] {
    let each = |load| {
        let load = |link: &LinkSpec| LinkSpec { cross: vec![poisson(load, 1)], ..link.clone() };
        if kind.parallel.is_empty() {
            load(kind)
        } else {
            LinkSpec::bundle(kind.parallel.iter().map(load).collect(), kind.balance)
        }
    };
    let mut through = vec![each(0.3); 5];
    // A bundle takes no flow of its own: one that passes it enters before.
    through.insert(0, LinkSpec { cross: vec![poisson(0.3, 6)], ..links(1).remove(0) });
    [vec![each(0.6); 5], through]
}

/// 200 pairs, 5 ms apart: one second of virtual time. Returns the packet-hops that it took.
fn pairs(network: &mut Network) -> u64 {
    let mut out = Vec::new();
    for key in 0..200 {
        let at = Nanos::from_millis(5 * key + 5);
        network.inject(at, key as u64, Bytes(88));
        network.inject(at + Nanos(30_000), key as u64, Bytes(88));
    }
    network.finish(&mut out);
    black_box(out);
    network.packet_hops()
}

/// 20,000 packets back to back.
fn stream(network: &mut Network) -> u64 {
    let mut out = Vec::new();
    for key in 0..20_000 {
        network.inject(Nanos(key * 12_304), key as u64, Bytes(1526));
    }
    network.finish(&mut out);
    black_box(out);
    network.packet_hops()
}

fn packet_hops(criterion: &mut Criterion) {
    let mut crossed_once = links(5);
    crossed_once.iter_mut().for_each(|link| link.cross = vec![poisson(0.6, 1)]);
    let mut crossed_through = links(5);
    crossed_through[0].cross = vec![poisson(0.6, 5)];
    let plain = links(8);

    let mut group = criterion.benchmark_group("packet-hops");
    group
        .sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    let mut bench = |name: &str, links: &[LinkSpec], run: fn(&mut Network) -> u64| {
        let hops = run(&mut Network::new(links, 1));
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            bencher.iter_with_setup(|| Network::new(links, 1), |mut network| run(&mut network));
        });
    };
    bench("probes, single-hop cross traffic of 60 % on each of 5 links", &crossed_once, pairs);
    bench("probes, cross traffic of 60 % through all 5 links", &crossed_through, pairs);
    bench("probes only, back to back over 8 links", &plain, stream);

    let plain = links(1).remove(0);
    let shaper = Shaper { rate: BitRate::from_mbps(900), burst: Bytes(20_000), peak: None };
    let late = Reordering { share: 0.01, by: Times::Fixed(Nanos(100_000)) };
    let kinds = [
        ("fair", LinkSpec { discipline: Discipline::Fair, ..plain.clone() }),
        ("priority", LinkSpec { discipline: Discipline::Priority { probes: 1 }, ..plain.clone() }),
        ("token bucket", LinkSpec { shaper: Some(shaper), ..plain.clone() }),
        ("reordering", LinkSpec { reordering: Some(late), duplication: 0.01, ..plain.clone() }),
        ("parallel", LinkSpec::bundle(vec![plain.clone(); 2], Balance::Packet)),
    ];
    for (name, kind) in &kinds {
        let [each, through] = crossed(kind);
        bench(&format!("{name}: 60 % on each of 5 links"), &each, pairs);
        bench(&format!("{name}: 30 % on each of 5 links and 30 % through all"), &through, pairs);
        bench(&format!("{name}: probes only, back to back"), std::slice::from_ref(kind), stream);
    }
    let fast = LinkSpec { cross: vec![poisson(0.6, 1)], ..LinkSpec::new(Some(BitRate::from_mbps(100_000))) };
    bench("probes, 60 % on each of 30 links of 100 Gb/s", &vec![fast; 30], pairs);
    group.finish();
}

criterion_group!(benches, packet_hops);
criterion_main!(benches);
