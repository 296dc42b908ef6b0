use crate::world::{Link, World};
use dwell_core::host::Salehin2017;
use dwell_core::host::salehin2017::Config;
use dwell_core::{BitRate, Finding, Nanos, Quantity, Report};
use proptest::prelude::*;

fn ask(world: &mut World) -> Report {
    let config = Config { probes: 60, ..Config::default() };
    world.ask(&mut Salehin2017::new(config, &world.facts.clone()))
}

fn warned(report: &Report, words: &str) -> bool {
    report.warnings.iter().any(|warning| warning.contains(words))
}

/// papers/002, Figure 4(b): flat for all sizes; and what it is flat at is the service time.
#[test]
fn a_flat_gap_is_the_service_time() {
    for known in [None, Some(BitRate::from_mbps(1000))] {
        let mut world = World::new(vec![Link::new(1000, 0.0)], 1);
        world.application_stage = (40e3, 2e3);
        world.service = (3e3, 200.0);
        world.facts.end_link = known;
        let report = ask(&mut world);
        let ppt = report.finding(Quantity::PptHeading);
        assert_eq!(ppt.holds(3e3), Some(true), "{report:?}");
        assert!(warned(&report, "service time") && warned(&report, "flat from 87 B to 1212 B"), "{report:?}");
    }
}

/// papers/002, Figure 4(a): flat up to 112 bytes and linear above, with a clock that ticks in microseconds and
/// averages of 3 and 4 us.
#[test]
fn a_knee_inside_the_sizes() {
    for (mbps, stage, last) in [(10, 120e3, "112 B"), (100, 20e3, "212 B"), (100, 50e3, "512 B")] {
        for tick in [1, 1000] {
            let mut world = World::new(vec![Link::new(1000, 0.0), Link::new(mbps, 0.0)], 2);
            world.application_stage = (stage, 200.0);
            world.service = (3.4e3, 100.0);
            world.facts.resolution = Nanos(tick);
            let report = ask(&mut world);
            assert!(
                warned(&report, &format!("flat from 87 B to {last}")),
                "{mbps} {stage} {tick} {report:?}"
            );
            let ppt = report.finding(Quantity::PptTrailing).estimate().unwrap();
            assert!((ppt - 3.4e3).abs() < 500.0, "{ppt}");
        }
    }
}

#[test]
fn a_quick_host_falls_back_to_2015() {
    for mbps in [10, 100] {
        let mut world = World::new(vec![Link::new(mbps, 0.0)], 3);
        world.application_stage = (2e3, 100.0);
        let report = ask(&mut world);
        assert!(warned(&report, "salehin2015"), "{report:?}");
        let ppt = report.finding(Quantity::PptTrailing).estimate().unwrap();
        assert!((ppt / (200e6 / mbps as f64 / 1e3) - 1.0).abs() < 0.2, "{ppt} ns at {mbps} Mb/s");
    }
}

#[test]
fn a_host_that_copies_bytes_slowly_is_still_no_link() {
    // 0.1 ns for each byte, well outside the interval's width, is 80 Gb/s: no link of this path.
    let sizes = [87_u64, 112, 212, 512, 812, 1012, 1212];
    let run: Vec<_> = sizes
        .iter()
        .map(|&size| {
            let gaps: Vec<f64> = (0..100).map(|i| 3e3 + size as f64 * 0.1 + f64::from(i % 7)).collect();
            (dwell_core::Bytes(size), dwell_core::gap::filter(&gaps, 1e3).unwrap())
        })
        .collect();
    use dwell_core::host::salehin2017::{Trend, slope_interval, trend};
    let (low, _) = slope_interval(&run, Nanos(1)).unwrap();
    assert!(low > 0.0);
    assert_eq!(trend(&run, 8.0, Nanos(1)), Trend::Flat);
    assert_eq!(trend(&run, 0.1, Nanos(1)), Trend::Rising);
    assert_eq!(trend(&run, 0.2, Nanos(1)), Trend::Undecided);
}

#[test]
fn nothing_arrives() {
    let mut world = World::new(vec![Link::new(100, 0.0)], 4);
    world.loss = 1.0;
    let report = ask(&mut world);
    assert!(matches!(report.finding(Quantity::PptTrailing), Finding::Unmeasurable { .. }), "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn recovers_the_service_time_under_any_clock(service in 500.0..8e3f64, offset in -1e15..1e15f64,
                                                 skew_ppm in -200.0..200.0f64, seed: u64) {
        let mut world = World::new(vec![Link::new(1000, 0.0)], seed);
        (world.offset, world.skew_ppm) = (offset, skew_ppm);
        world.application_stage = (60e3, 2e3);
        world.service = (service, 50.0);
        let report = ask(&mut world);
        let ppt = report.finding(Quantity::PptTrailing);
        prop_assert!((ppt.estimate().unwrap() - service).abs() < 100.0 + service * 0.02, "{:?}", ppt);
    }
}
