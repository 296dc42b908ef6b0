//! Methods for capacity on paths whose narrow link is known: what their authors published of them, and where they fail.

use dwell_core::capacity::modes::Mode;
use dwell_core::capacity::{
    Bprobe, Capprobe, Nettimer, PacketPair, Pathrate, bprobe, capprobe, nettimer, packet_pair, pathrate,
};
use dwell_core::stats::quantile::median;
use dwell_core::{Finding, Method, Path, PathFacts, Quantity, Report, run};
use dwell_sim::{Scenario, SimPath};

/// 200 Mb/s, 100 Mb/s, 150 Mb/s, 1 Gb/s; traffic of others on the second and the third.
fn path(narrow: u32, behind: u32, size: u32, nic: &str) -> Scenario {
    let cross = |load| match load {
        0 => String::new(),
        _ => format!("[[links.cross]]\nkind = 'poisson'\nload = '{load} %'\nsize = '{size} B'\n"),
    };
    let text = format!(
        "name = 'narrow link in the middle'\n\
         [destination]\n{nic}\n\
         [[links]]\nrate = '200 Mb/s'\npropagation = '10 us'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{}\
         [[links]]\nrate = '150 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{}\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n",
        cross(narrow),
        cross(behind)
    );
    Scenario::parse("capacity.toml", &text).unwrap()
}

fn measured(method: &mut dyn Method, scenario: &Scenario, seed: u64) -> Report {
    run(method, &mut SimPath::new(scenario, seed), None, |_| ()).unwrap();
    method.report()
}

fn facts(scenario: &Scenario) -> PathFacts {
    SimPath::new(scenario, 0).facts()
}

fn of(report: &Report, quantity: Quantity) -> Option<f64> {
    report.finding(quantity).estimate().map(|bps| bps / 1e6)
}

/// Estimates in Mb/s over several seeds; what was not measurable is zero.
fn estimates(scenario: &Scenario, method: impl Fn(&PathFacts) -> Box<dyn Method>, runs: u64) -> Vec<f64> {
    let facts = facts(scenario);
    let one = |seed| of(&measured(&mut *method(&facts), scenario, seed), Quantity::NarrowLinkCapacity);
    (0..runs).map(|seed| one(seed).unwrap_or(0.0)).collect()
}

/// How a method is made.
type Make = fn(&PathFacts) -> Box<dyn Method>;

fn every() -> Vec<(&'static str, Make)> {
    vec![
        ("packet-pair", |facts| Box::new(PacketPair::new(packet_pair::Config::default(), facts))),
        ("capprobe", |facts| Box::new(Capprobe::new(capprobe::Config::default(), facts))),
        ("bprobe", |facts| Box::new(Bprobe::new(bprobe::Config::default(), facts))),
        ("nettimer", |facts| Box::new(Nettimer::new(nettimer::Config::default(), facts))),
        ("pathrate", |facts| Box::new(Pathrate::new(pathrate::Config::default(), facts))),
    ]
}

#[test]
fn all_are_right_on_an_idle_path() {
    let scenario = path(0, 0, 602, "");
    for (name, method) in every() {
        for found in estimates(&scenario, method, 3) {
            assert!((98.0..102.0).contains(&found), "{name}: {found} for 100");
        }
    }
}

#[test]
fn most_are_right_under_light_load() {
    let scenario = path(20, 10, 602, "");
    for (name, method) in every() {
        let found = median(&estimates(&scenario, method, 5)).unwrap();
        println!("{name}: {found}");
        assert!((95.0..105.0).contains(&found), "{name}: {found} for 100");
    }
}

#[test]
fn pairs_crowd_below_and_above_the_capacity() {
    // Dovrolis, Ramanathan, Moore 2004, section III: traffic on the narrow link makes a sub-capacity dispersion range,
    // traffic behind it post-narrow capacity modes, at the rate of the link there.
    let seen = |scenario: &Scenario| {
        let config = packet_pair::Config { pairs: 1_000, ..Default::default() };
        let mut method = PacketPair::new(config, &facts(scenario));
        run(&mut method, &mut SimPath::new(scenario, 3), None, |_| ()).unwrap();
        method.modes()
    };
    let near =
        |modes: &[Mode], mbps: f64| modes.iter().any(|mode| (mode.middle() / 1e6 - mbps).abs() < 0.03 * mbps);
    let before = seen(&path(60, 0, 1526, ""));
    println!("{before:?}");
    // One packet of the same size between the two: half the capacity.
    assert!(near(&before, 100.0) && near(&before, 50.0), "{before:?}");
    let behind = seen(&path(0, 80, 1526, ""));
    println!("{behind:?}");
    assert!(near(&behind, 150.0), "{behind:?}");
}

#[test]
fn a_queue_behind_the_narrow_link_misleads_pairs_and_not_capprobe() {
    let scenario = path(0, 80, 1526, "");
    let [pairs, capprobe] = [0, 1].map(|place| median(&estimates(&scenario, every()[place].1, 5)).unwrap());
    println!("packet-pair {pairs}, capprobe {capprobe}");
    assert!((pairs - 100.0).abs() > 20.0, "{pairs}");
    assert!((98.0..102.0).contains(&capprobe), "{capprobe}");
}

#[test]
fn pathrate_tells_the_dispersion_rate_between_free_and_capacity_and_the_mode_above_it() {
    let scenario = path(50, 0, 602, "");
    for seed in 0..3 {
        let mut method = Pathrate::new(pathrate::Config::default(), &facts(&scenario));
        let report = measured(&mut method, &scenario, seed);
        let rate = of(&report, Quantity::DispersionRate).unwrap_or_else(|| panic!("{report:?}"));
        assert!((50.0..99.0).contains(&rate), "{rate}");
        let found = of(&report, Quantity::NarrowLinkCapacity).unwrap();
        println!("ADR {rate}, capacity {found}");
        assert!((95.0..105.0).contains(&found), "{found}");
    }
}

#[test]
fn coalescing_misleads_pairs() {
    // papers/004: pairs mean nothing where the NIC gathers packets. One that holds all for longer than a pair lasts lets
    // both come at once: no figure.
    let scenario = path(0, 0, 602, "nic = { hold = { period = '250 us' } }");
    for (name, method) in every() {
        let report = measured(&mut *method(&facts(&scenario)), &scenario, 1);
        let finding = report.finding(Quantity::NarrowLinkCapacity);
        assert!(matches!(finding, Finding::Unmeasurable { .. }), "{name}: {report:?}");
    }
    // One that interrupts at most every 150 us makes that the dispersion, of every pair: 122 us read as 150.
    let scenario = path(0, 0, 602, "nic = { throttle = { period = '150 us' } }");
    for found in estimates(&scenario, every()[0].1, 3) {
        assert!((80.0..84.0).contains(&found), "{found}");
    }
}
