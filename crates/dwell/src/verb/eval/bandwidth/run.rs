//! One run of a condition: every tool of its block, one after another.

use super::met::Met;
use super::own::Own;
use super::spec::Bandwidth;
use crate::verb::eval::grid::{Condition, EvalWorld};
use crate::verb::eval::journal::Judged;
use crate::verb::eval::place::Place;
use crate::verb::eval::rows::{Origin, Row};
use anyhow::{Context, Result};
use dwell_core::limit::Limit;
use dwell_core::throughput::Connection;
use dwell_core::throughput::report::report;
use dwell_core::truth::Usage;
use dwell_core::unit::{ETHERNET_OVERHEAD, INTER_FRAME_GAP};
use dwell_core::{
    BitRate, Bytes, Direction, Effort, Finding, Nanos, Onlooker, Path, PathFacts, Quantity, Unit, Vantage,
    run as carry,
};
use dwell_lab::{Lab, LabOptions};
use dwell_net::ConnectConfig;
use dwell_net::plugin::{Gives, Plugin};
use dwell_net::throughput::{Order, StreamPath};
use dwell_sim::{Scenario, SimPath};
use std::time::Instant;

/// In the simulator each method has the path for itself, with the same traffic packet by packet; in the lab they have
/// one lab after one another, with traffic of the same kind.
pub(in crate::verb::eval) fn run(
    condition: &Condition,
    asked: &Bandwidth,
    place: &Place,
    seed: u64,
    world: EvalWorld,
) -> Result<Judged> {
    let scenario = condition.scenario()?;
    let mut witness = Witness {
        condition,
        asked,
        world,
        seed,
        known: counters(&mut SimPath::new(scenario, 0))?.narrow_link(),
        uncarried: None,
        judged: Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() },
    };
    match world {
        EvalWorld::Sim => {
            for method in &asked.own {
                witness.follow(&mut SimPath::connected(scenario, seed)?, *method)?;
            }
        }
        EvalWorld::Lab => {
            let lab = Lab::up(scenario, LabOptions { seed, ..LabOptions::default() })?;
            if asked.own.iter().any(|method| *method != Own::Tcp) {
                witness.uncarried =
                    lab.trains()?.filter(|trains| !trains.carried()).map(|trains| trains.reason());
            }
            for method in &asked.own {
                match method {
                    Own::Tcp => witness.connect(&lab)?,
                    method => witness.follow(&mut lab.connect()?, *method)?,
                }
            }
            for plugin in &asked.foreign {
                witness.hear(&lab, plugin, scenario)?;
            }
        }
    }
    Ok(witness.judged)
}

struct Witness<'a> {
    condition: &'a Condition,
    asked: &'a Bandwidth,
    world: EvalWorld,
    seed: u64,
    /// Rate of the narrow link: what some methods must be told.
    known: Option<BitRate>,
    /// What the lab does not carry of what a train needs, with what it was seen to do.
    uncarried: Option<String>,
    judged: Judged,
}

/// A tool's cost and circumstances, beside what it found.
struct Measured {
    method: String,
    stamps: Vantage,
    quantity: Quantity,
    finding: Finding,
    effort: Effort,
    seconds: f64,
    packets: Option<u64>,
    warnings: usize,
    limit: Option<Limit>,
}

impl Witness<'_> {
    /// Has one of our methods measure, again and again where that is asked.
    fn follow<P: Path>(&mut self, path: &mut P, method: Own) -> Result<()> {
        let mut first = None;
        for turn in 0.. {
            let before = counters(path)?;
            let first = *first.get_or_insert(before.at);
            if turn > 0 && !self.goes_on(before.at - first) {
                break;
            }
            let facts = path.facts();
            // Those that take a capacity as known were run with the right one by their authors.
            let told = self.known.filter(|_| method.needs_capacity());
            let facts = PathFacts {
                narrow_link: told.or(facts.narrow_link),
                end_link: told.or(facts.end_link),
                ..facts
            };
            let machine = method.build(self.seed.wrapping_add(turn), &facts);
            let mut machine = machine.with_context(|| format!("{} sends no trains", method.name()))?;
            let began = Instant::now();
            let mut onlooker = Onlooker::default();
            let effort = carry(&mut *machine, path, None, |passage| onlooker.see(&passage.observation))?;
            let took = began.elapsed();
            let after = counters(path)?;
            let usage = before.until(&after).context("no time passed on the path")?;
            let report = onlooker.judge(machine.report(), &facts);
            let measured = Measured {
                method: method.name().to_owned(),
                stamps: report.stamps,
                quantity: method.quantity(),
                finding: report.finding(method.quantity()),
                effort,
                seconds: match self.world {
                    EvalWorld::Lab => took.as_secs_f64(),
                    // The simulator's own time costs nothing.
                    EvalWorld::Sim => usage.span.as_secs_f64(),
                },
                packets: Some(effort.packets),
                warnings: report.warnings.len(),
                limit: report.verdict.map(|verdict| verdict.limit),
            };
            self.note(measured, &usage, before.at - first);
        }
        Ok(())
    }

    /// Has one TCP connection of ours fill the path, for as long as programs of others do.
    fn connect(&mut self, lab: &Lab) -> Result<()> {
        let mut links = lab.connect()?;
        let mut first = None;
        for turn in 0.. {
            let before = counters(&mut links)?;
            let first = *first.get_or_insert(before.at);
            if turn > 0 && !self.goes_on(before.at - first) {
                break;
            }
            let order = Order {
                token: [0; 16],
                direction: Direction::Forward,
                connections: 1,
                duration: Nanos::from_secs(i64::from(self.asked.seconds)),
                congestion: None,
                autotune: false,
                window: None,
            };
            let run = |config: &ConnectConfig| anyhow::Ok(StreamPath::connect(config)?.run(&order)?);
            let transfer = lab.at_source(run)??;
            let after = counters(&mut links)?;
            let usage = before.until(&after).context("no time passed in the lab")?;
            let report = report(&transfer);
            let measured = Measured {
                method: Own::Tcp.name().to_owned(),
                stamps: report.stamps,
                quantity: Quantity::Throughput,
                finding: framed(&report.finding(Quantity::Throughput), &transfer.connection),
                effort: effort(&usage),
                seconds: transfer.span().as_secs_f64(),
                packets: None,
                warnings: report.warnings.len(),
                limit: report.verdict.map(|verdict| verdict.limit),
            };
            self.note(measured, &usage, before.at - first);
        }
        Ok(())
    }

    /// Has a program of others measure. That it fails is a result too.
    fn hear(&mut self, lab: &Lab, plugin: &Plugin, scenario: &Scenario) -> Result<()> {
        let rate = self.known.or(scenario.links.iter().filter_map(|link| link.rate).min());
        let rate = rate.unwrap_or(BitRate::from_mbps(1_000));
        let mut first = None;
        for turn in 0.. {
            let heard = lab.tool(plugin, self.asked.seconds, rate)?;
            let first = *first.get_or_insert(heard.before.at);
            if turn > 0 && !self.goes_on(heard.before.at - first) {
                break;
            }
            let usage = heard.before.until(&heard.after).context("no time passed in the lab")?;
            let unit = if plugin.gives() == Gives::RoundTrip { Unit::Ns } else { Unit::Bps };
            let (finding, seconds) = match &heard.told {
                Ok(told) => {
                    let reading = told.reading;
                    let (low, high) = reading.range.unwrap_or((reading.value, reading.value));
                    (Finding::value(reading.value, low, high, unit), (told.ended - told.began).as_secs_f64())
                }
                Err(error) => (Finding::unmeasurable(error.to_string()), usage.span.as_secs_f64()),
            };
            let failed = heard.told.is_err();
            let measured = Measured {
                method: plugin.name.clone(),
                stamps: Vantage::Application,
                quantity: quantity(plugin.gives()),
                finding,
                effort: effort(&usage),
                seconds,
                packets: None,
                warnings: 0,
                limit: None,
            };
            self.note(measured, &usage, heard.before.at - first);
            if failed {
                break;
            }
        }
        Ok(())
    }

    fn goes_on(&self, since: Nanos) -> bool {
        self.asked.continuous.is_some_and(|seconds| since < Nanos::from_secs(i64::from(seconds)))
    }

    fn note(&mut self, measured: Measured, usage: &Usage, began: Nanos) {
        let Measured { method, stamps, quantity, finding, effort, seconds, packets, warnings, limit } =
            measured;
        let origin = Origin {
            world: self.world,
            place: self.judged.place.clone(),
            condition: self.condition.settings.clone(),
            method,
            stamps,
            effort,
            seconds,
        };
        let truths = usage.truths();
        // A throughput is held against what is free, as papers/004 does.
        let held = if quantity == Quantity::Throughput { Quantity::AvailableBandwidth } else { quantity };
        let mut row = Row::new(&origin, quantity, &finding, truths.get(&held).copied(), None);
        row.met =
            self.condition.scenario().ok().and_then(|scenario| Met::of(usage, began, packets, scenario));
        // Others send as they like; what they make of this machine is theirs.
        row.uncarried = self.uncarried.clone().filter(|_| packets.is_some());
        if let Some(met) = &mut row.met {
            (met.warnings, met.limit) = (warnings, limit);
        }
        self.judged.rows.push(row);
    }
}

/// What the tight link carried of a tool that does not count its packets.
fn effort(usage: &Usage) -> Effort {
    let bytes = usage.tight().map_or(0.0, |tight| tight.own * usage.span.as_secs_f64() / 8.0);
    Effort { bytes: Bytes(bytes.round() as u64), span: usage.span, ..Effort::default() }
}

/// A rate of payload as what its packets take of an Ethernet link.
fn framed(finding: &Finding, connection: &Connection) -> Finding {
    let Finding::Value { value, low, high, unit } = finding else { return finding.clone() };
    let payload = connection.segment.0.max(1) as f64;
    let factor =
        (connection.segment + connection.headers + ETHERNET_OVERHEAD + INTER_FRAME_GAP).0 as f64 / payload;
    Finding::value(value * factor, low * factor, high * factor, *unit)
}

fn quantity(gives: Gives) -> Quantity {
    match gives {
        Gives::AvailableBandwidth => Quantity::AvailableBandwidth,
        Gives::Throughput => Quantity::Throughput,
        Gives::Capacity => Quantity::NarrowLinkCapacity,
        Gives::RoundTrip => Quantity::RoundTrip,
    }
}

fn counters<P: Path>(path: &mut P) -> Result<dwell_core::truth::Reading> {
    path.reading(Direction::Forward)?.context("the links of this path have no counters to judge by")
}
