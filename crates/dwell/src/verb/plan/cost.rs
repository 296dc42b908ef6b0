//! What a run of each method costs, by sending it: through the simulator, on the planned path without traffic of others.
//! What a published scheme sends follows from its settings alone; the project's own methods look at what comes back, so
//! what they send is drawn many times.

use anyhow::Result;
use dwell_core::capacity::EndLink;
use dwell_core::coalescence::Coalescence;
use dwell_core::host::{Knee, Salehin2015, Salehin2017, salehin2015, salehin2017};
use dwell_core::{Bytes, Effort, LoadLimit, Method, Nanos, Passage, Path, PathFacts, run};
use dwell_sim::{Scenario, SimPath};
use std::panic::resume_unwind;
use std::thread;

/// Rehearsals of a method that looks at what comes back. The next run lies between the least and the most of n earlier
/// ones with a probability of 1 - 2 / (n + 1): 95 %.
const REHEARSALS: u64 = 39;

/// The name of `knee`.
pub(super) const KNEE: &str = "knee";

/// The name of `coalescence`.
const COALESCENCE: &str = "coalescence";

/// What decides about cost.
pub(super) struct Settings {
    /// Probes of each size, of the published schemes.
    pub(super) probes: usize,
    /// Idle time before each of their probes.
    pub(super) pause: Nanos,
    /// s_1 and s_2, where two sizes fit.
    pub(super) trailing: Option<[Bytes; 2]>,
    /// Probing load.
    pub(super) limit: LoadLimit,
    /// What is known of the path.
    pub(super) facts: PathFacts,
    pub(super) seed: u64,
}

/// What one method costs.
pub(super) struct Cost {
    pub(super) method: &'static str,
    /// Trailing sizes, ascending.
    pub(super) trailing: Vec<Bytes>,
    /// Heading size.
    pub(super) heading: Bytes,
    /// One rehearsal, or the middle one.
    pub(super) effort: Effort,
    /// Least and most, where the method looks at what comes back.
    pub(super) range: Option<[Effort; 2]>,
    /// Longest time that a burst of equal packets took, first to last.
    pub(super) burst: Nanos,
}

/// Every method in turn; `salehin2015` only where two sizes fit.
pub(super) fn costs(scenario: &Scenario, settings: &Settings) -> Result<Vec<Cost>> {
    let mut quiet = scenario.clone();
    for link in &mut quiet.links {
        link.cross.clear();
        link.loss = 0.0;
    }
    let facts = &settings.facts;
    let (probes, pause) = (settings.probes, settings.pause);
    let mut costs = Vec::new();
    // The end link comes first, and nothing is known of the load that it may make.
    let unknown = PathFacts { end_link: None, narrow_link: None, ..*facts };
    costs.push(varying(EndLink::NAME, &quiet, None, settings.seed, &|| {
        Box::new(EndLink::new(Default::default(), &unknown))
    })?);
    let limit = Some(settings.limit);
    costs.push(varying(COALESCENCE, &quiet, limit, settings.seed, &|| {
        Box::new(Coalescence::new(Default::default(), facts))
    })?);
    costs.push(varying(KNEE, &quiet, limit, settings.seed, &|| {
        Box::new(Knee::new(Default::default(), facts))
    })?);
    if let Some(trailing) = settings.trailing {
        let config = salehin2015::Config { probes, pause, trailing, ..Default::default() };
        let mut method = Salehin2015::new(config, facts);
        costs.push(rehearse(Salehin2015::NAME, &mut method, &quiet, limit, settings.seed)?);
    }
    let config = salehin2017::Config { probes, pause, ..Default::default() };
    let mut method = Salehin2017::new(config, facts);
    costs.push(rehearse(Salehin2017::NAME, &mut method, &quiet, limit, settings.seed)?);
    Ok(costs)
}

/// One run.
fn rehearse(
    name: &'static str,
    method: &mut dyn Method,
    scenario: &Scenario,
    limit: Option<LoadLimit>,
    seed: u64,
) -> Result<Cost> {
    let mut path = SimPath::connected(scenario, seed)?;
    let heading = path.facts().max_size;
    let (mut trailing, mut burst, mut first) = (Vec::new(), Nanos::ZERO, None);
    let effort = run(method, &mut path, limit, |Passage { observation, .. }| {
        let fates = &observation.fates;
        first = first.or(fates.first().map(|head| head.packet.size));
        let equal = fates.windows(2).all(|two| two[0].packet.size == two[1].packet.size);
        if let [_, tail] = fates.as_slice() {
            trailing.push(tail.packet.size);
        } else if let (true, Some(last), Some(head)) = (equal, fates.last(), fates.first())
            && let (Some(last), Some(head)) = (last.arrival, head.arrival)
        {
            burst = burst.max(last.stamps.nearest_wire() - head.stamps.nearest_wire());
        }
    })?;
    trailing.sort_unstable();
    trailing.dedup();
    Ok(Cost { method: name, trailing, heading: first.unwrap_or(heading), effort, range: None, burst })
}

/// Many runs with seeds of their own, on every core.
fn varying(
    name: &'static str,
    scenario: &Scenario,
    limit: Option<LoadLimit>,
    seed: u64,
    build: &(dyn Fn() -> Box<dyn Method> + Sync),
) -> Result<Cost> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = |core: usize| -> Result<Vec<(u64, Cost)>> {
        let own = (core as u64..REHEARSALS).step_by(cores);
        own.map(|i| Ok((i, rehearse(name, &mut *build(), scenario, limit, seed.wrapping_add(i))?))).collect()
    };
    let shares: Result<Vec<_>> = thread::scope(|scope| {
        let started: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        started.into_iter().map(|share| share.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut runs: Vec<(u64, Cost)> = shares?.into_iter().flatten().collect();
    runs.sort_by_key(|(i, _)| *i);
    let mut runs: Vec<Cost> = runs.into_iter().map(|(_, cost)| cost).collect();
    let mut efforts: Vec<Effort> = runs.iter().map(|run| run.effort).collect();
    let ends = [f64::min, f64::max];
    let extreme =
        |of: fn(&Effort) -> f64| ends.map(|end| efforts.iter().map(of).reduce(end).unwrap_or_default());
    let (probes, packets) = (extreme(|e| e.probes as f64), extreme(|e| e.packets as f64));
    let (bytes, span) = (extreme(|e| e.bytes.0 as f64), extreme(|e| e.span.as_f64()));
    let range = [0, 1].map(|end| Effort {
        probes: probes[end] as u64,
        packets: packets[end] as u64,
        lost: 0,
        bytes: Bytes(bytes[end] as u64),
        span: Nanos::from_f64(span[end]),
    });
    efforts.sort_by_key(|effort| effort.span);
    let middle = efforts[efforts.len() / 2];
    let first = runs.swap_remove(0);
    Ok(Cost { effort: middle, range: Some(range), ..first })
}
