//! Runs of `dwell echo` in the lab, held against the sum of the host's own stages.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use crate::verb::echo::Probe;
use anyhow::Result;
use dwell_core::echo::{Asked, Echo, join};
use dwell_core::host::salehin2013;
use dwell_core::stats::quantile::median;
use dwell_core::{Bytes, Effort, Nanos, Quantity};
use dwell_lab::{EchoLab, LabOptions};
use dwell_net::echo::Asking;
use std::time::Instant;

/// A round of each run.
const ASKING: Asking = Asking { count: 200, interval: Nanos::from_millis(5) };

const PORT: u16 = 7924;

/// One run: each of the condition's probes, on a lab of its own.
pub(super) fn run(
    condition: &Condition,
    place: &Place,
    seed: u64,
    wants: impl Fn(Quantity) -> bool,
) -> Result<Judged> {
    let mut judged = Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() };
    for probe in &condition.echo {
        let (asked, name) = match probe {
            Probe::Icmp => (Asked::Icmp, "icmp"),
            Probe::Udp => (Asked::Udp { port: PORT }, "udp"),
            Probe::Tcp => (Asked::Tcp { port: PORT }, "tcp"),
        };
        let began = Instant::now();
        let lab = EchoLab::up(&condition.scenario, LabOptions { seed, ..LabOptions::default() }, asked)?;
        let heard = lab.run(ASKING, &mut |_| {})?;
        let (tap, _) = &heard.tap;
        let echoes = match probe {
            Probe::Icmp => join(tap, &heard.host.0, None).echoes,
            Probe::Udp | Probe::Tcp => tap.iter().map(|seen| Echo::at_tap(seen, None)).collect(),
        };
        let report = salehin2013::report(&echoes);
        let packets = 2 * u64::from(ASKING.count);
        let bytes: u64 = tap.iter().map(|seen| seen.size.0).sum();
        let origin = Origin {
            world: EvalWorld::Lab,
            place: place.clone(),
            condition: condition.settings.clone(),
            method: format!("{} {name}", salehin2013::NAME),
            stamps: report.stamps,
            effort: Effort {
                probes: u64::from(ASKING.count),
                packets,
                bytes: Bytes(bytes),
                ..Effort::default()
            },
            seconds: began.elapsed().as_secs_f64(),
        };
        for (quantity, finding) in report.findings.iter().filter(|(quantity, _)| wants(**quantity)) {
            judged.rows.push(Row::new(&origin, *quantity, finding, truth(*quantity, &echoes), None));
        }
    }
    Ok(judged)
}

/// The same from stamps of the host alone: its kernel's stamps of arrival and departure, and its program's between.
fn truth(quantity: Quantity, echoes: &[Echo]) -> Option<f64> {
    let halves = echoes.iter().filter_map(Echo::halves).map(|(up, down)| (up + down).as_f64());
    let sums: Vec<f64> = match quantity {
        Quantity::TwoWayPpt => halves.collect(),
        Quantity::PptAverage => halves.map(|sum| sum / 2.0).collect(),
        _ => return None,
    };
    median(&sums)
}
