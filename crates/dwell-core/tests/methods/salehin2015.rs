use crate::world::{Link, World};
use dwell_core::host::Salehin2015;
use dwell_core::host::salehin2015::Config;
use dwell_core::{BitRate, Finding, Quantity, Report, Vantage};
use proptest::prelude::*;

fn config() -> Config {
    Config { probes: 200, ..Config::default() }
}

fn ask(world: &mut World, config: Config) -> Report {
    world.ask(&mut Salehin2015::new(config, &world.facts.clone()))
}

fn value(report: &Report, quantity: Quantity) -> f64 {
    let finding = report.finding(quantity);
    finding.estimate().unwrap_or_else(|| panic!("{quantity:?}: {finding:?}"))
}

/// host-delay.md, section 3: (15) is 25 bytes on the end link, whatever the host does.
#[test]
fn ppt_is_25_bytes_on_the_end_link_whatever_the_host_does() {
    for (mbps, us) in [(10, 20.0), (100, 2.0)] {
        for stage in [1e3, 5e3] {
            let mut world = World::new(vec![Link::new(1000, 0.0), Link::new(mbps, 0.0)], 1);
            world.application_stage = (stage, 100.0);
            world.facts.end_link = Some(BitRate::from_mbps(mbps));
            let report = ask(&mut world, config());
            let ppt = value(&report, Quantity::PptTrailing) / 1e3;
            assert!((ppt - us).abs() < 0.3, "{ppt} us at {mbps} Mb/s with a stage of {stage} ns");
            assert!(report.warnings.iter().any(|warning| warning.contains("epsilon")), "{report:?}");
            let capacity = value(&report, Quantity::EndLinkCapacity);
            assert!((capacity / mbps as f64 / 1e6 - 1.0).abs() < 0.05, "{capacity}");
        }
    }
}

#[test]
fn a_host_slower_than_the_link_leaves_nothing_to_read() {
    // Application stage of 40 us against 8 and 10 us on the link: P_t waits, both gaps are S.
    let mut world = World::new(vec![Link::new(100, 0.0)], 2);
    world.application_stage = (40e3, 1e3);
    let report = ask(&mut world, config());
    assert!(value(&report, Quantity::PptTrailing).abs() < 100.0);
    assert!(report.warnings.iter().any(|warning| warning.contains("does not grow")), "{report:?}");
    assert!(report.finding(Quantity::EndLinkCapacity).estimate().is_none());
    // The capture stamps are taken before the application's stage, and see the link.
    let report = ask(&mut world, Config { vantage: Vantage::Capture, ..config() });
    let Finding::Value { value, low, high, .. } = report.finding(Quantity::PptTrailing) else {
        panic!("{report:?}")
    };
    assert!(low < 2e3 && 2e3 < high && (value - 2e3).abs() < 150.0, "{value} in {low}-{high}");
}

#[test]
fn without_kernel_stamps_capture_says_so() {
    let mut world = World::new(vec![Link::new(100, 0.0)], 3);
    world.kernel_stamps = false;
    let report = ask(&mut world, Config { vantage: Vantage::Capture, ..config() });
    let Finding::Unmeasurable { reason } = report.finding(Quantity::PptHeading) else { panic!("{report:?}") };
    assert!(reason.contains("kernel stamps"), "{reason}");
}

#[test]
fn cross_traffic_is_filtered_out() {
    let mut world = World::new(vec![Link::new(100, 0.0), Link::new(100, 0.6), Link::new(10, 0.0)], 4);
    world.application_stage = (3e3, 500.0);
    let report = ask(&mut world, config());
    assert!((value(&report, Quantity::PptTrailing) / 20e3 - 1.0).abs() < 0.05, "{report:?}");
}

#[test]
fn a_path_of_small_packets_is_told_so() {
    let mut world = World::new(vec![Link::new(100, 0.0)], 5);
    world.facts.max_size = dwell_core::Bytes(100);
    let report = ask(&mut world, config());
    let Finding::Unmeasurable { reason } = report.finding(Quantity::PptHeading) else { panic!("{report:?}") };
    assert!(reason.contains("too small"), "{reason}");
}

/// How often the interval of dPPT holds the truth: the stage of both packets is the same, so the truth is 0.
#[test]
fn intervals_hold() {
    let held = (0..40).filter(|&seed| {
        let mut world = World::new(vec![Link::new(10, 0.0)], seed);
        world.facts.end_link = Some(BitRate::from_mbps(10));
        world.skew_ppm = 0.0;
        ask(&mut world, config()).finding(Quantity::DifferentialPpt).holds(0.0) == Some(true)
    });
    let held = held.count();
    assert!(held >= 34, "{held} of 40");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// G = s / c + gamma + dPPT comes back, under any clock offset and skew.
    #[test]
    fn recovers_what_the_model_put_in(offset in -1e15..1e15f64, skew_ppm in -200.0..200.0f64, stage in 500.0..6e3f64,
                                      seed: u64) {
        let mut world = World::new(vec![Link::new(1000, 0.0), Link::new(10, 0.0)], seed);
        (world.offset, world.skew_ppm) = (offset, skew_ppm);
        world.application_stage = (stage, 50.0);
        world.facts.end_link = Some(BitRate::from_mbps(10));
        let report = ask(&mut world, config());
        // 79.2 us at 200 ppm are 16 ns; the rest is noise.
        prop_assert!(value(&report, Quantity::DifferentialPpt).abs() < 2e3, "{report:?}");
        prop_assert!((value(&report, Quantity::PptTrailing) - 20e3).abs() < 300.0);
        prop_assert!((value(&report, Quantity::EndLinkCapacity) / 1e7 - 1.0).abs() < 0.05);
    }

    /// The same world with its clock set forward by whole ticks gives the same report, to the last digit.
    #[test]
    fn is_invariant_to_a_shift_of_time(shift in -1_000_000_000_000i64..1_000_000_000_000, seed: u64) {
        let ask_at = |offset: f64| {
            let mut world = World::new(vec![Link::new(100, 0.3)], seed);
            world.skew_ppm = 0.0;
            world.offset = offset;
            ask(&mut world, Config { probes: 30, ..Config::default() })
        };
        prop_assert_eq!(ask_at(0.0), ask_at(shift as f64));
    }
}
