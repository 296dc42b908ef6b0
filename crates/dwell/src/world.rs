//! The four worlds behind one face: whatever carries trains, and what was recorded of it.

use crate::hops::{HopWorld, Refired};
use anyhow::{Result, bail};
use dwell_core::truth::{Reading, Usage};
use dwell_core::{
    Circumstances, Departure, Direction, Effort, Fleet, LoadLimit, Method, Nanos, Observation, Passage, Path,
    PathFacts, Quantity, Step, run,
};
use dwell_store::{Found, Record};
use std::collections::BTreeMap;

/// Where a passage goes as it comes.
pub(crate) type Keep<'a> = &'a mut dyn FnMut(Passage);

/// Something that a method can be run on.
pub(crate) trait World {
    /// What is known of the path beforehand.
    fn facts(&self) -> PathFacts;

    /// Under which circumstances it is measured.
    fn circumstances(&self) -> Circumstances;

    /// Runs `method` until it is done.
    fn measure(
        &mut self,
        stage: &str,
        method: &mut dyn Method,
        limit: Option<LoadLimit>,
        keep: Keep<'_>,
    ) -> Result<Effort>;

    /// What the counters of the links towards the host under test say now, where there are any.
    fn reading(&mut self) -> Result<Option<Reading>> {
        Ok(None)
    }

    /// What these counters said of the measurement `stage`, where it was made before.
    fn used(&self, _stage: &str) -> Option<Usage> {
        None
    }

    /// The same path hop by hop; an error says why that cannot be seen here.
    fn hops(&mut self) -> Result<Box<dyn HopWorld>>;

    /// The truths that the world was built with, beside those that its passages tell.
    fn truths(&self) -> BTreeMap<Quantity, f64> {
        BTreeMap::new()
    }
}

/// A world that carries trains now.
pub(crate) struct Carried<P> {
    /// What carries them.
    pub(crate) path: P,
    /// Under which circumstances.
    pub(crate) circumstances: Circumstances,
    /// What it was built with.
    pub(crate) truths: BTreeMap<Quantity, f64>,
    /// What opens the same path for a look hop by hop.
    pub(crate) hops: Box<dyn Fn() -> Result<Box<dyn HopWorld>>>,
}

impl<P: Path> World for Carried<P> {
    fn facts(&self) -> PathFacts {
        self.path.facts()
    }

    fn circumstances(&self) -> Circumstances {
        self.circumstances.clone()
    }

    fn measure(
        &mut self,
        _stage: &str,
        method: &mut dyn Method,
        limit: Option<LoadLimit>,
        keep: Keep<'_>,
    ) -> Result<Effort> {
        Ok(run(method, &mut self.path, limit, keep)?)
    }

    fn reading(&mut self) -> Result<Option<Reading>> {
        Ok(self.path.reading(Direction::Forward)?)
    }

    fn hops(&mut self) -> Result<Box<dyn HopWorld>> {
        (self.hops)()
    }

    fn truths(&self) -> BTreeMap<Quantity, f64> {
        self.truths.clone()
    }
}

/// A recorded run. A method is shown the passages of its own measurement; one that was not part of the run is
/// shown all of them.
pub(crate) struct Replayed {
    /// The run.
    pub(crate) record: Record,
    /// What was known of its path.
    pub(crate) facts: PathFacts,
    /// Whether a method is asked that the run may not have had: it is shown all that was seen.
    pub(crate) by_another: bool,
    /// Measurements of the run whose cost was told.
    pub(crate) told: Vec<String>,
}

impl Replayed {
    /// What those measurements cost that were not told yet, each by the run's own account, which alone knows of pauses, where it has one.
    fn cost(&mut self, is_asked: impl Fn(&str) -> bool) -> Effort {
        let mut effort = Effort::default();
        let told = &self.told;
        let is_new = |stage: &str| is_asked(stage) && !told.iter().any(|known| known == stage);
        for found in self.record.found.iter().filter(|found| is_new(&found.stage)) {
            effort = effort.plus(found.effort);
        }
        let unfound = |stage: &str| is_new(stage) && self.found(stage).is_none();
        for kept in self.record.passages.iter().filter(|kept| unfound(&kept.stage)) {
            effort.count(Nanos::ZERO, &kept.passage.observation);
        }
        let stages = self.record.found.iter().map(|found| &found.stage);
        let new: Vec<String> = stages
            .chain(self.record.passages.iter().map(|kept| &kept.stage))
            .filter(|stage| is_new(stage))
            .cloned()
            .collect();
        self.told.extend(new);
        effort
    }

    /// What the run found by the measurement `stage`, if it made that one.
    fn found(&self, stage: &str) -> Option<&Found> {
        self.record.found.iter().find(|found| found.stage == stage)
    }
}

impl World for Replayed {
    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn circumstances(&self) -> Circumstances {
        self.record.header.circumstances.clone()
    }

    fn measure(
        &mut self,
        stage: &str,
        method: &mut dyn Method,
        _limit: Option<LoadLimit>,
        keep: Keep<'_>,
    ) -> Result<Effort> {
        // One that was part of the run may have sent nothing.
        let own = self.record.passages.iter().any(|kept| kept.stage == stage) || self.found(stage).is_some();
        let all = self.by_another && !own;
        let passages: Vec<&Passage> = self
            .record
            .passages
            .iter()
            .filter(|kept| all || kept.stage == stage)
            .map(|kept| &kept.passage)
            .collect();
        let mut show = |method: &mut dyn Method, passages: &[&Passage]| {
            for passage in passages {
                method.see(&passage.observation);
                keep((*passage).clone());
            }
        };
        // The method of the run asks for the same trains again, fleet by fleet; another is shown all at once.
        let mut rest = passages.as_slice();
        while let Step::Send(fleet) = method.next() {
            let Some((next, after)) =
                rest.split_at_checked(fleet.len()).filter(|(next, _)| asked(&fleet, next))
            else {
                break;
            };
            show(method, next);
            rest = after;
        }
        show(method, rest);
        Ok(self.cost(|known| all || known == stage))
    }

    fn used(&self, stage: &str) -> Option<Usage> {
        let (span, links) = self.found(stage)?.used.clone()?;
        Some(Usage { span, links })
    }

    fn hops(&mut self) -> Result<Box<dyn HopWorld>> {
        if self.record.volleys.is_empty() {
            bail!("the record has none");
        }
        Ok(Box::new(Refired::new(&self.record.volleys, self.record.header.circumstances.clone())))
    }
}

/// Whether these passages are of the trains of `fleet`.
fn asked(fleet: &Fleet, passages: &[&Passage]) -> bool {
    let same = |departure: &Departure, passage: &Passage| {
        let Observation { direction, fates, .. } = &passage.observation;
        let packets = &departure.train.packets;
        departure.train.direction == *direction
            && packets.len() == fates.len()
            && packets.iter().zip(fates).all(|(packet, fate)| *packet == fate.packet)
    };
    fleet.len() == passages.len()
        && fleet.iter().zip(passages).all(|(departure, passage)| same(departure, passage))
}
