//! Runs of `dwell echo` in the lab, held against the sum of the host's own stages.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use crate::verb::echo::Probe;
use anyhow::{Result, anyhow};
use dwell_core::echo::{Asked, Echo, join};
use dwell_core::host::salehin2013;
use dwell_core::inside::{Journey, Point, Way};
use dwell_core::stats::quantile::median;
use dwell_core::{Bytes, Effort, Nanos, Quantity};
use dwell_lab::{EchoLab, LabOptions};
use dwell_net::echo::Asking;
use std::collections::BTreeMap;
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
        let heard = lab.run(ASKING, true, &mut |_| {})?;
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
        let truths = truths(
            &echoes,
            &heard.inside.map_err(|why| anyhow!("the host's stages cannot be watched: {why}"))?,
        );
        for (quantity, finding) in report.findings.iter().filter(|(quantity, _)| wants(**quantity)) {
            judged.rows.push(Row::new(&origin, *quantity, finding, truths.get(quantity).copied(), None));
        }
    }
    Ok(judged)
}

/// The same from what the observer saw inside the host, echo by echo: of a program's echo, from the driver to the
/// program's stamp, and from its second stamp to the driver; of the kernel's answer, from driver to driver.
fn truths(echoes: &[Echo], journeys: &[Journey]) -> BTreeMap<Quantity, f64> {
    let mut seen: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    let mut note = |quantity, time: Nanos| seen.entry(quantity).or_default().push(time.as_f64());
    for echo in echoes {
        let Some(host) = echo.host else { continue };
        let during = journeys.iter().filter(|journey| {
            let first = journey.times.seen().next();
            first.is_some_and(|(_, at)| (echo.t1..=echo.t7).contains(&at))
        });
        let (mut up, mut down) = (None, None);
        for journey in during {
            let at = |point| journey.times.at(point);
            let left = at(Point::Handed).or(at(Point::Xmit));
            match journey.way {
                Way::Receive => up = up.or(at(Point::Driver).map(|arrived| host.t3 - arrived)),
                Way::Send => down = down.or(left.map(|left| left - host.t5)),
                Way::Answer => {
                    if let (Some(arrived), Some(left)) = (at(Point::Driver), left) {
                        note(Quantity::TapGap, left - arrived);
                    }
                }
            }
        }
        if let (Some(up), Some(down)) = (up, down) {
            note(Quantity::TwoWayPpt, up + down);
            note(Quantity::PptAverage, (up + down) / 2);
            note(Quantity::PptUp, up);
            note(Quantity::PptDown, down);
            note(Quantity::PptAsymmetry, up - down);
        }
    }
    seen.into_iter().filter_map(|(quantity, times)| Some((quantity, median(&times)?))).collect()
}
