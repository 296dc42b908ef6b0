//! TTL-limited probing over routers of this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::Finding;
use dwell_core::hop::{HopPath, Joined, Walk, run};
use dwell_lab::{HopLab, LabError, LabOptions};
use dwell_sim::Scenario;

/// A look at a path of these links; `None` where the system refuses namespaces.
fn walk(links: &str, ipv6: bool) -> Option<Joined> {
    let scenario = Scenario::parse("test.toml", &format!("name = 'hops'\n{links}")).unwrap();
    let mut lab = match HopLab::up(&scenario, LabOptions { ipv6, seed: 1, ..LabOptions::default() }) {
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            return None;
        }
        other => other.unwrap(),
    };
    let mut walk = Walk::new(lab.facts(), dwell_core::Nanos::from_secs(8));
    let began = std::time::Instant::now();
    run(&mut walk, &mut lab, |_| ()).unwrap();
    println!("{:?} {:?}", began.elapsed(), lab.circumstances().notes);
    let joined = walk.joined();
    for hop in &joined.hops {
        println!(
            "{} {:?} {} | {} {}/{} {:?} {:?}",
            hop.hop,
            hop.address,
            brief(&hop.capacity),
            brief(&hop.segment_capacity),
            hop.answered,
            hop.asked,
            hop.limit,
            hop.hidden
        );
    }
    println!(
        "{:?} {:?} {:?} {:?}",
        joined.narrow_hop,
        brief(&joined.narrow_link_capacity),
        joined.tight,
        joined.no_tight
    );
    println!("{:#?}", joined.warnings);
    Some(joined)
}

fn brief(finding: &Finding) -> String {
    match finding {
        Finding::Value { value, low, high, .. } => {
            format!("{:.2} ({:.2}..{:.2})", value / 1e6, low / 1e6, high / 1e6)
        }
        Finding::Bound { bound, side, .. } => format!("{side:?} {:.2}", bound / 1e6),
        Finding::Unmeasurable { reason } => reason.clone(),
    }
}

fn links(rates: &[&str]) -> String {
    rates.iter().map(|rate| format!("[[links]]\nrate = '{rate}'\n")).collect()
}

#[test]
fn one() {
    walk(&links(&["20 Mb/s", "10 Mb/s", "50 Mb/s"]), false);
}
#[test]
fn two() {
    walk(&links(&["100 Mb/s", "100 Mb/s", "100 Mb/s", "100 Mb/s"]), false);
}
#[test]
fn six() {
    walk(&links(&["20 Mb/s", "10 Mb/s", "50 Mb/s"]), true);
}
#[test]
fn hidden() {
    walk(
        "[[links]]\nrate='50 Mb/s'\n[[links]]\nrate='50 Mb/s'\nnode='switch'\n[[links]]\nrate='50 Mb/s'\n[[links]]\nrate='50 Mb/s'\n",
        false,
    );
}
#[test]
fn limited() {
    walk(
        "[[links]]\nrate='50 Mb/s'\n[[links]]\nrate='50 Mb/s'\nnode={ router = { every = '1 s' } }\n[[links]]\nrate='50 Mb/s'\n",
        false,
    );
}
