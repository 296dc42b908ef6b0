//! The search of RFC 9097 on paths that misbehave: what it says is true, or it says that it is not sure.

use dwell_core::limit::Limit;
use dwell_core::throughput::udpst::{Parameters, capacity, over_trains};
use dwell_core::{Direction, Finding, Fleet, Passage, Path, PathFacts, Quantity, Report, Side};
use dwell_sim::{Scenario, SimError, SimPath};

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

/// A path whose route changes after half of the test's 200 trials. On both routes time goes by.
struct Rerouted([SimPath; 2], usize);

impl Path for Rerouted {
    type Error = SimError;

    fn facts(&self) -> PathFacts {
        self.0[0].facts()
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, SimError> {
        self.1 += 1;
        let [before, after] = self.0.each_mut().map(|path| path.carry(fleet));
        if self.1 > 100 { after } else { before }
    }
}

#[test]
fn a_route_that_changes_is_no_steady_rate() {
    let narrow =
        "name = 'other'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '10 Mb/s'\npropagation = '9 ms'\n";
    let other = SimPath::new(&Scenario::parse("other.toml", narrow).unwrap(), 1);
    let report = told(Rerouted([path("", ""), other], 0));
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
