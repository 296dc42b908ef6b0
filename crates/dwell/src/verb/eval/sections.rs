//! Runs of paper 003 in the lab: pings over each section, then a transfer by HTTP, whose handshake two probes or more
//! see; held against what the links added to that very handshake, and against the pings.

use super::grid::{Condition, EvalWorld};
use super::journal::Judged;
use super::place::Place;
use super::rows::{Origin, Row};
use anyhow::Result;
use dwell_core::{Bytes, Effort, Finding, Nanos, Quantity, Vantage};
use dwell_lab::{LabOptions, SectionAsking, SectionLab};
use dwell_sim::QuantityText;
use serde::{Deserialize, Deserializer};
use std::time::Instant;

/// How the sections of a block are measured, and judged.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sections {
    /// Over each section, before the transfer.
    pings: u32,
    /// From one ping to the next.
    #[serde(deserialize_with = "time")]
    interval: Nanos,
    /// What an estimate may be off by.
    pub(super) within: Within,
}

/// A share of what is so, or a time, whichever is more.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Within {
    share: f64,
    #[serde(deserialize_with = "time")]
    time: Nanos,
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
    Nanos::read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

impl Within {
    /// What may be missing to a time.
    pub(super) fn of(self, time: f64) -> f64 {
        (self.share * time).max(self.time.as_f64())
    }

    /// In words.
    pub(super) fn text(self) -> String {
        format!("{} or {}", crate::figure::share(self.share), self.time)
    }
}

/// Methods of rows begin so, and end with the section's name.
pub(super) const PROBES: &str = "sections";
pub(super) const PING: &str = "ping";

/// What a section is called: as the paper does.
fn name(index: usize, count: usize) -> String {
    match index {
        0 => "source".to_owned(),
        last if last + 1 == count => "destination".to_owned(),
        1 if count == 3 => "transit".to_owned(),
        inner => format!("transit {inner}"),
    }
}

/// One run, in a lab of its own; `alone` while it lasts, or among others.
pub(super) fn run(
    condition: &Condition,
    asked: &Sections,
    place: &Place,
    seed: u64,
    alone: bool,
) -> Result<Judged> {
    let began = Instant::now();
    let lab = SectionLab::up(&condition.scenario, LabOptions { seed, ..LabOptions::default() }, alone)?;
    let heard = lab.run(SectionAsking { pings: asked.pings, interval: asked.interval })?;
    drop(lab);
    let mut judged = Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() };
    for (index, one) in heard.iter().enumerate() {
        let section = name(index, heard.len());
        let mut note = |method: &str, found: Finding, probes: u32| {
            let origin = Origin {
                world: EvalWorld::Lab,
                place: place.clone(),
                condition: condition.settings.clone(),
                method: format!("{method} {section}"),
                stamps: Vantage::Application,
                effort: Effort { probes: probes.into(), bytes: Bytes(0), ..Effort::default() },
                seconds: began.elapsed().as_secs_f64(),
            };
            let truth = one.truth.map(Nanos::as_f64);
            judged.rows.push(Row::new(&origin, Quantity::RoundTrip, &found, truth, None));
        };
        // The interval of a row is what the estimate may be off by: it holds where that is kept.
        let told = |time: Nanos| {
            let (value, off) = (time.as_f64(), asked.within.of(time.as_f64()));
            Finding::nanos(value, value - off, value + off)
        };
        let quality = one.section.quality;
        let found = one.section.measured().map_or_else(|| Finding::unmeasurable(quality.name()), told);
        note(PROBES, found, 0);
        note(PING, told(one.ping), asked.pings);
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_allowance_counts() {
        let sections: Sections =
            toml::from_str("pings = 10\ninterval = '200 ms'\nwithin = { share = 0.1, time = '5 ms' }\n")
                .unwrap();
        assert_eq!((sections.within.of(20e6), sections.within.of(200e6)), (5e6, 20e6));
        assert_eq!(sections.within.text(), "10 % or 5.0 ms");
        assert_eq!(
            [name(0, 3), name(1, 3), name(2, 3), name(2, 4)].join(","),
            "source,transit,destination,transit 2"
        );
    }
}
