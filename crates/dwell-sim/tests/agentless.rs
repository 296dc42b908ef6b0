//! What is found of a simulated host without an agent, against what the scenario says.

use dwell_core::host::agentless::{Agentless, AgentlessConfig, Request};
use dwell_core::nic::Kind;
use dwell_core::{Finding, Nanos, Path as _, Quantity, Report, run};
use dwell_sim::{AnsweringPath, Scenario};

const FAST: &str = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\n[[links]]\nrate = '1 Gb/s'\n";
const SLOW: &str = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\n[[links]]\nrate = '100 Mb/s'\n";
const BUSY: &str = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\n\
    [[links.cross]]\nkind = 'poisson'\nload = 0.3\n[[links]]\nrate = '100 Mb/s'\n";

fn measured(links: &str, destination: &str, request: Request, seed: u64) -> Report {
    let text = format!("name = 'test'\n{links}[destination]\n{destination}\n");
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    let mut path = AnsweringPath::new(&scenario, seed, request);
    let mut method = Agentless::new(AgentlessConfig::default(), &path.facts());
    let effort = run(&mut method, &mut path, None, |_| {}).unwrap();
    let rate = effort.packets as f64 / effort.span.as_secs_f64();
    assert!(rate <= 20.0, "{rate} packets a second");
    assert!(effort.span < Nanos::from_secs(62), "{}", effort.span);
    dwell_core::Method::report(&method)
}

fn kind(report: &Report) -> Option<Kind> {
    report.finding(Quantity::CoalescenceKind).estimate().and_then(Kind::of_code)
}

#[track_caller]
fn finds(destination: &str, expected: Kind, period_us: f64) {
    for (links, request, seed) in [
        (FAST, Request::Icmp, 1),
        (SLOW, Request::Icmp, 2),
        (SLOW, Request::Tcp, 3),
        (BUSY, Request::Icmp, 4),
    ] {
        let found = measured(links, destination, request, seed);
        assert_eq!(kind(&found), Some(expected), "{destination}, seed {seed}: {found:?}");
        let period = found.finding(Quantity::CoalescencePeriod).estimate().unwrap() / 1e3;
        assert!((period / period_us - 1.0).abs() < 0.1, "{destination}, seed {seed}: {period} us");
    }
}

#[test]
fn each_kind_and_its_period() {
    finds("nic = { hold = { period = '50 us' } }", Kind::Hold, 50.0);
    finds("nic = { hold = { period = '250 us', frames = 16 } }", Kind::Hold, 250.0);
    finds("nic = { throttle = { period = '125 us' } }", Kind::Throttle, 125.0);
    finds("nic = { deferred = { period = '60 us', polls = 3 } }", Kind::Deferred, 60.0);
    finds("nic = { adaptive = { least = '40 us', most = '200 us', fast = 30000 } }", Kind::Adaptive, 200.0);
}

#[test]
fn no_coalescence_is_told_as_such() {
    for (links, seed) in [(FAST, 1), (SLOW, 2), (BUSY, 3)] {
        let found = measured(links, "nic = 'none'", Request::Icmp, seed);
        assert_eq!(kind(&found), Some(Kind::None), "seed {seed}: {found:?}");
    }
}

#[test]
fn the_service_time_is_told_where_no_link_hides_it() {
    for nic in ["'none'", "{ throttle = { period = '125 us' } }"] {
        let host = format!("nic = {nic}\nanswer = '4 us'");
        let free = measured(FAST, &host, Request::Icmp, 1).finding(Quantity::KernelServiceTime);
        assert_eq!(free.holds(4_000.0), Some(true), "{free:?}");
        assert!(matches!(free, Finding::Value { .. }), "{free:?}");
        let hidden = measured(SLOW, &host, Request::Icmp, 1).finding(Quantity::KernelServiceTime);
        assert!(matches!(hidden, Finding::Bound { .. }), "{hidden:?}");
        assert_eq!(hidden.holds(4_000.0), Some(true), "{hidden:?}");
    }
}

#[test]
fn what_no_reply_tells_is_not_claimed() {
    let found = measured(FAST, "nic = { hold = { period = '100 us' } }", Request::Icmp, 1);
    for quantity in [Quantity::ApplicationStage, Quantity::ServiceTime, Quantity::DifferentialPpt] {
        assert!(matches!(found.finding(quantity), Finding::Unmeasurable { .. }), "{quantity:?}");
    }
    // Held for 100 us at least, whatever follows.
    let whole = found.finding(Quantity::PptHeading);
    assert_eq!(whole.holds(133_000.0), Some(true), "{whole:?}");
    assert_eq!(whole.holds(90_000.0), Some(false), "{whole:?}");
    // 50 us each way, the hold, kernel, answer.
    let least = found.finding(Quantity::RoundTripMinimum).estimate().unwrap();
    assert!((least - 205_000.0).abs() < 5_000.0, "{least}");
}

#[test]
fn a_host_that_loses_packets_is_still_told() {
    let links = "[[links]]\nrate = '1 Gb/s'\npropagation = '50 us'\nloss = 0.02\n";
    let found = measured(links, "nic = { throttle = { period = '100 us' } }", Request::Icmp, 5);
    assert_eq!(kind(&found), Some(Kind::Throttle), "{found:?}");
}

#[test]
fn a_kernel_at_rest_is_no_hold() {
    // Its caches are cold, or its core asleep: what comes meanwhile is answered with the first, as behind a NIC that holds.
    for cold in ["'9 us'", "{ exponential = { mean = '14 us', least = '8 us' } }"] {
        let host =
            |nic: &str| format!("nic = {nic}\nanswer = '3 us'\nanswer_cold = {cold}\ncold_after = '1 ms'");
        for seed in 1..=8 {
            let none = measured(FAST, &host("'none'"), Request::Icmp, seed);
            assert!(
                !matches!(kind(&none), Some(Kind::Hold | Kind::Throttle)),
                "{cold}, seed {seed}: {none:?}"
            );
        }
        for (nic, kind_of_it) in [("hold", Kind::Hold), ("throttle", Kind::Throttle)] {
            let nic = format!("{{ {nic} = {{ period = '80 us' }} }}");
            let found = measured(FAST, &host(&nic), Request::Icmp, 1);
            assert_eq!(kind(&found), Some(kind_of_it), "{cold}: {found:?}");
            let period = found.finding(Quantity::CoalescencePeriod);
            assert_eq!(period.holds(80_000.0), Some(true), "{cold}: {period:?}");
            assert!((period.estimate().unwrap() / 80_000.0 - 1.0).abs() < 0.05, "{cold}: {period:?}");
        }
    }
}

#[test]
fn a_clock_that_is_set_back_hides_no_hold_and_is_told() {
    // Half a second each way: several trains are under way when it is set.
    let links = "[[links]]\nrate = '1 Gb/s'\npropagation = '500 ms'\n\
        [source.clock]\nstep = { at = '20 s', by = '-3 s' }\n";
    let found = measured(links, "nic = { hold = { period = '80 us' } }", Request::Icmp, 1);
    assert_eq!(kind(&found), Some(Kind::Hold), "{found:?}");
    assert_eq!(found.finding(Quantity::CoalescencePeriod).holds(80_000.0), Some(true), "{found:?}");
    let least = found.finding(Quantity::RoundTripMinimum).estimate().unwrap();
    assert!((least - 1_000_085_000.0).abs() < 20_000.0, "{least}");
    assert!(found.warnings.iter().any(|warning| warning.contains("the clock was set")), "{found:?}");
}

#[test]
fn what_hides_in_a_core_that_wakes_is_a_bound_or_right() {
    // A hold of about the time that the core takes: long trains show its batches, short ones hardly.
    let mut hidden = 0;
    for (period, wake, deviation) in [(50, 45, 3), (50, 45, 6), (70, 60, 4)] {
        let cold = format!("{{ normal = {{ mean = '{wake} us', deviation = '{deviation} us' }} }}");
        let nic = format!("nic = {{ hold = {{ period = '{period} us' }} }}");
        let host = format!("{nic}\nanswer = '2500 ns'\nanswer_cold = {cold}\ncold_after = '1 ms'");
        for seed in 1..=12 {
            let found = measured(FAST, &host, Request::Icmp, seed);
            let case = || format!("{period} us behind {wake} us, seed {seed}: {found:?}");
            assert!(matches!(kind(&found), None | Some(Kind::Hold)), "{}", case());
            for quantity in [Quantity::CoalescencePeriod, Quantity::NicHold] {
                assert_ne!(found.finding(quantity).holds(1e3 * f64::from(period)), Some(false), "{}", case());
            }
            hidden += usize::from(kind(&found).is_none());
        }
    }
    assert!(hidden > 0, "nothing was hidden, so nothing was tried");
}

#[test]
fn a_core_that_wakes_is_no_hold() {
    for (links, cold, seed) in [
        (SLOW, "{ exponential = { mean = '42 us', least = '41500 ns' } }", 154),
        (FAST, "{ exponential = { mean = '15 us', least = '14400 ns' } }", 413),
        (BUSY, "{ normal = { mean = '59 us', deviation = '1300 ns' } }", 574),
        (FAST, "{ normal = { mean = '21 us', deviation = '100 ns' } }", 671),
        (SLOW, "{ normal = { mean = '28 us', deviation = '400 ns' } }", 878),
    ] {
        let answer = "{ normal = { mean = '2500 ns', deviation = '200 ns' } }";
        let host = format!("nic = 'none'\nanswer = {answer}\nanswer_cold = {cold}\ncold_after = '1 ms'");
        let found = measured(links, &host, Request::Icmp, seed);
        assert!(matches!(kind(&found), None | Some(Kind::None)), "seed {seed}: {found:?}");
        assert_ne!(
            found.finding(Quantity::CoalescencePresent).estimate(),
            Some(1.0),
            "seed {seed}: {found:?}"
        );
    }
}

#[test]
fn a_period_of_little_more_than_long_trains_are_apart_is_seen_to_adapt() {
    // After a rest it is too short to show; at a high rate batches are of one packet and of two.
    for (links, most, seed) in [(SLOW, 46, 648), (SLOW, 45, 808), (FAST, 31, 732)] {
        let nic = format!("{{ adaptive = {{ least = '9 us', most = '{most} us', fast = 30000 }} }}");
        let found = measured(links, &format!("nic = {nic}\nanswer = '2500 ns'"), Request::Icmp, seed);
        assert_eq!(kind(&found), Some(Kind::Adaptive), "seed {seed}: {found:?}");
        let period = found.finding(Quantity::CoalescencePeriod).estimate().unwrap() / 1e3;
        assert!((period / f64::from(most) - 1.0).abs() < 0.1, "{most} us, seed {seed}: {period} us");
    }
}
