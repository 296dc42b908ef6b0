//! The published methods for available bandwidth on paths whose available bandwidth is known.

use dwell_core::avail::{Abing, Bart, Cprobe, Igi, Pathchirp, Pathload, Spruce, Topp, igi};
use dwell_core::{BitRate, Finding, Method, Path, PathFacts, Quantity, Report, Side, run};
use dwell_sim::{Scenario, SimPath};

/// One link of 100 Mb/s between faster ones, with cross traffic on it.
fn scenario(cross: &str) -> Scenario {
    let text = format!(
        "name = 'one tight link'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{cross}\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n"
    );
    Scenario::parse("avail.toml", &text).unwrap()
}

fn loaded(kind: &str, percent: u32, size: u32) -> Scenario {
    scenario(&format!("[[links.cross]]\nkind = '{kind}'\nload = '{percent} %'\nsize = '{size} B'\n"))
}

fn measured(method: &mut dyn Method, scenario: &Scenario, seed: u64) -> Report {
    let mut path = SimPath::new(scenario, seed);
    run(method, &mut path, None, |_| ()).unwrap();
    method.report()
}

fn facts(scenario: &Scenario) -> PathFacts {
    PathFacts { narrow_link: Some(BitRate::from_mbps(100)), ..SimPath::new(scenario, 0).facts() }
}

fn mbps(report: &Report, quantity: Quantity) -> f64 {
    report.finding(quantity).estimate().unwrap_or_else(|| panic!("{report:?}")) / 1e6
}

#[test]
fn print_all() {
    for (kind, load) in [("constant", 30), ("poisson", 0), ("poisson", 30), ("poisson", 60), ("poisson", 80)] {
        let scenario = loaded(kind, load.max(1), 1526);
        let facts = facts(&scenario);
        let ptr = igi::Config { answer: igi::Answer::Ptr, ..igi::Config::default() };
        let methods: Vec<Box<dyn Method>> = vec![
            Box::new(Pathload::new(Default::default(), &facts)),
            Box::new(Pathchirp::new(Default::default(), &facts)),
            Box::new(Spruce::new(Default::default(), &facts)),
            Box::new(Igi::new(Default::default(), &facts)),
            Box::new(Igi::new(ptr, &facts)),
            Box::new(Abing::new(Default::default(), &facts)),
            Box::new(Topp::new(Default::default(), &facts)),
            Box::new(Bart::new(Default::default(), &facts)),
            Box::new(Cprobe::new(Default::default(), &facts)),
        ];
        for mut method in methods {
            let mut path = SimPath::new(&scenario, 3);
            let effort = run(method.as_mut(), &mut path, None, |_| ()).unwrap();
            let report = method.report();
            println!("{kind} {load} {} {:?} {:?} adr {:?} pk {} t {}", report.method, report.findings.get(&Quantity::AvailableBandwidth), report.findings.get(&Quantity::TightLinkCapacity), report.findings.get(&Quantity::DispersionRate), effort.packets, effort.span);
        }
    }
}
