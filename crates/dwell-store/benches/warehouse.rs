//! How fast records are kept, and a million connections joined: `cargo bench -p dwell-store`. Asked for: 300,000 records
//! a second into each, and the join of 1 M connections that 3 probes saw in 2 s (SQLite) and 1 s (two shards). Then what a step
//! of `dwell sections --follow` costs.

#[expect(dead_code, reason = "the tests end servers and ask them, this does not")]
#[path = "../tests/warehouse/cluster.rs"]
mod cluster;
#[path = "../tests/warehouse/sample.rs"]
mod sample;

use cluster::Cluster;
use dwell_core::Nanos;
use dwell_store::warehouse::{ClickHouse, Day, SLACK, Span, Sqlite, Store};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const CONNECTIONS: u32 = 1_000_000;
const BATCH: u32 = 50_000;
/// They are a day's.
const APART: Nanos = Nanos(86_400_000_000_000 / CONNECTIONS as i64);
const PROBES: [&str; 3] = ["alpha", "beta", "gamma"];

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    bench("SQLite", &mut Sqlite::create(folder.path()).expect("a warehouse"));
    let Some(cluster) = Cluster::start() else { return };
    let at = cluster.place("default").parse().expect("a place");
    bench(
        "ClickHouse, two shards",
        &mut ClickHouse::create(at, Cluster::credentials()).expect("a warehouse"),
    );
}

fn bench(name: &str, store: &mut dyn Store) {
    let start = Day::of(sample::NOON).start();
    let mut spent = Duration::ZERO;
    for (place, probe) in PROBES.iter().enumerate() {
        for serial in 0..CONNECTIONS / BATCH {
            let record = |n| {
                let n = serial * BATCH + n;
                let far = 1_000_000 * (place as i64 + 1);
                sample::handshake(n, start + Nanos(APART.0 * i64::from(n)), 9_000_000 - far, far)
            };
            let batch = sample::batch(probe, serial.into(), (0..BATCH).map(record).collect());
            let begun = Instant::now();
            store.keep(&batch).expect("kept");
            spent += begun.elapsed();
        }
    }
    let records = f64::from(CONNECTIONS) * PROBES.len() as f64;
    println!("{name}: {:.0} records/s kept", records / spent.as_secs_f64());
    let probes = PROBES.map(str::to_owned);
    for run in 1..=3 {
        let (mut connections, mut sights) = (0u32, 0usize);
        let begun = Instant::now();
        store
            .connections(&probes, Span::ALL, SLACK, &mut |connection| {
                connections += 1;
                sights += connection.sights.len();
                ControlFlow::Continue(())
            })
            .expect("joined");
        let spent = begun.elapsed().as_secs_f64();
        assert_eq!((connections, sights), (CONNECTIONS, 3 * CONNECTIONS as usize));
        println!("{name}: {connections} connections of 3 probes joined in {spent:.2} s (run {run})");
    }
    // As `dwell sections --follow` does each second.
    let span = Span { from: start + Nanos(86_280_000_000_000), until: Nanos::MAX };
    for look in 1..=4 {
        let mut connections = 0u32;
        let begun = Instant::now();
        let mut count = |_| {
            connections += 1;
            ControlFlow::Continue(())
        };
        store.connections(&probes, span, SLACK, &mut count).expect("joined");
        let spent = begun.elapsed().as_secs_f64() * 1e3;
        println!(
            "{name}: the {connections} of the last 120 s of that day found in {spent:.0} ms (look {look})"
        );
    }
}
