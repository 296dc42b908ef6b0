//! Counters of links against what was offered, and against what packets met.

use dwell_core::truth::Usage;
use dwell_core::{Bytes, Departure, Direction, Nanos, Path, Quantity, Train};
use dwell_sim::{Scenario, SimPath};

fn path(links: &str, seed: u64) -> SimPath {
    let scenario = Scenario::parse("counters.toml", &format!("name = 'counted'\n{links}"));
    SimPath::new(&scenario.unwrap_or_else(|error| panic!("{error}")), seed)
}

/// What the links carry while `trains` pairs are sent, one each `pause`.
fn used(path: &mut SimPath, trains: usize, pause: Nanos) -> Usage {
    let pair = Train::pair(Bytes(1526), Bytes(1526), Nanos::ZERO);
    let before = path.reading(Direction::Forward).unwrap().unwrap();
    path.carry(&vec![Departure { pause, train: pair }; trains]).unwrap();
    before.until(&path.reading(Direction::Forward).unwrap().unwrap()).unwrap()
}

fn cross(kind: &str, load: f64, more: &str) -> String {
    format!("[[links.cross]]\nkind = {kind}\nload = {load}\n{more}\n")
}

/// Whether `found` is within `share` of `truth`.
fn near(found: f64, truth: f64, share: f64) {
    assert!((found - truth).abs() <= share * truth, "{found} for {truth}");
}

const PARETO: &str = "{ pareto = { shape = 1.5, on = '1 ms', peak = '60 Mb/s' } }";

#[test]
fn what_is_offered_is_counted_whether_it_is_drawn_or_not() {
    for kind in ["'constant'", "'poisson'", PARETO] {
        for size in [
            "size = '72 B'",
            "size = '584 B'",
            "sizes = [{ size = '72 B', weight = 3 }, { size = '1526 B', weight = 1 }]",
        ] {
            let link = format!("[[links]]\nrate = '100 Mb/s'\n{}", cross(kind, 0.3, size));
            // Pairs far apart, between which hardly anything is drawn, and pairs so dense that all of it is.
            let hops = [(20, 200), (4_000, 1)].map(|(trains, ms)| {
                let mut path = path(&link, 7);
                let used = used(&mut path, trains, Nanos::from_millis(ms));
                let within = if kind == PARETO { 0.25 } else { 0.03 };
                near(used.links[0].cross, 30e6, within);
                near(used.truths()[&Quantity::AvailableBandwidth], 100e6 - used.links[0].cross, 1e-9);
                let pairs = trains as f64 * 2.0 * 1538.0 * 8.0 / used.span.as_secs_f64();
                near(used.links[0].own, pairs, 0.01);
                used.links[0].cross
            });
            assert!(hops[0] > 0.0, "{hops:?}");
        }
    }
}

#[test]
fn readings_change_nothing_and_add_up() {
    let link = format!("[[links]]\nrate = '100 Mb/s'\n{}", cross("'poisson'", 0.4, ""));
    let fleet = vec![Departure {
        pause: Nanos::from_millis(60),
        train: Train::pair(Bytes(200), Bytes(1526), Nanos::ZERO),
    }];
    let (mut watched, mut unwatched) = (path(&link, 3), path(&link, 3));
    let first = watched.reading(Direction::Forward).unwrap().unwrap();
    let mut last = first.clone();
    let mut sum = 0.0;
    for _ in 0..50 {
        assert_eq!(watched.carry(&fleet).unwrap(), unwatched.carry(&fleet).unwrap());
        let next = watched.reading(Direction::Forward).unwrap().unwrap();
        let used = last.until(&next).unwrap();
        sum += used.links[0].cross * used.span.as_secs_f64();
        last = next;
    }
    let used = first.until(&last).unwrap();
    near(sum, used.links[0].cross * used.span.as_secs_f64(), 1e-9);
    near(used.links[0].cross, 40e6, 0.04);
}

#[test]
fn what_is_dropped_is_offered_and_not_carried() {
    let link = format!("[[links]]\nrate = '10 Mb/s'\nqueue = '4 packets'\n{}", cross("'poisson'", 0.98, ""));
    let used = used(&mut path(&link, 1), 200, Nanos::from_millis(20));
    near(used.links[0].offered, 9.8e6, 0.04);
    assert!(used.links[0].cross < 0.93 * used.links[0].offered, "{:?}", used.links[0]);
    assert!(used.links[0].cross + used.links[0].own <= 10.01e6, "{:?}", used.links[0]);
}

#[test]
fn the_tight_link_is_found_where_it_is_not_the_narrow_one() {
    let links = format!(
        "[[links]]\nrate = '622 Mb/s'\n{}[[links]]\nrate = '155 Mb/s'\n",
        cross("'poisson'", 0.9, "")
    );
    let used = used(&mut path(&links, 5), 100, Nanos::from_millis(10));
    assert_eq!((used.tight().unwrap().link, used.narrow().unwrap().link), (0, 1));
    near(used.truths()[&Quantity::AvailableBandwidth], 62.2e6, 0.05);
    near(used.truths()[&Quantity::TightLinkCapacity], 622e6, 1e-9);
    near(used.truths()[&Quantity::NarrowLinkCapacity], 155e6, 1e-9);
}

#[test]
fn traffic_of_several_links_is_counted_on_each() {
    let links = format!(
        "[[links]]\nrate = '100 Mb/s'\n{}[[links]]\nrate = '50 Mb/s'\n[[links]]\nrate = '50 Mb/s'\n",
        cross("'constant'", 0.2, "hops = 2")
    );
    let used = used(&mut path(&links, 5), 300, Nanos::from_millis(5));
    near(used.links[0].cross, 20e6, 0.01);
    near(used.links[1].cross, 20e6, 0.01);
    assert_eq!(used.links[2].cross, 0.0);
    assert_eq!(used.tight().unwrap().link, 1);
}

#[test]
fn a_token_bucket_is_told_as_the_link_that_it_makes_of_the_path() {
    let links = format!(
        "[[links]]\nrate = '1 Gb/s'\nshaper = {{ rate = '100 Mb/s', burst = '30 kB' }}\n{}",
        "[[links.cross]]\nkind = 'constant'\nrate = '40 Mb/s'\n"
    );
    let used = used(&mut path(&links, 5), 100, Nanos::from_millis(10));
    // The bucket does not count the 12 bytes between frames.
    near(used.truths()[&Quantity::TightLinkCapacity], 100e6 * 1538.0 / 1526.0, 1e-6);
    near(used.links[0].cross, 40e6, 0.01);
}
