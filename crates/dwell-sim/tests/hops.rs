//! TTL-limited probing on the simulator: what the methods' authors saw, with routers that tell, limit, and keep silent.

use dwell_core::hop::{HopFound, Joined, Walk, run};
use dwell_core::{Finding, Nanos};
use dwell_sim::{Scenario, SimHops};

/// Looks at a path; the time that it took too.
fn walk(scenario: &str, seed: u64) -> (Joined, Nanos) {
    let scenario = Scenario::parse("hops.toml", &format!("name = 'hops'\n{scenario}")).unwrap();
    let mut path = SimHops::new(&scenario, seed);
    let mut walk = Walk::new(dwell_core::hop::HopPath::facts(&path), Nanos::from_secs(60));
    let effort = run(&mut walk, &mut path, |_| ()).unwrap();
    (walk.joined(), effort.span)
}

/// Links of these rates in Mb/s, each with Poisson cross traffic of this load.
fn links(rates: &[u32], load: f64) -> String {
    let cross =
        if load > 0.0 { format!("cross = [{{ load = {load}, kind = 'poisson' }}]") } else { String::new() };
    rates
        .iter()
        .map(|rate| format!("[[links]]\nrate = '{rate} Mb/s'\npropagation = '50 us'\n{cross}\n"))
        .collect()
}

/// How far a finding is from the truth, as a share of it.
#[track_caller]
fn error(found: &Finding, truth: f64) -> f64 {
    let value = found.estimate().unwrap_or_else(|| panic!("no value: {found:?}"));
    (value / truth - 1.0).abs()
}

fn at(joined: &Joined, hop: u8) -> &HopFound {
    &joined.hops[usize::from(hop) - 1]
}

#[test]
fn idle_links_are_known_one_by_one() {
    let rates = [100, 10, 50, 1000, 100];
    let (joined, _) = walk(&links(&rates, 0.0), 1);
    assert_eq!(joined.hops.len(), rates.len());
    for (hop, rate) in (1..).zip(rates) {
        let wrong = error(&at(&joined, hop).capacity, f64::from(rate) * 1e6);
        assert!(wrong < 0.05, "hop {hop}: {:?}", at(&joined, hop).capacity);
    }
    // Dispersion sees the narrowest link so far.
    for (hop, rate) in [(1, 100.0), (2, 10.0), (3, 10.0), (4, 10.0), (5, 10.0)] {
        let wrong = error(&at(&joined, hop).segment_capacity, rate * 1e6);
        assert!(wrong < 0.02, "hop {hop}: {:?}", at(&joined, hop).segment_capacity);
    }
    assert_eq!(joined.narrow_hop, Some(2));
    assert!(joined.hops.iter().all(|hop| hop.hidden.is_none()), "{joined:#?}");
}

#[test]
fn table() {
    for load in [0.0, 0.3, 0.6, 0.8] {
        for rates in [
            [100; 6],
            [100, 10, 100, 10, 100, 10],
            [1000, 1000, 1000, 1000, 1000, 1000],
            [10, 100, 1000, 100, 10, 100],
        ] {
            let (joined, span) = walk(&links(&rates, load), 3);
            println!("load {load} rates {rates:?} span {span}");
            for hop in &joined.hops {
                println!(
                    "   {} {:?} {:?} {}/{} hid {:?}",
                    hop.hop,
                    brief(&hop.capacity),
                    brief(&hop.segment_capacity),
                    hop.answered,
                    hop.asked,
                    hop.hidden
                );
            }
            println!(
                "   narrow {:?} tight {:?}",
                joined.narrow_hop,
                joined.tight.as_ref().map(|t| (t.hop, t.trains, brief(&t.free)))
            );
        }
    }
}

fn brief(finding: &Finding) -> String {
    match finding {
        Finding::Value { value, low, high, .. } => {
            format!("{:.1} ({:.1}..{:.1})", value / 1e6, low / 1e6, high / 1e6)
        }
        Finding::Bound { bound, side, .. } => format!("{side:?} {:.1}", bound / 1e6),
        Finding::Unmeasurable { reason } => reason.clone(),
    }
}
