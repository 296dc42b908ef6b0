use crate::world::{Link, World};
use dwell_core::capacity::EndLink;
use dwell_core::capacity::end_link::Config;
use dwell_core::{BitRate, Bytes, Finding, Quantity, Report, Side, Step, Vantage};
use dwell_core::{Method, Nanos};
use proptest::prelude::*;

const RATES: [u64; 3] = [10, 100, 1000];

/// The host's network card does 10 Gb/s, and its kernel's stamps scatter by 0.3 us: whether a link of 100 Gb/s follows
/// on one of 10 Mb/s could not be seen.
fn method(world: &World, vantage: Option<Vantage>) -> EndLink {
    let config = Config { vantage, fastest: BitRate::from_mbps(10_000), ..Config::default() };
    EndLink::new(config, &world.facts)
}

fn ask(world: &mut World, vantage: Option<Vantage>) -> Report {
    let mut method = method(world, vantage);
    world.ask(&mut method)
}

fn capacity(report: &Report) -> Finding {
    report.finding(Quantity::EndLinkCapacity)
}

fn warned(report: &Report, words: &str) -> bool {
    report.warnings.iter().any(|warning| warning.contains(words))
}

/// Counts how often the 95 % intervals of a test's values hold the truth, and fails when that is too seldom.
#[derive(Default)]
struct Held {
    runs: usize,
    held: usize,
}

impl Held {
    /// A value within `share` of the truth. Where the program hides which link it is or scatters too much to tell, that of
    /// the narrowest link, and a bound of the end link that holds.
    fn assert_close(&mut self, report: &Report, mbps: u64, share: f64, case: &str) {
        let mut finding = capacity(report);
        if let Finding::Bound { .. } = finding {
            assert_eq!(report.stamps, Vantage::Application, "{case}: {finding:?}");
            assert_eq!(finding.holds(mbps as f64 * 1e6), Some(true), "{case}: {finding:?}");
            finding = report.finding(Quantity::NarrowLinkCapacity);
        }
        let value = finding.estimate().unwrap_or_else(|| panic!("{case}: {finding:?}"));
        assert!((value / (mbps as f64 * 1e6) - 1.0).abs() < share, "{case}: {finding:?}");
        self.runs += 1;
        self.held += usize::from(finding.holds(mbps as f64 * 1e6) == Some(true));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.held * 10 >= self.runs * 9, "{} of {} intervals hold", self.held, self.runs);
        }
    }
}

#[test]
fn modest_trains_first_and_no_more_where_nothing_arrives() {
    let world = World::new(vec![Link::new(10, 0.0)], 1);
    let mut method = EndLink::new(Config::default(), &world.facts);
    let Step::Send(first) = method.next() else { panic!("nothing asked") };
    for departure in &first {
        // On a link of 10 Mb/s, which nobody told of.
        let share = departure.train.bytes().bits() as f64 / departure.pause.as_secs_f64() / 10e6;
        assert!(share < 0.13, "{share}");
    }
    let mut trains = first.len();
    while let Step::Send(fleet) = method.next() {
        trains += fleet.len();
    }
    assert_eq!(trains, 28 + 14 + 4);
}

#[test]
fn the_second_round_keeps_to_its_share_of_the_link() {
    // Also where the application sleeps longer than a packet takes on the link, and there are no kernel stamps.
    for (mbps, stage) in [(10, 5e3), (100, 5e3), (1000, 5e3), (100, 150e3)] {
        let mut world = World::new(vec![Link::new(mbps, 0.0)], 1);
        world.application_stage = (stage, 1e3);
        world.kernel_stamps = false;
        let mut method = EndLink::new(Config::default(), &world.facts.clone());
        let mut first = true;
        while let Step::Send(fleet) = method.next() {
            for departure in fleet.iter().filter(|_| !first) {
                let bits = departure.train.bytes().bits() as f64;
                let share = bits / departure.pause.as_secs_f64() / (mbps as f64 * 1e6);
                assert!(share < 0.023, "{share} at {mbps} Mb/s");
            }
            first = false;
            let Ok(passages) = dwell_core::Path::carry(&mut world, &fleet);
            for passage in passages {
                method.see(&passage.observation);
            }
        }
    }
}

#[test]
fn a_clear_answer_ends_it_early() {
    let mut world = World::new(vec![Link::new(10, 0.0)], 1);
    let mut method = method(&world, None);
    let Ok(effort) = dwell_core::run(&mut method, &mut world, None, |_| ());
    assert_eq!(effort.probes, 28 + 14 + 4);
}

#[test]
fn a_quick_host_by_either_stamp() {
    let mut held = Held::default();
    for mbps in RATES {
        for vantage in [Vantage::Capture, Vantage::Application] {
            for seed in 0..5 {
                let mut world = World::new(vec![Link::new(10_000, 0.0), Link::new(mbps, 0.0)], seed);
                let report = ask(&mut world, Some(vantage));
                held.assert_close(&report, mbps, 0.02, &format!("{mbps} Mb/s, {vantage:?}, seed {seed}"));
            }
        }
    }
}

#[test]
fn a_wake_up_longer_than_a_packet_is_seen_through() {
    // Application stages from nothing to 130 us, as host-delay.md measured them; only application stamps.
    let mut held = Held::default();
    for mbps in RATES {
        for stage in [10e3, 31e3, 50e3, 100e3, 130e3] {
            for seed in 0..5 {
                let mut world = World::new(vec![Link::new(mbps, 0.0)], seed);
                world.application_stage = (stage, stage / 10.0);
                world.kernel_stamps = false;
                let report = ask(&mut world, None);
                assert_eq!(report.stamps, Vantage::Application);
                if mbps == 1000 && stage >= 100e3 && capacity(&report).estimate().is_none() {
                    // A sleep as long as eight packets and more scatters the bursts as cross traffic does.
                    assert_eq!(capacity(&report).holds(1e9), Some(true), "{report:?}");
                    continue;
                }
                held.assert_close(
                    &report,
                    mbps,
                    0.05,
                    &format!("{mbps} Mb/s, stage {stage} ns, seed {seed}"),
                );
            }
        }
    }
}

#[test]
fn a_program_that_spins_before_it_stamps() {
    let mut held = Held::default();
    for (mbps, spin) in [(10, 80e3), (100, 5e3), (100, 20e3), (100, 50e3), (100, 80e3), (1000, 5e3)] {
        for seed in 0..5 {
            let mut world = World::new(vec![Link::new(mbps, 0.0)], seed);
            world.application_stage = (spin + 30e3, 3e3);
            world.service = (spin + 1e3, 100.0);
            world.kernel_stamps = false;
            held.assert_close(
                &ask(&mut world, None),
                mbps,
                0.05,
                &format!("{mbps} Mb/s, spin {spin} ns, seed {seed}"),
            );
        }
    }
}

#[test]
fn a_host_slower_than_its_link_yields_a_bound_that_holds() {
    for (mbps, spin) in
        [(1000, 20e3), (1000, 50e3), (1000, 80e3), (100, 150e3), (10_000, 5e3), (400_000, 0.0)]
    {
        for seed in 0..5 {
            let mut world = World::new(vec![Link::new(mbps, 0.0)], seed);
            world.application_stage = (spin + 30e3, 3e3);
            world.service = (spin + 1e3, 100.0);
            world.kernel_stamps = false;
            let report = ask(&mut world, None);
            let finding = capacity(&report);
            assert!(matches!(finding, Finding::Bound { side: Side::Lower, .. }), "{mbps} {spin} {report:?}");
            assert_eq!(finding.holds(mbps as f64 * 1e6), Some(true), "{mbps} {spin} {finding:?}");
        }
    }
}

#[test]
fn cross_traffic_before_the_end_link() {
    let mut held = Held::default();
    for mbps in RATES {
        for load in [0.3, 0.6] {
            for vantage in [Vantage::Capture, Vantage::Application] {
                for seed in 0..5 {
                    let links = vec![Link::new(1000, 0.0), Link::new(1000, load), Link::new(mbps, 0.0)];
                    let mut world = World::new(links, seed);
                    let report = ask(&mut world, Some(vantage));
                    let case = format!("{mbps} Mb/s, load {load}, {vantage:?}, seed {seed}");
                    if mbps == 1000 && vantage == Vantage::Application {
                        // The crossed link is as fast as the end link, and the application's stage hides the gaps
                        // that cross traffic spared: what is left is a bound.
                        let finding = capacity(&report);
                        assert!(finding.holds(1e9) == Some(true), "{case}: {finding:?}");
                        continue;
                    }
                    held.assert_close(&report, mbps, 0.05, &case);
                }
            }
        }
    }
}

#[test]
fn a_narrower_link_before_the_end_link_is_warned_of() {
    let mut held = Held::default();
    for (narrow, mbps) in [(10, 100), (100, 1000), (50, 100), (300, 1000)] {
        for seed in 0..5 {
            let mut world =
                World::new(vec![Link::new(1000, 0.0), Link::new(narrow, 0.0), Link::new(mbps, 0.0)], seed);
            // What small packets take on a link of 1 Gb/s does not show through stamps that scatter by 0.3 us.
            world.kernel_stage = (3e3, 20.0);
            let report = ask(&mut world, Some(Vantage::Capture));
            let case = format!("{narrow} before {mbps}, seed {seed}");
            assert!(warned(&report, "not the limit"), "{case}: {report:?}");
            held.assert_close(&report, mbps, 0.02, &case);
        }
    }
}

#[test]
fn an_end_link_too_fast_to_be_reached_back_to_back_is_a_bound() {
    // Also where the difference to the narrow link's own line would be lost in the noise of the stamps.
    for (narrow, mbps) in [(10, 300), (10, 10_000), (100, 100_000)] {
        for tick in [1, 1000] {
            for seed in 0..3 {
                let mut world = World::new(vec![Link::new(narrow, 0.0), Link::new(mbps, 0.0)], seed);
                world.facts.resolution = Nanos(tick);
                let mut method = EndLink::new(Config::default(), &world.facts.clone());
                let finding = capacity(&world.ask(&mut method));
                let case = format!("{narrow} before {mbps}, tick {tick}, seed {seed}: {finding:?}");
                assert!(matches!(finding, Finding::Bound { side: Side::Lower, .. }), "{case}");
                assert_eq!(finding.holds(mbps as f64 * 1e6), Some(true), "{case}");
            }
        }
    }
}

#[test]
fn what_application_stamps_cannot_tell_is_said() {
    // Behind 100 Mb/s a link of 1 Gb/s; a wake-up of 50 us hides all but the narrow link.
    let mut world = World::new(vec![Link::new(100, 0.0), Link::new(1000, 0.0)], 1);
    world.application_stage = (50e3, 3e3);
    let report = ask(&mut world, Some(Vantage::Application));
    let finding = capacity(&report);
    assert!(
        matches!(finding, Finding::Bound { ref reason, .. } if reason.contains("narrowest link")),
        "{report:?}"
    );
    assert_eq!(finding.holds(1e9), Some(true), "{report:?}");
}

#[test]
fn a_nic_that_coalesces_makes_no_rate() {
    for mbps in [10, 40, 100, 1000, 10_000] {
        for period in [25e3, 125e3, 250e3] {
            for seed in 0..3 {
                let mut world = World::new(vec![Link::new(1000, 0.0), Link::new(mbps, 0.0)], seed);
                world.throttle = period;
                world.kernel_stage = (3e3, 20.0);
                let case = format!("{mbps} Mb/s, {period} ns, seed {seed}");
                let report = ask(&mut world, None);
                let finding = capacity(&report);
                assert_ne!(finding.holds(mbps as f64 * 1e6), Some(false), "{case}: {report:?}");
            }
        }
    }
}

#[test]
fn no_probe_arrives() {
    let mut world = World::new(vec![Link::new(100, 0.0)], 1);
    world.loss = 1.0;
    let finding = capacity(&ask(&mut world, None));
    assert!(
        matches!(finding, Finding::Unmeasurable { ref reason } if reason.contains("no probe")),
        "{finding:?}"
    );
}

#[test]
fn half_of_all_packets_are_lost() {
    let mut held = Held::default();
    for seed in 0..5 {
        let mut world = World::new(vec![Link::new(100, 0.0)], seed);
        world.loss = 0.5;
        held.assert_close(&ask(&mut world, None), 100, 0.05, "loss");
    }
}

#[test]
fn a_burst_delivered_as_one_tells_nothing() {
    let mut world = World::new(vec![Link::new(1_000_000, 0.0)], 1);
    world.service = (0.0, 0.0);
    world.application_stage = (900e3, 0.0);
    let finding = capacity(&ask(&mut world, Some(Vantage::Application)));
    assert!(matches!(finding, Finding::Unmeasurable { .. }), "{finding:?}");
}

#[test]
fn one_packet_size_is_not_enough() {
    let mut world = World::new(vec![Link::new(100, 0.0)], 1);
    world.facts.max_size = Bytes(87);
    let finding = capacity(&ask(&mut world, None));
    assert!(
        matches!(finding, Finding::Unmeasurable { ref reason } if reason.contains("two sizes")),
        "{finding:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn any_rate_under_any_clock(mbps in 5..1500u64, offset in -1e15..1e15f64, skew_ppm in -150.0..150.0f64,
                                tick in prop_oneof![Just(1), Just(1000)], seed: u64) {
        let mut world = World::new(vec![Link::new(10_000, 0.0), Link::new(mbps, 0.0)], seed);
        (world.offset, world.skew_ppm) = (offset, skew_ppm);
        world.facts.resolution = Nanos(tick);
        let report = ask(&mut world, None);
        // A tick as long as a packet takes hides which link it is, and leaves the narrowest link's rate.
        let truth = mbps as f64 * 1e6;
        match capacity(&report).estimate() {
            Some(value) => prop_assert!((value / truth - 1.0).abs() < 0.05, "{:?}", report),
            None => {
                prop_assert_ne!(tick, 1, "{:?}", report);
                prop_assert_eq!(capacity(&report).holds(truth), Some(true), "{:?}", report);
            }
        }
        let value = report.finding(Quantity::NarrowLinkCapacity).estimate();
        prop_assert!(value.is_some_and(|value| (value / (mbps as f64 * 1e6) - 1.0).abs() < 0.05), "{:?}", report);
    }

    #[test]
    fn is_invariant_to_a_shift_of_time(shift in -1_000_000_000_000i64..1_000_000_000_000, seed: u64) {
        let ask_at = |offset: f64| {
            let mut world = World::new(vec![Link::new(100, 0.3)], seed);
            world.skew_ppm = 0.0;
            world.offset = offset;
            ask(&mut world, None)
        };
        prop_assert_eq!(ask_at(0.0), ask_at(shift as f64));
    }
}
