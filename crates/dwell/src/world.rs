//! The four worlds behind one face: whatever carries trains, and what was recorded of it.

use anyhow::Result;
use dwell_core::{Circumstances, Effort, LoadLimit, Method, Nanos, Passage, Path, PathFacts, Quantity, run};
use dwell_store::Record;
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
        let own = self.record.passages.iter().any(|kept| kept.stage == stage);
        let mut effort = Effort::default();
        for kept in self.record.passages.iter().filter(|kept| !own || kept.stage == stage) {
            method.see(&kept.passage.observation);
            effort.count(Nanos::ZERO, &kept.passage.observation);
            keep(kept.passage.clone());
        }
        // The pauses between trains are known to the run's own account only.
        let found = self.record.found.iter().find(|found| found.stage == stage);
        Ok(found.map_or(effort, |found| found.effort))
    }
}
