//! How well each hop of a path is known by packets that expire there: the table of the book's pages on pathchar and segment.
//!
//! cargo run -p dwell-sim --example hops

use dwell_core::hop::{HopPath, Joined, Walk, run};
use dwell_core::stats::quantile::median;
use dwell_core::{BitRate, Effort, Finding};
use dwell_sim::{Scenario, SimHops};

const SEEDS: u64 = 10;
const HOPS: usize = 6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| links | load | method | hop 1 | 2 | 3 | 4 | 5 | 6 | time |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for rates in [[100; HOPS], [10, 100, 1000, 100, 10, 100], [1000; HOPS]] {
        for load in [0.0, 0.3, 0.6, 0.8] {
            row(&rates, load)?;
        }
    }
    row(&[10_000; HOPS], 0.0)
}

fn row(rates: &[u64; HOPS], load: f64) -> Result<(), Box<dyn std::error::Error>> {
    let link = |rate: &u64| {
        format!(
            "[[links]]\nrate = '{rate} Mb/s'\npropagation = '50 us'\ncross = [{{ load = {load}, kind = 'poisson' }}]\n"
        )
    };
    let text: String = rates.iter().map(link).collect();
    let text = if load > 0.0 { text } else { text.replace("cross = [{ load = 0, kind = 'poisson' }]", "") };
    let scenario = Scenario::parse("hops.toml", &format!("name = 'hops'\n{text}"))?;
    let truths = SimHops::truth(&scenario);
    let looks: Vec<(Joined, Effort)> =
        (1..=SEEDS).map(|seed| look(&scenario, seed)).collect::<Result<_, _>>()?;
    let seconds: Vec<f64> = looks.iter().map(|(_, effort)| effort.span.as_secs_f64()).collect();
    let seconds = median(&seconds).unwrap_or_default();
    let cells = |truth: &dyn Fn(usize) -> Option<BitRate>, found: &dyn Fn(&Joined, usize) -> Finding| {
        let cell = |hop| cell(&looks, truth(hop), &|joined: &Joined| found(joined, hop));
        (0..HOPS).map(cell).collect::<Vec<_>>().join(" | ")
    };
    let pathchar = cells(&|hop| truths[hop].capacity, &|joined, hop| joined.hops[hop].capacity.clone());
    let segment = cells(&|hop| truths[hop].segment, &|joined, hop| joined.hops[hop].segment_capacity.clone());
    println!("| {rates:?} | {load} | pathchar | {pathchar} | {seconds:.0} s |");
    println!("| | | segment | {segment} | |");
    Ok(())
}

fn look(scenario: &Scenario, seed: u64) -> Result<(Joined, Effort), Box<dyn std::error::Error>> {
    let mut path = SimHops::new(scenario, seed);
    let mut walk = Walk::new(path.facts(), Walk::PATIENCE);
    let effort = run(&mut walk, &mut path, |_| ())?;
    Ok((walk.joined(), effort))
}

/// Median error in per cent of those that told a value; how many did; how many findings hold the truth.
fn cell(looks: &[(Joined, Effort)], truth: Option<BitRate>, found: &dyn Fn(&Joined) -> Finding) -> String {
    let Some(truth) = truth.map(|rate| rate.0 as f64) else { return String::new() };
    let found: Vec<Finding> = looks.iter().map(|(joined, _)| found(joined)).collect();
    let errors: Vec<f64> =
        found.iter().filter_map(|one| Some((one.estimate()? / truth - 1.0).abs() * 100.0)).collect();
    // Rounding of the simulator's clock is no error.
    let near = |one: &Finding| match one {
        Finding::Value { value, .. } if (value / truth - 1.0).abs() < 0.01 => Some(true),
        one => one.holds(truth),
    };
    let held = found.iter().filter(|one| near(one) == Some(true)).count();
    let told = found.iter().filter(|one| near(one).is_some()).count();
    match median(&errors) {
        Some(error) => format!("{error:.1} % ({}; {held}/{told})", errors.len()),
        None => format!("- ({held}/{told})"),
    }
}
