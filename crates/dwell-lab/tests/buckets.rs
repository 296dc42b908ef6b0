//! Token buckets between two hosts of a lab, whose rate and depth are known: the kernel's own (tbf), and one that drops what
//! is too much. Bounds are those that hold on a loaded machine.

use dwell_core::avail::Busy;
use dwell_core::capacity::ShaperProbe;
use dwell_core::limit::Limit;
use dwell_core::{Finding, Method, Path, Quantity, Report, Side, run};
use dwell_lab::{Lab, LabError, LabOptions};
use dwell_sim::Scenario;

/// A lab whose second link has `says`; `None` where the system refuses namespaces.
fn lab(says: &str, carrier: &str) -> Option<Lab> {
    let text = format!(
        "name = 'bucket'\n[lab]\ncarrier = '{carrier}'\n[[links]]\nrate = 'unshaped'\n\
         [[links]]\n{says}\n[[reverse]]\nrate = 'unshaped'\n[[reverse]]\nrate = 'unshaped'\n"
    );
    match Lab::up(&Scenario::parse("bucket.toml", &text).unwrap(), LabOptions::default()) {
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

fn report(lab: &Lab, method: impl FnOnce(&dwell_core::PathFacts) -> Box<dyn Method>) -> Report {
    let mut path = lab.connect().unwrap();
    let mut method = method(&path.facts());
    run(&mut *method, &mut path, None, drop).unwrap();
    println!("{:?}", method.report());
    method.report()
}

#[track_caller]
fn near(report: &Report, quantity: Quantity, truth: f64, share: f64) {
    let found = report.finding(quantity).estimate().unwrap_or_else(|| panic!("{report:?}"));
    assert!((found / truth - 1.0).abs() < share, "{found} for {truth}: {report:?}");
}

#[test]
fn rate_and_depth_of_the_kernel_s_own_bucket() {
    let shaper = "shaper = { rate = '20 Mb/s', burst = '100 kB' }";
    let Some(lab) = lab(&format!("rate = 'unshaped'\nqueue = '4 MiB'\n{shaper}"), "tbf") else { return };
    let told = report(&lab, |facts| Box::new(ShaperProbe::new(Default::default(), facts)));
    assert_eq!(told.verdict.as_ref().unwrap().limit, Limit::TokenBucket, "{told:?}");
    near(&told, Quantity::TokenRate, 20e6, 0.05);
    near(&told, Quantity::BucketDepth, 100e3, 0.2);
}

#[test]
fn a_policer_is_told_from_a_shaper() {
    // 22 packets are 33.6 kB, and pass a bucket of so much where the machine makes them at less than 79 Mb/s: it refills meanwhile.
    let policer = "policer = { rate = '20 Mb/s', burst = '25 kB' }";
    let Some(lab) = lab(&format!("rate = '200 Mb/s'\nqueue = '4 MiB'\n{policer}"), "emulated") else {
        return;
    };
    let told = report(&lab, |facts| Box::new(ShaperProbe::new(Default::default(), facts)));
    let verdict = told.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit, Limit::TokenBucket, "{told:?}");
    assert!(verdict.reason.contains("policer"), "{told:?}");
    near(&told, Quantity::TokenRate, 20e6, 0.1);
    near(&told, Quantity::BucketDepth, 25e3, 0.2);
    // What is free is not more, though bursts of eleven packets pass.
    let told = report(&lab, |facts| Box::new(Busy::new(Default::default(), facts)));
    let free = told.finding(Quantity::AvailableBandwidth);
    let sure = matches!(free, Finding::Value { low, .. } if low > 25e6)
        || matches!(free, Finding::Bound { bound, side: Side::Lower, .. } if bound > 25e6);
    assert!(!sure, "{told:?}");
}
