//! How fast records are kept, and a million connections joined: `cargo bench -p dwell-store`. Asked for: 300,000 records
//! a second into each, and the join of 1 M connections that 3 probes saw in 2 s (SQLite) and 1 s (two shards). Then what looks
//! of `dwell sections --follow` cost, of a thousand connections a second.

#[expect(dead_code, reason = "the tests end servers and ask them, this does not")]
#[path = "../tests/warehouse/cluster.rs"]
mod cluster;
#[path = "../tests/warehouse/sample.rs"]
mod sample;

use cluster::Cluster;
use dwell_core::Nanos;
use dwell_store::warehouse::{ClickHouse, Day, SLACK, Span, Sqlite, Store};
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

const CONNECTIONS: u32 = 1_000_000;
const BATCH: u32 = 50_000;
/// They are a day's.
const APART: Nanos = Nanos(86_400_000_000_000 / CONNECTIONS as i64);
/// What is followed.
const EACH_SECOND: u32 = 1_000;
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
    let spent = keep(store, 0..CONNECTIONS, start, APART);
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
    follow(name, store, start + Nanos::from_secs(86_400));
}

/// What looks of `dwell sections --follow` cost, on the next day: it has the seconds of a quarter of an hour, each with so many
/// connections.
fn follow(name: &str, store: &mut dyn Store, start: Nanos) {
    let second = Nanos::from_secs;
    let (seconds, apart) = (900, Nanos(second(1).0 / i64::from(EACH_SECOND)));
    let end = start + second(seconds.into());
    keep(store, CONNECTIONS..CONNECTIONS + seconds * EACH_SECOND, start, apart);
    let looks = [("all that is looked back for", 120, SLACK), ("what is near", 10, second(5))];
    for (look, back, slack) in looks.into_iter().flat_map(|look| [look; 3]) {
        let span = Span { from: end - second(back), until: Nanos::MAX };
        let mut connections = 0u32;
        let begun = Instant::now();
        let mut count = |_| {
            connections += 1;
            ControlFlow::Continue(())
        };
        store.connections(&PROBES.map(str::to_owned), span, slack, &mut count).expect("joined");
        let spent = begun.elapsed().as_secs_f64() * 1e3;
        assert_eq!(connections, EACH_SECOND * back as u32);
        println!("{name}: {look}, {connections} connections of {back} s, found in {spent:.0} ms");
    }
}

/// Keeps what all probes say of these connections; says how long that took.
fn keep(store: &mut dyn Store, connections: Range<u32>, start: Nanos, apart: Nanos) -> Duration {
    let mut spent = Duration::ZERO;
    for (place, probe) in PROBES.iter().enumerate() {
        for first in connections.clone().step_by(BATCH as usize) {
            let record = |n| {
                let far = 1_000_000 * (place as i64 + 1);
                let at = start + Nanos(apart.0 * i64::from(n - connections.start));
                sample::handshake(n, at, 9_000_000 - far, far)
            };
            let of_it = first..connections.end.min(first + BATCH);
            let batch = sample::batch(probe, first.into(), of_it.map(record).collect());
            let begun = Instant::now();
            store.keep(&batch).expect("kept");
            spent += begun.elapsed();
        }
    }
    spent
}
