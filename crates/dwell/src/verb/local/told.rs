//! A run of watching, as it is told: counted, with what was known before and after.

use dwell_core::inside::{
    Diagnosis, Distribution, Hint, Numbered, Stage, Tally, Watch, Watched, Way, WayTally, diagnose, hints,
};

/// What is told of a run, while it goes on and when it is over.
pub(crate) struct Told<'a> {
    /// What was known before.
    pub(crate) watch: &'a Watch,
    /// What was seen.
    pub(crate) tally: &'a Tally,
    /// What is known in the end.
    pub(crate) watched: &'a Watched,
}

impl<'a> Told<'a> {
    /// The ways that packets went.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (Way, &'a WayTally)> {
        let tally = self.tally;
        let all = Way::ALL.into_iter().map(move |way| (way, tally.way(way)));
        all.filter(|(_, seen)| seen.total().count() > 0)
    }

    /// What the packets waited for.
    pub(crate) fn diagnosis(&self) -> Vec<Diagnosis> {
        diagnose(self.tally, &self.watch.settings)
    }

    /// Settings that explain it.
    pub(crate) fn hints(&self, found: &[Diagnosis]) -> Vec<Hint> {
        hints(found, &self.watch.settings)
    }

    /// The slowest packets of all ways, the slowest first.
    pub(crate) fn slowest(&self) -> Vec<&'a Numbered> {
        let mut all: Vec<&Numbered> = self.ways().flat_map(|(_, seen)| seen.slowest()).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.journey.total()));
        all
    }
}

/// The stages that packets of a way passed, in the order of passing.
pub(crate) fn stages(seen: &WayTally) -> impl Iterator<Item = (Stage, &Distribution)> {
    let order = |stage: &Stage| seen.ends(*stage).map_or(usize::MAX, |[from, _]| from.index());
    let mut all: Vec<_> =
        Stage::ALL.into_iter().filter_map(|stage| Some((stage, seen.stage(stage)?))).collect();
    all.sort_by_key(|(stage, _)| order(stage));
    all.into_iter()
}

/// The percentiles that are told, and their names in JSON and on the screen.
pub(crate) const PERCENTILES: [(f64, &str, &str); 4] =
    [(0.5, "p50", "p50"), (0.9, "p90", "p90"), (0.99, "p99", "p99"), (0.999, "p999", "p99.9")];
