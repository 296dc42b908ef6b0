//! What the resolution of the receiver's clock does to `knee` and `end-link`: the same packets, read on a fine clock and
//! on a coarse one, give estimates no further apart than `dwell_core::sizing::clock` says.

use dwell_core::capacity::EndLink;
use dwell_core::host::Knee;
use dwell_core::sizing::clock;
use dwell_core::{BitRate, Bytes, Fate, Finding, Method, Nanos, Observation, Path, PathFacts, Quantity, run};
use dwell_sim::{Scenario, SimPath};

/// The observation as a receiver's clock of resolution `tick` would have made it.
fn coarse(observation: &Observation, tick: i64) -> Observation {
    let mut coarse = observation.clone();
    let floor = |at: Nanos| Nanos(at.0.div_euclid(tick) * tick);
    for arrival in coarse.fates.iter_mut().filter_map(|fate| fate.arrival.as_mut()) {
        arrival.stamps.application = floor(arrival.stamps.application);
        arrival.stamps.kernel = arrival.stamps.kernel.map(floor);
    }
    coarse
}

/// A run of `build`'s method, and the estimates of it that a fine clock and a coarse one give. Also what was seen.
fn both(
    scenario: &str,
    tick: i64,
    seed: u64,
    quantity: Quantity,
    build: &dyn Fn(&PathFacts) -> Box<dyn Method>,
) -> (Finding, Finding, Vec<Observation>) {
    let scenario = Scenario::parse("test", scenario).expect("a scenario");
    let mut path = SimPath::new(&scenario, seed);
    let facts = path.facts();
    let mut seen = Vec::new();
    let mut fine = build(&facts);
    run(&mut *fine, &mut path, None, |passage| seen.push(passage.observation)).expect("it runs");
    let mut rough = build(&PathFacts { resolution: Nanos(tick), ..facts });
    seen.iter().for_each(|observation| rough.see(&coarse(observation, tick)));
    (fine.report().finding(quantity), rough.report().finding(quantity), seen)
}

/// How long the longest burst of equal packets took.
fn longest_burst(seen: &[Observation]) -> f64 {
    let equal =
        |fates: &[Fate]| fates.len() > 2 && fates.windows(2).all(|two| two[0].packet == two[1].packet);
    let at = |fate: Option<&Fate>| Some(fate?.arrival?.stamps.nearest_wire());
    let bursts = seen.iter().filter(|observation| equal(&observation.fates));
    let spans = bursts.filter_map(|burst| Some(at(burst.fates.last())? - at(burst.fates.first())?));
    spans.max().map_or(0.0, Nanos::as_f64)
}

/// Trailing sizes of the lone compound probes.
fn trailing_sizes(seen: &[Observation]) -> Vec<Bytes> {
    let pairs = seen.iter().filter(|observation| observation.fates.len() == 2);
    let mut sizes: Vec<Bytes> = pairs.map(|observation| observation.fates[1].packet.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[test]
fn knee_is_off_by_a_tick_at_most() {
    let scenario = "name = 'knee'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '100 Mb/s'";
    let mut values = 0;
    for tick in [100, 1_000, 4_000] {
        for seed in 0..8 {
            let (fine, rough, _) = both(scenario, tick, seed, Quantity::ApplicationStage, &|facts| {
                Box::new(Knee::new(Default::default(), facts))
            });
            let (Some(fine), Some(rough)) = (fine.estimate(), rough.estimate()) else { continue };
            values += 1;
            let most = clock::knee(Nanos(tick)).most;
            assert!((fine - rough).abs() <= most, "tick {tick}, seed {seed}: {fine} and {rough}");
        }
    }
    assert!(values >= 20, "only {values} of 24 runs gave values on both clocks");
}

#[test]
fn a_capacity_is_off_by_its_bound_at_most() {
    let mut values = 0;
    for mbps in [10, 100, 1_000] {
        let scenario =
            format!("name = 'end link'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '{mbps} Mb/s'");
        for tick in [100, 1_000] {
            for seed in 0..4 {
                let (fine, rough, seen) = both(&scenario, tick, seed, Quantity::EndLinkCapacity, &|facts| {
                    Box::new(EndLink::new(Default::default(), facts))
                });
                let (Some(fine), Some(rough)) = (fine.estimate(), rough.estimate()) else { continue };
                values += 1;
                let rate = BitRate::from_mbps(mbps);
                let most =
                    clock::end_link(Nanos(tick), longest_burst(&seen), &trailing_sizes(&seen), rate).most;
                let off = (rough / fine - 1.0).abs();
                assert!(off <= most, "{mbps} Mb/s, tick {tick}, seed {seed}: off by {off}, at most {most}");
            }
        }
    }
    // Coarse ticks hide small packets, and then the end link is a bound: so half of the runs at least.
    assert!(values >= 12, "only {values} of 24 runs gave values on both clocks");
}
