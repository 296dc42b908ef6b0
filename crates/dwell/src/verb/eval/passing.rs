//! Runs on connections that pass probes: handshakes at each and sections between them, held against the truth.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use anyhow::{Result, bail};
use dwell_core::stats::quantile::median;
use dwell_core::tcp::section::{Place as End, Summary, Way, split};
use dwell_core::{Effort, Finding, Nanos, Quantity, Unit, Vantage};
use dwell_sim::passing::{HalfTally, Judge, LABELS, Population, Reading, Told};
use serde::Deserialize;

/// Connections that pass probes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Passing {
    connections: u32,
    probes: usize,
    /// What each is to be; `any` takes them as they come.
    behaviour: String,
    /// How often each segment of a handshake is lost in each section, instead of as they come.
    loss: Option<f64>,
    /// Beyond so many probes clients bear the addresses of a NAT.
    nat: Option<usize>,
    /// This probe, from 0, hears the direction from client to server alone.
    one_way: Option<usize>,
    /// Probes' clocks tell microseconds.
    #[serde(default)]
    microseconds: bool,
}

impl Passing {
    /// What it says, where that can be.
    pub(super) fn checked(self) -> Result<Self> {
        if !(2..=16).contains(&self.probes) {
            bail!("probes: from 2 to 16, not {}", self.probes);
        }
        if !(1..=1_000_000).contains(&self.connections) {
            bail!("connections: from 1 to 1,000,000, not {}", self.connections);
        }
        if self.loss.is_some_and(|loss| !(0.0..=0.9).contains(&loss)) {
            bail!("loss: a share from 0 to 0.9");
        }
        if self.nat.is_some_and(|nat| nat == 0 || nat >= self.probes) {
            bail!("nat: between two probes, beyond 1 to {} of them", self.probes - 1);
        }
        if self.one_way.is_some_and(|probe| probe >= self.probes) {
            bail!("one_way: a probe from 0 to {}", self.probes - 1);
        }
        self.label()?;
        Ok(self)
    }

    fn label(&self) -> Result<Option<&'static str>> {
        match LABELS.into_iter().find(|label| *label == self.behaviour) {
            None if self.behaviour != "any" => {
                bail!("behaviour: {:?} is none of `any`, {}", self.behaviour, LABELS.join(", "))
            }
            label => Ok(label),
        }
    }

    fn population(&self, seed: u64) -> Result<Population> {
        Ok(Population {
            connections: self.connections,
            probes: self.probes,
            seed,
            data: 2,
            resolution: Nanos(if self.microseconds { 1_000 } else { 1 }),
            nat: self.nat,
            one_way: self.one_way,
            loss: self.loss,
            label: self.label()?,
            ..Population::default()
        })
    }
}

/// One run. The probes are given to the reader in some other order than they stand in.
pub(super) fn run(
    passing: &Passing,
    condition: &Condition,
    place: &Place,
    seed: u64,
    wants: impl Fn(Quantity) -> bool,
) -> Result<Judged> {
    let population = passing.population(seed)?;
    let mut list: Vec<usize> = (0..passing.probes).collect();
    list.rotate_left((seed % passing.probes as u64) as usize);
    if seed % 7 < 3 {
        list.reverse();
    }
    let reading = population.read(&list);
    let mut judged = Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() };
    let mut note = |method: &str, quantity: Quantity, finding: &Finding, truth: Option<f64>| {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: place.clone(),
            condition: condition.settings.clone(),
            method: method.to_owned(),
            stamps: Vantage::Capture,
            effort: Effort { probes: u64::from(passing.connections), ..Effort::default() },
            seconds: 0.0,
        };
        if wants(quantity) {
            judged.rows.push(Row::new(&origin, quantity, finding, truth, None));
        }
    };
    for half in ["server", "client", "total"] {
        let tallies: Vec<HalfTally> = reading.handshakes.iter().map(|judge| judge.all(half)).collect();
        tell(&format!("handshake {half}"), &tallies, &mut note);
    }
    let (misnamed, said) = reading
        .handshakes
        .iter()
        .map(Judge::misnamed)
        .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    note("handshake ends", Quantity::WrongValues, &share(misnamed, said), Some(0.0));
    for kind in ["client", "inner", "server"] {
        tell(&format!("section {kind}"), &[reading.sections.all(kind)], &mut note);
    }
    let in_order = reading.order.probes().iter().map(|place| list[*place]).is_sorted();
    let order = match reading.order.sure() {
        Some(_) => share(u64::from(!in_order), 1),
        None => Finding::unmeasurable("no connection tells some of the probes apart"),
    };
    note("order", Quantity::WrongValues, &order, Some(0.0));
    if passing.nat.is_some() {
        let (matches, false_ones) = reading.sections.matches();
        note("match across NAT", Quantity::WrongValues, &share(false_ones, matches), Some(0.0));
    }
    if in_order && passing.one_way.is_none() {
        lengths(&population, &reading, &mut note);
    }
    Ok(judged)
}

type Note<'n> = &'n mut dyn FnMut(&str, Quantity, &Finding, Option<f64>);

fn tell(method: &str, tallies: &[HalfTally], note: Note<'_>) {
    let sum = |of: fn(&HalfTally) -> u64| tallies.iter().map(of).sum::<u64>();
    let (wrong, found, knowable) = (sum(|of| of.wrong), sum(|of| of.found), sum(|of| of.knowable));
    let told = wrong + sum(|of| of.found + of.lucky + of.bounded);
    note(method, Quantity::WrongValues, &share(wrong, told), Some(0.0));
    if knowable > 0 {
        note(method, Quantity::ToldValues, &at_least(found, knowable), Some(1.0));
    }
}

/// So many of so many: what was counted is no estimate.
fn share(count: u64, of: u64) -> Finding {
    let share = if of == 0 { 0.0 } else { count as f64 / of as f64 };
    Finding::value(share, share, share, Unit::Ratio)
}

/// The same, and the least that 95 % of such samples allow (Wilson): more is never wrong.
fn at_least(count: u64, of: u64) -> Finding {
    const Z: f64 = 1.645;
    let (n, share) = (of as f64, count as f64 / of as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Finding::value(share, (middle - half) / (1.0 + Z * Z / n), 1.0, Unit::Ratio)
}

/// The median of each inner section beside that of all connections, whether told or not.
fn lengths(population: &Population, reading: &Reading, note: Note<'_>) {
    let inner = population.probes - 1;
    let (mut told, mut true_ones) = (vec![Summary::default(); inner], vec![Vec::new(); inner]);
    for section in reading.connections.iter().flat_map(|connection| split(connection, &reading.order)) {
        if let (End::Probe(from), End::Probe(to)) = (section.from, section.to)
            && section.way == Way::Along
            && to == from + 1
        {
            told[from].add(&section);
        }
    }
    let mut passings = population.passings().with_ways();
    while let Some(next) = passings.next() {
        let Told::Truth(_) = next else { continue };
        for way in passings.take_ways() {
            for (near, values) in true_ones.iter_mut().enumerate() {
                let between = way.between(near, near + 1);
                values.extend(between.server_side.first().map(|value| value.as_f64()));
            }
        }
    }
    for (near, (told, values)) in told.iter().zip(&true_ones).enumerate() {
        let few = || Finding::unmeasurable("too few connections tell it");
        let method = format!("section {} to {}", near + 1, near + 2);
        note(&method, Quantity::RoundTrip, &told.rtt.median().unwrap_or_else(few), median(values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_told() {
        let passing = |text: &str| toml::from_str::<Passing>(text).map(Passing::checked);
        let all = "connections = 10\nprobes = 3\nbehaviour = 'any'\n";
        assert!(passing(all).is_ok_and(|checked| checked.is_ok()));
        for (text, why) in [
            ("connections = 10\nprobes = 3\nbehaviour = 'odd'", "none of `any`, aborted"),
            ("connections = 10\nprobes = 1\nbehaviour = 'any'", "probes: from 2"),
            (&format!("{all}nat = 3"), "beyond 1 to 2"),
            (&format!("{all}one_way = 3"), "from 0 to 2"),
            (&format!("{all}loss = 1.5"), "a share"),
        ] {
            let told = passing(text).expect("it reads").expect_err(text).to_string();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_share_has_its_least() {
        // By hand, 95 of 100, z = 1.645: (0.95 + 0.01353 - 1.645 sqrt(0.000475 + 0.0000676)) / 1.02706.
        let Finding::Value { value, low, high, .. } = at_least(95, 100) else { panic!("a value") };
        assert_eq!((value, high), (0.95, 1.0));
        assert!((low - 0.9008).abs() < 5e-4, "{low}");
        assert_eq!(share(0, 0).estimate(), Some(0.0));
    }
}
