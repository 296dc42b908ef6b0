//! `fsd` over routers of this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::{Finding, Nanos, Quantity, fsd};
use dwell_lab::{FsdHeard, FsdLab, LabError, LabOptions};
use dwell_net::echo::Asking;
use dwell_sim::Scenario;

fn run(links: usize, hop: u8, ipv6: bool) -> Option<FsdHeard> {
    let text = format!("name = 'fsd'\n{}", "[[links]]\nrate = 'unshaped'\n".repeat(links));
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    let lab = match FsdLab::up(&scenario, LabOptions { ipv6, ..LabOptions::default() }, hop) {
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            return None;
        }
        other => other.unwrap(),
    };
    let asking = Asking { count: 100, interval: Nanos::from_millis(20) };
    Some(lab.run(asking, &mut |_| {}).unwrap())
}

#[test]
fn the_estimate_is_what_the_router_took() {
    for (links, hop, ipv6) in [(2, 1, false), (3, 2, false), (2, 1, true)] {
        let Some(heard) = run(links, hop, ipv6) else { continue };
        eprintln!("{:?} {:?}", heard.router, heard.ends.tally);
        let report = fsd::report(&heard.ends.pairs);
        let inside = fsd::report(&heard.inside.pairs);
        eprintln!("{:?}\n inside {:?} truth {:?}", report, inside, heard.truth());
        let med = |f: &dyn Fn(usize) -> i64| {
            let mut v: Vec<i64> = (0..heard.ends.pairs.len()).map(f).collect();
            v.sort();
            (v[v.len() / 4], v[v.len() / 2], v[3 * v.len() / 4])
        };
        let (e, i) = (&heard.ends.pairs, &heard.inside.pairs);
        eprintln!(
            "up D {:?} L {:?}",
            med(&|k| (i[k].direct.left - e[k].direct.left).0),
            med(&|k| (i[k].limited.left - e[k].limited.left).0)
        );
        eprintln!("in D {:?} L {:?}", med(&|k| (i[k].direct.apart()).0), med(&|k| (i[k].limited.apart()).0));
        eprintln!(
            "dn D {:?} L {:?}",
            med(&|k| (e[k].direct.arrived - i[k].direct.arrived).0),
            med(&|k| (e[k].limited.arrived - i[k].limited.arrived).0)
        );
        let all: Vec<_> =
            heard.inside.pairs.iter().map(|p| (p.direct.apart().0, p.limited.apart().0)).collect();
        eprintln!("{:?}", &all[..20]);
    }
}
