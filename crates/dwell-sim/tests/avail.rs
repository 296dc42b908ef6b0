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
fn print_busy() {
    for kind in ["constant", "poisson"] {
        for size in [90, 602, 1526] {
            for load in [1, 20, 40, 60, 80, 90] {
                let scenario = loaded(kind, load, size);
                let facts = SimPath::new(&scenario, 0).facts();
                let mut errors = Vec::new();
                let (mut held, mut packets, mut time) = (0, 0, 0.0);
                for seed in 0..20 {
                    let mut path = SimPath::new(&scenario, seed);
                    let config = dwell_core::avail::busy::Config { seed, ..Default::default() };
                    let mut method = dwell_core::avail::Busy::new(config, &facts);
                    let effort = run(&mut method, &mut path, None, |_| ()).unwrap();
                    let truth = (100 - load) as f64 * 1e6;
                    let finding = method.report().finding(Quantity::AvailableBandwidth);
                    packets = effort.packets;
                    time = effort.span.as_secs_f64();
                    match finding.estimate() {
                        Some(value) => {
                            errors.push((value - truth) / 1e8);
                            held += usize::from(finding.holds(truth) == Some(true));
                        }
                        None => println!("{finding:?}"),
                    }
                }
                errors.sort_by(f64::total_cmp);
                let absolute = dwell_core::stats::quantile::median(&errors.iter().map(|e| e.abs()).collect::<Vec<_>>());
                println!("{kind} {size} {load}: median {:+.3} abs {:.3} worst {:+.3} {:+.3} held {held}/{} packets {packets} {time:.2} s", errors[errors.len()/2], absolute.unwrap(), errors[0], errors[errors.len()-1], errors.len());
            }
        }
    }
}
