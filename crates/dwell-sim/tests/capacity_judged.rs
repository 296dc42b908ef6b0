//! Dwell's own method for capacity, over rates, loads, kinds of traffic and NICs: how far off, how often the interval
//! holds, how long and how much.

use dwell_core::capacity::{SparedRuns, spared};
use dwell_core::stats::quantile::{median, quantile};
use dwell_core::{Finding, Path, Quantity, Side, Method, run};
use dwell_sim::{Scenario, SimPath};

/// One path: its narrow link's rate in Mb/s, the other links' as multiples, and traffic on the narrow link and behind it.
#[derive(Copy, Clone, Debug)]
struct Case {
    mbps: f64,
    before: f64,
    behind: f64,
    narrow: u32,
    after: u32,
    kind: &'static str,
    nic: &'static str,
}

impl Case {
    fn scenario(&self) -> Scenario {
        let rate = |factor: f64| format!("{:.0} b/s", self.mbps * 1e6 * factor);
        let cross = |load: u32, factor: f64| match (load, self.kind) {
            (0, _) => String::new(),
            (_, "pareto") => {
                let peak = rate(factor * 0.95);
                let on = (240e3 / (self.mbps * factor)).max(1.0);
                format!(
                    "[[links.cross]]\nkind = {{ pareto = {{ shape = 1.5, on = '{on:.3} us', peak = '{peak}' }} }}\nload = '{load} %'\nsize = '1526 B'\n"
                )
            }
            (_, kind) => format!("[[links.cross]]\nkind = '{kind}'\nload = '{load} %'\nsize = '1526 B'\n"),
        };
        let text = format!(
            "name = 'judged'\n[destination]\n{}\n\
             [[links]]\nrate = '{}'\npropagation = '10 us'\n\
             [[links]]\nrate = '{}'\npropagation = '1 ms'\nqueue = '4 MiB'\n{}\
             [[links]]\nrate = '{}'\npropagation = '1 ms'\nqueue = '4 MiB'\n{}\
             [[links]]\nrate = '{}'\npropagation = '10 us'\n",
            self.nic,
            rate(self.before),
            rate(1.0),
            cross(self.narrow, 1.0),
            rate(self.behind),
            cross(self.after, self.behind),
            rate(10.0),
        );
        Scenario::parse("judged.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

#[derive(Copy, Clone, Debug)]
struct Judged {
    error: f64,
    holds: bool,
    value: bool,
    seconds: f64,
    share: f64,
    warned: bool,
}

fn judge(case: &Case, seed: u64) -> Judged {
    let mut path = SimPath::new(&case.scenario(), seed);
    let config = spared::Config { seed, ..Default::default() };
    let mut method = SparedRuns::new(config, &path.facts());
    let effort = run(&mut method, &mut path, None, |_| ()).unwrap();
    let report = method.report();
    let finding = report.finding(Quantity::NarrowLinkCapacity);
    let truth = case.mbps * 1e6;
    let estimate = match &finding {
        Finding::Value { value, .. } => *value,
        Finding::Bound { bound, side: Side::Lower, .. } => *bound,
        _ => 0.0,
    };
    Judged {
        error: estimate / truth - 1.0,
        holds: finding.holds(truth) == Some(true),
        value: finding.estimate().is_some(),
        seconds: effort.span.as_secs_f64(),
        share: effort.share_of(dwell_core::BitRate(truth as u64)).unwrap_or(0.0),
        warned: !report.warnings.is_empty(),
    }
}

fn told(name: &str, judged: &[Judged]) {
    let errors: Vec<f64> = judged.iter().filter(|one| one.value).map(|one| one.error.abs()).collect();
    let at = |of: &[f64], p| quantile(of, p).unwrap_or(f64::NAN);
    let of = |what: fn(&Judged) -> f64| judged.iter().map(what).collect::<Vec<f64>>();
    println!(
        "{name}: {} runs, {} values; error median {:.2} %, p95 {:.2} %, worst {:.2} %; holds {} %; {:.1} s (most {:.1}), load {:.1} %",
        judged.len(),
        errors.len(),
        at(&errors, 0.5) * 100.0,
        at(&errors, 0.95) * 100.0,
        at(&errors, 1.0) * 100.0,
        judged.iter().filter(|one| one.holds).count() * 100 / judged.len().max(1),
        median(&of(|one| one.seconds)).unwrap_or(0.0),
        at(&of(|one| one.seconds), 1.0),
        median(&of(|one| one.share)).unwrap_or(0.0) * 100.0,
    );
    let sure: Vec<Judged> = judged.iter().filter(|one| !one.warned && one.value).copied().collect();
    if sure.len() < judged.len() && !name.ends_with("sure") {
        told(&format!("{name}, sure"), &sure);
    }
}

#[test]
fn own_method() {
    for nic in ["", "nic = { hold = { period = '50 us' } }", "nic = { throttle = { period = '125 us' } }"] {
        let mut all = Vec::new();
        for kind in ["constant", "poisson", "pareto"] {
            for (narrow, after) in [(0, 0), (30, 0), (60, 0), (80, 0), (0, 50), (0, 80), (60, 60)] {
                let mut here = Vec::new();
                for mbps in [10.0, 100.0, 1_000.0, 10_000.0] {
                    for (before, behind) in [(1.0, 2.0), (4.0, 1.5), (10.0, 10.0)] {
                        let case = Case { mbps, before, behind, narrow, after, kind, nic };
                        let judged = judge(&case, 1);
                        if judged.error.abs() > 0.05 && std::env::var("SHOW").is_ok() {
                            println!("  {case:?} {judged:?}");
                        }
                        here.push(judged);
                    }
                }
                if std::env::var("SHOW").is_ok() {
                    told(&format!("{nic} {kind} {narrow}/{after}"), &here);
                }
                all.extend(here);
            }
        }
        told(nic, &all);
    }
}
