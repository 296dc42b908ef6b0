//! The search of RFC 9097 on paths that misbehave: what it says is true, or it says that it is not sure.

use dwell_core::limit::Limit;
use dwell_core::throughput::udpst::{Parameters, capacity, over_trains};
use dwell_core::{Direction, Finding, Path, Quantity, Report, Side};
use dwell_sim::{Scenario, SimPath};

/// 50 Mb/s of which `says` is said, and of the whole `rest`.
fn path(says: &str, rest: &str) -> SimPath {
    let text = format!(
        "name = 'adverse'\n[[links]]\nrate = '1 Gb/s'\n\
         [[links]]\nrate = '50 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{says}\n{rest}\n"
    );
    SimPath::new(&Scenario::parse("adverse.toml", &text).unwrap(), 1)
}

fn told(mut path: impl Path) -> Report {
    let how = Parameters { one_way: true, ..Parameters::default() };
    let tested = over_trains(&mut path, &how, Direction::Forward).unwrap();
    let report = capacity::report(&tested);
    println!("{tested:?}\n{report:?}");
    report
}

fn limit(report: &Report) -> Limit {
    report.verdict.as_ref().expect("a verdict").limit
}

/// What 50 Mb/s of Ethernet are in IP packets of 1250 bytes.
const CARRIED: f64 = 50e6 * 1_250.0 / 1_288.0;

#[track_caller]
fn near(report: &Report) {
    let found = report.finding(Quantity::IpCapacity).estimate().unwrap_or_else(|| panic!("{report:?}"));
    assert!((found / CARRIED - 1.0).abs() < 0.05, "{found} for {CARRIED}: {report:?}");
}

#[test]
fn a_path_that_behaves() {
    let report = told(path("", ""));
    near(&report);
    assert_eq!(limit(&report), Limit::Link, "{report:?}");
}

#[test]
fn half_of_all_packets_lost_is_no_capacity() {
    let report = told(path("loss = '50 %'", ""));
    let found = report.finding(Quantity::IpCapacity);
    assert!(matches!(found, Finding::Bound { side: Side::Lower, .. }), "{report:?}");
    assert!(report.warnings.iter().any(|warning| warning.contains("lost")), "{report:?}");
}

#[test]
fn packets_that_overtake_others_are_no_losses() {
    near(&told(path("reordering = { share = '30 %', by = '2 ms' }", "")));
}

#[test]
fn a_clock_that_is_set_forward_is_no_steady_rate() {
    let report = told(path("", "[destination.clock]\nstep = { at = '5 s', by = '1 s' }"));
    assert_eq!(limit(&report), Limit::Unstable, "{report:?}");
}

#[test]
fn a_bucket_that_empties_at_first_is_told_with_rate_and_depth() {
    for kind in ["shaper", "policer"] {
        let says = format!("{kind} = {{ rate = '10 Mb/s', burst = '5 MB' }}");
        let report = told(path(&says, ""));
        assert_eq!(limit(&report), Limit::TokenBucket, "{kind}: {report:?}");
    }
}

#[test]
fn bursts_leave_when_they_are_due_and_an_unfinished_search_is_a_bound() {
    // The first link is busy with each burst for a good part of the interval to the next.
    let text = "name = 'idle'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '1 Gb/s'\nqueue = '512 KiB'\n";
    let path = |text| SimPath::new(&Scenario::parse("idle.toml", text).unwrap(), 1);
    let report = told(path(text));
    let found = report.finding(Quantity::IpCapacity).estimate().unwrap_or_else(|| panic!("{report:?}"));
    assert!((found / (1e9 * 1_250.0 / 1_288.0) - 1.0).abs() < 0.02, "{report:?}");
    // Ten seconds rise by 200 Mb/s a second up to 1 Gb/s, and above by 2 Gb/s a second.
    let report = told(path(&text.replace("1 Gb/s", "10 Gb/s")));
    let Finding::Bound { bound, side: Side::Lower, .. } = report.finding(Quantity::IpCapacity) else {
        panic!("{report:?}")
    };
    assert!((7e9..9e9).contains(&bound), "{report:?}");
    assert_eq!(limit(&report), Limit::SenderLimited, "{report:?}");
}
