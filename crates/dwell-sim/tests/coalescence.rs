//! Interrupt coalescence as the method finds it on simulated paths, against what the scenario says.

use dwell_core::coalescence::Coalescence;
use dwell_core::host::{Knee, KneeConfig};
use dwell_core::nic::Kind;
use dwell_core::{BitRate, Finding, Method as _, Path as _, Quantity, Report, run};
use dwell_sim::{Scenario, SimPath};

const FREE: &str = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\n[[links]]\nrate = '100 Mb/s'\n";
const BUSY: &str = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\n\
    [[links.cross]]\nkind = 'poisson'\nload = 0.5\n\
    [[links]]\nrate = '100 Mb/s'\n[[links.cross]]\nkind = 'poisson'\nload = 0.3\nsize = '252 B'\n";

/// What is found on `links` towards a host of `destination`, and what the knee makes of it.
fn measured(links: &str, destination: &str, seed: u64) -> (Report, Report) {
    let text = format!("name = 'test'\n{links}[destination]\n{destination}\n");
    let mut path = SimPath::new(&Scenario::parse("test.toml", &text).unwrap(), seed);
    let mut facts = path.facts();
    facts.end_link = Some(BitRate::from_mbps(100));
    let mut method = Coalescence::new(Default::default(), &facts);
    run(&mut method, &mut path, None, |_| {}).unwrap();
    facts.coalescence = method.coalesced();
    let mut knee = Knee::new(KneeConfig::default(), &facts);
    run(&mut knee, &mut path, None, |_| {}).unwrap();
    (method.report(), knee.report())
}

fn kind(report: &Report) -> Option<Kind> {
    report.finding(Quantity::CoalescenceKind).estimate().and_then(Kind::of_code)
}

#[track_caller]
fn finds(destination: &str, expected: Kind, period_us: f64) {
    for (links, seeds) in [(FREE, 0..3), (BUSY, 3..6)] {
        for seed in seeds {
            let (found, knee) = measured(links, destination, seed);
            assert_eq!(kind(&found), Some(expected), "{destination}, seed {seed}: {found:?}");
            assert_eq!(found.finding(Quantity::CoalescencePresent), Finding::flag(true));
            let period = found.finding(Quantity::CoalescencePeriod).estimate().unwrap() / 1e3;
            assert!((period / period_us - 1.0).abs() < 0.05, "{destination}, seed {seed}: {period} us");
            // The stage is 31 us at the median, and shorter than every period here.
            let stage = knee.finding(Quantity::ApplicationStage);
            assert!(matches!(stage, Finding::Bound { .. }), "{destination}, seed {seed}: {stage:?}");
            assert_eq!(stage.holds(31_000.0), Some(true), "{destination}, seed {seed}: {stage:?}");
            let whole = knee.finding(Quantity::PptHeading);
            assert!(matches!(whole, Finding::Unmeasurable { .. }), "{destination}, seed {seed}: {whole:?}");
        }
    }
}

#[test]
fn each_kind_and_its_period() {
    finds("nic = { hold = { period = '50 us' } }", Kind::Hold, 50.0);
    finds("nic = { hold = { period = '250 us', frames = 16 } }", Kind::Hold, 250.0);
    finds("nic = { throttle = { period = '125 us' } }", Kind::Throttle, 125.0);
    finds("nic = { deferred = { period = '60 us', polls = 3 } }", Kind::Deferred, 60.0);
    finds("nic = { deferred = { period = '60 us', polls = 1 } }", Kind::Throttle, 60.0);
    let adaptive = "nic = { adaptive = { least = '40 us', most = '200 us', fast = 40000 } }";
    finds(adaptive, Kind::Adaptive, 200.0);
}

/// Longer than the dispersions that are tried first, and shorter than the pauses between trains.
#[test]
fn a_period_beyond_the_first_trains_is_not_taken_for_their_length() {
    for ms in [1.7, 2.0, 3.0] {
        for seed in 0..2 {
            let (found, knee) = measured(FREE, &format!("nic = {{ hold = {{ period = '{ms} ms' }} }}"), seed);
            let period = found.finding(Quantity::CoalescencePeriod).estimate().unwrap() / 1e6;
            assert!((period / ms - 1.0).abs() < 0.05, "{ms} ms, seed {seed}: {period} ms");
            let stage = knee.finding(Quantity::ApplicationStage);
            assert!(matches!(stage, Finding::Bound { .. }), "{ms} ms, seed {seed}: {stage:?}");
        }
    }
}

#[test]
fn a_nic_that_holds_nothing_leaves_the_knee_its_value() {
    for (links, seed) in [(FREE, 1), (FREE, 2), (BUSY, 3), (BUSY, 4)] {
        let (found, knee) = measured(links, "nic = 'none'", seed);
        assert_eq!(kind(&found), Some(Kind::None), "seed {seed}: {found:?}");
        assert_eq!(found.finding(Quantity::CoalescencePresent), Finding::flag(false));
        let stage = knee.finding(Quantity::ApplicationStage);
        assert!(matches!(stage, Finding::Value { .. }), "seed {seed}: {stage:?}");
        assert_eq!(stage.holds(31_000.0), Some(true), "seed {seed}: {stage:?}");
    }
}

#[test]
fn a_stage_longer_than_the_period_is_still_a_value() {
    let slow = |nic: &str, work: &str| format!("nic = {nic}\n{work}");
    for (nic, work) in [
        ("{ hold = { period = '50 us' } }", "spin = '100 us'"),
        (
            "{ throttle = { period = '50 us' } }",
            "wake_up = { normal = { mean = '130 us', deviation = '3 us' } }",
        ),
    ] {
        let (found, knee) = measured(FREE, &slow(nic, work), 7);
        assert_eq!(found.finding(Quantity::CoalescencePresent), Finding::flag(true));
        let stage = knee.finding(Quantity::ApplicationStage);
        assert!(matches!(stage, Finding::Value { .. }) && stage.holds(131_000.0) == Some(true), "{stage:?}");
    }
    // Where the program itself takes longer than the throttle's period for each packet, its level might be the
    // throttle's: a bound.
    let (_, knee) = measured(FREE, &slow("{ throttle = { period = '50 us' } }", "spin = '100 us'"), 7);
    let stage = knee.finding(Quantity::ApplicationStage);
    assert!(matches!(stage, Finding::Bound { .. }) && stage.holds(131_000.0) == Some(true), "{stage:?}");
}

#[test]
fn without_kernel_stamps_a_hold_is_never_a_stage() {
    let nic = |nic: &str| format!("kernel_stamps = false\nnic = {nic}");
    for seed in 0..4 {
        let (found, knee) = measured(FREE, &nic("{ hold = { period = '125 us' } }"), seed);
        assert!(matches!(found.finding(Quantity::CoalescencePresent), Finding::Unmeasurable { .. }));
        let stage = knee.finding(Quantity::ApplicationStage);
        assert!(matches!(stage, Finding::Bound { .. }) && stage.holds(31_000.0) == Some(true), "{stage:?}");
        // A throttle is longer than the program's own stage, and shows; and a plain host keeps its value.
        let (found, _) = measured(FREE, &nic("{ throttle = { period = '125 us' } }"), seed);
        assert_eq!(kind(&found), Some(Kind::Throttle), "{found:?}");
        let (found, knee) = measured(FREE, &nic("'none'"), seed);
        assert!(matches!(found.finding(Quantity::CoalescencePresent), Finding::Unmeasurable { .. }));
        assert_eq!(knee.finding(Quantity::ApplicationStage).holds(31_000.0), Some(true));
    }
}

#[test]
fn a_period_longer_than_the_probing_interval_is_met_with_longer_pauses() {
    let (found, knee) = measured(FREE, "nic = { hold = { period = '10 ms' } }", 1);
    assert_eq!(kind(&found), Some(Kind::Hold), "{found:?}");
    let period = found.finding(Quantity::CoalescencePeriod).estimate().unwrap();
    assert!((period / 10e6 - 1.0).abs() < 0.05, "{period}");
    assert!(!matches!(knee.finding(Quantity::ApplicationStage), Finding::Value { .. }), "{knee:?}");
    // Longer than any pause that is tried: a bound with its reason.
    let (found, _) = measured(FREE, "nic = { hold = { period = '900 ms' } }", 1);
    assert_eq!(found.finding(Quantity::CoalescencePresent), Finding::flag(true));
    let period = found.finding(Quantity::CoalescencePeriod);
    assert!(matches!(period, Finding::Bound { .. }) && period.holds(900e6) == Some(true), "{period:?}");
}

#[test]
fn a_change_in_the_middle_of_the_run_is_told() {
    let destination = "nic = { hold = { period = '100 us' } }\n\
                       nic_change = { at = '450 ms', to = { throttle = { period = '50 us' } } }";
    let (found, knee) = measured(FREE, destination, 1);
    assert!(found.warnings.iter().any(|warning| warning.contains("settings changed")), "{found:?}");
    let kind = found.finding(Quantity::CoalescenceKind);
    assert!(matches!(kind, Finding::Unmeasurable { .. }), "{kind:?}");
    assert!(!matches!(knee.finding(Quantity::ApplicationStage), Finding::Value { .. }), "{knee:?}");
}

#[test]
fn nothing_comes_back() {
    let text = format!("name = 'test'\n{}loss = 1.0\n", FREE);
    let mut path = SimPath::new(&Scenario::parse("test.toml", &text).unwrap(), 1);
    let mut method = Coalescence::new(Default::default(), &path.facts());
    run(&mut method, &mut path, None, |_| {}).unwrap();
    let Finding::Unmeasurable { reason } = method.report().finding(Quantity::CoalescenceKind) else {
        panic!()
    };
    assert!(reason.contains("lost a packet"), "{reason}");
    assert_eq!(method.coalesced(), None);
}

#[test]
fn a_core_that_sleeps_is_neither_a_nic_nor_a_stage() {
    for nic in ["'none'", "{ hold = { period = '50 us' } }", "{ throttle = { period = '200 us' } }"] {
        for cold in ["'100 us'", "{ normal = { mean = '45 us', deviation = '3 us' } }"] {
            for (links, seed) in [(FREE, 1), (FREE, 2), (BUSY, 3)] {
                let host = format!("nic = {nic}\ninterrupt_cold = {cold}\ncold_after = '1 ms'");
                let (found, knee) = measured(links, &host, seed);
                let case = || format!("{nic} behind {cold}, seed {seed}: {found:?}, {knee:?}");
                for quantity in [Quantity::CoalescencePresent, Quantity::CoalescencePeriod, Quantity::NicHold]
                {
                    let Finding::Unmeasurable { reason } = found.finding(quantity) else {
                        panic!("{}", case())
                    };
                    assert!(reason.contains("core sleeps"), "{}", case());
                }
                let stage = knee.finding(Quantity::ApplicationStage);
                assert!(matches!(stage, Finding::Bound { .. }), "{}", case());
                assert_eq!(stage.holds(31_000.0), Some(true), "{}", case());
            }
        }
    }
}
