//! Nothing is lost: probe, warehouse, store, disk and network fail at random moments under load, and every record
//! counts exactly once, or is counted as given up with the reason. Real processes, killed by SIGKILL.
//!
//! `DWELL_SOAK=600` has each failure go on for so many seconds; `DWELL_SEED=7` begins in the same way again.

#[expect(dead_code, reason = "the store's own tests ask the servers, this does not")]
#[path = "../../../dwell-store/tests/warehouse/cluster.rs"]
mod cluster;
mod judge;
mod namespace;
mod probe;
mod sqlite_lock;
mod warehouse;
mod world;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("probe") => probe::run(&arguments[2..]),
        Some("warehouse") => warehouse::run(&arguments[2..]),
        // What a test runner asks of a harness is not for us.
        Some("--list") => {}
        _ => run_all(arguments.get(1).filter(|name| !name.starts_with('-')).map(String::as_str)),
    }
}

/// Moments that repeat with their seed.
pub(crate) struct Chance(SplitMix64);

impl Chance {
    /// A time between two numbers of milliseconds.
    pub(crate) fn millis(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.0.next_u64() % (range.end - range.start))
    }

    /// One of so many.
    pub(crate) fn one_of(&mut self, many: u64) -> u64 {
        self.0.next_u64() % many
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// What fails, and how to make a world in which it can.
type Failure = (&'static str, fn() -> Option<World>, fn(&mut World, &mut Chance));

fn run_all(only: Option<&str>) {
    let seed = number("DWELL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let span = number("DWELL_SOAK").map_or(Duration::from_millis(2_500), Duration::from_secs);
    let failures: [Failure; 7] = [
        ("probe killed", World::plain, World::kill_probe),
        ("warehouse killed", World::plain, World::kill_warehouse),
        ("store locked", World::plain, World::lock_store),
        ("ClickHouse killed", World::on_clickhouse, World::kill_clickhouse),
        ("disk full", World::on_small_disk, World::fill_disk),
        ("network cut", World::on_two_hosts, World::cut_network),
        ("all of it", World::on_two_hosts_with_small_disk, any),
    ];
    for (name, make, fail) in failures {
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let mut chance = Chance(SplitMix64::seed_from_u64(seed));
        let Some(mut world) = make() else {
            println!(
                "test {name} ... skipped: it takes root to make namespaces, or the package of ClickHouse"
            );
            continue;
        };
        println!("test {name}, DWELL_SEED={seed} ...");
        let until = Instant::now() + span;
        let mut times = 0;
        while Instant::now() < until || times == 0 {
            std::thread::sleep(chance.millis(20..300));
            fail(&mut world, &mut chance);
            times += 1;
        }
        let told = world.end(name);
        assert!(name != "disk full" || told.contains("disk-full"), "the disk was not full: {told}");
        println!("test {name} ... ok: {times} times, {told}");
    }
}

/// Any failure at any moment.
fn any(world: &mut World, chance: &mut Chance) {
    let all =
        [World::kill_probe, World::kill_warehouse, World::lock_store, World::fill_disk, World::cut_network];
    all[chance.one_of(all.len() as u64) as usize](world, chance);
}
