//! Runs of `dwell echo` in the lab, held against the host's own stages of the same packets as an observer inside it saw
//! them: from the driver to the program's stamp and from its call to the driver, or, where the kernel answers, from the
//! driver to protocol input and from the queueing discipline to the driver.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use crate::verb::echo::Probe;
use anyhow::{Result, ensure};
use dwell_core::echo::{Asked, Echo, HostTimes, Inside, join};
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
        let lab = EchoLab::up(condition.scenario()?, LabOptions { seed, ..LabOptions::default() }, asked)?;
        let watch = lab.watch()?;
        let heard = lab.run(ASKING, &mut |_| {})?;
        let inside = Inside::of(&watch.finish()?.journeys);
        let (tap, _) = &heard.tap;
        let told: Vec<Echo> = match probe {
            Probe::Icmp => join(tap, &heard.host.0, None).echoes,
            Probe::Udp | Probe::Tcp => tap.iter().map(|seen| Echo::at_tap(seen, None)).collect(),
        };
        let mut watched: Vec<(Echo, HostTimes)> =
            told.iter().filter_map(|echo| Some((*echo, inside.times(&echo.host?)?))).collect();
        if *probe == Probe::Icmp {
            // No program has stamps of its own.
            watched.iter_mut().for_each(|(echo, times)| echo.host = Some(*times));
        }
        ensure!(
            2 * watched.len() >= told.len(),
            "the observer saw {} of {} {name} echoes: too few to judge by",
            watched.len(),
            told.len()
        );
        let (echoes, truths): (Vec<Echo>, Vec<HostTimes>) = watched.into_iter().unzip();
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
            judged.rows.push(Row::new(&origin, *quantity, finding, truth(*quantity, &truths), None));
        }
    }
    Ok(judged)
}

/// The same by the host's own stages.
fn truth(quantity: Quantity, truths: &[HostTimes]) -> Option<f64> {
    let of = |part: fn((Nanos, Nanos)) -> f64| -> Vec<f64> {
        truths.iter().filter_map(HostTimes::halves).map(part).collect()
    };
    median(&match quantity {
        Quantity::TwoWayPpt => of(|(up, down)| (up + down).as_f64()),
        Quantity::PptAverage => of(|(up, down)| (up + down).as_f64() / 2.0),
        Quantity::PptUp => of(|(up, _)| up.as_f64()),
        Quantity::PptDown => of(|(_, down)| down.as_f64()),
        Quantity::AnswerTime => truths.iter().map(|times| (times.t5 - times.t3).as_f64()).collect(),
        _ => return None,
    })
}
