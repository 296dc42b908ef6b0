//! Packet-hops per second of the engine on one core. A packet-hop is one packet, injected or of cross traffic, that
//! one link accepts or drops; a packet that passes three links counts three times ([`Network::packet_hops`]), and cross
//! traffic that the engine skips not at all.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{CrossKind, CrossSpec, LinkSpec, Network, Offered};
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
    group.sample_size(20).measurement_time(std::time::Duration::from_secs(3));
    let mut bench = |name, links: &[LinkSpec], run: fn(&mut Network) -> u64| {
        let hops = run(&mut Network::new(links, 1));
        group.throughput(Throughput::Elements(hops));
        group.bench_function(name, |bencher| {
            bencher.iter_with_setup(|| Network::new(links, 1), |mut network| run(&mut network));
        });
    };
    bench("probes, single-hop cross traffic of 60 % on each of 5 links", &crossed_once, pairs);
    bench("probes, cross traffic of 60 % through all 5 links", &crossed_through, pairs);
    bench("probes only, back to back over 8 links", &plain, stream);
    group.finish();
}

criterion_group!(benches, packet_hops);
criterion_main!(benches);
