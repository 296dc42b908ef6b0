//! Runs of `dwell echo --fsd` in the lab, held against what taps on either side of the router saw of the same packets.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use anyhow::{Result, ensure};
use dwell_core::{Bytes, Effort, Nanos, Quantity, fsd};
use dwell_lab::{FsdLab, LabError, LabOptions};
use dwell_net::echo::Asking;
use std::time::Instant;

/// A run's pairs.
const ASKING: Asking = Asking { count: 200, interval: Nanos::from_millis(20) };

/// One run: the routers at each of the condition's hops, on a lab of its own.
pub(super) fn run(
    condition: &Condition,
    place: &Place,
    seed: u64,
    wants: impl Fn(Quantity) -> bool,
) -> Result<Judged> {
    let mut judged = Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() };
    for (hop, ipv6) in condition.fsd.iter().flat_map(|hop| [(*hop, false), (*hop, true)]) {
        let began = Instant::now();
        let options = LabOptions { seed, ipv6, ..LabOptions::default() };
        let lab = match FsdLab::up(condition.scenario()?, options, hop) {
            Err(LabError::NoIpv6) => continue,
            other => other?,
        };
        let heard = lab.run(ASKING, &mut |_| {})?;
        let seen = heard.inside.pairs.len();
        ensure!(
            2 * seen >= ASKING.count as usize,
            "the router's own taps saw {seen} of {} pairs: too few to judge by",
            ASKING.count
        );
        let report = fsd::report(&heard.ends.pairs);
        let bytes: u64 = heard.ends.pairs.iter().map(|pair| pair.direct.sent.0 + pair.limited.sent.0).sum();
        let origin = Origin {
            world: EvalWorld::Lab,
            place: place.clone(),
            condition: condition.settings.clone(),
            method: format!("{} hop {hop} ipv{}", fsd::NAME, if ipv6 { 6 } else { 4 }),
            stamps: report.stamps,
            effort: Effort {
                probes: u64::from(ASKING.count),
                packets: 2 * u64::from(ASKING.count),
                bytes: Bytes(bytes),
                ..Effort::default()
            },
            seconds: began.elapsed().as_secs_f64(),
        };
        for (quantity, finding) in report.findings.iter().filter(|(quantity, _)| wants(**quantity)) {
            let truth = match quantity {
                Quantity::IcmpGeneration => heard.truth(),
                // All taps of the lab read one clock.
                Quantity::ClockSkew => Some(0.0),
                _ => None,
            };
            judged.rows.push(Row::new(&origin, *quantity, finding, truth, None));
        }
    }
    Ok(judged)
}
