//! Paths that are looked at hop by hop, in the worlds where that can be.

use anyhow::Result;
use dwell_core::Circumstances;
use dwell_core::hop::{HopFacts, HopPath, Round, Sighting, Spent};
use std::collections::VecDeque;

/// Something that fires volleys, or did.
pub(crate) trait HopWorld {
    /// What is known of it beforehand.
    fn facts(&self) -> HopFacts;

    /// Under which circumstances it is looked at.
    fn circumstances(&self) -> Circumstances;

    /// Fires a round; `None`: a record has no more of it.
    fn fire(&mut self, round: &Round) -> Result<Option<Vec<Sighting>>>;
}

/// A path that is there now.
pub(crate) struct Fired<P> {
    /// What fires.
    pub(crate) path: P,
    /// Under which circumstances, now.
    pub(crate) circumstances: Box<dyn Fn(&P) -> Circumstances>,
}

impl<P: HopPath> HopWorld for Fired<P> {
    fn facts(&self) -> HopFacts {
        self.path.facts()
    }

    fn circumstances(&self) -> Circumstances {
        (self.circumstances)(&self.path)
    }

    fn fire(&mut self, round: &Round) -> Result<Option<Vec<Sighting>>> {
        Ok(Some(self.path.fire(round)?))
    }
}

/// A recorded look.
pub(crate) struct Refired {
    facts: HopFacts,
    circumstances: Circumstances,
    rest: VecDeque<Sighting>,
}

impl Refired {
    /// Of what a record keeps.
    pub(crate) fn new(volleys: &[Sighting], circumstances: Circumstances) -> Self {
        let sizes = || volleys.iter().flatten().map(|spent| spent.shot.size);
        let facts =
            HopFacts { least: sizes().min().unwrap_or_default(), most: sizes().max().unwrap_or_default() };
        Self { facts, circumstances, rest: volleys.iter().cloned().collect() }
    }
}

impl HopWorld for Refired {
    fn facts(&self) -> HopFacts {
        self.facts
    }

    fn circumstances(&self) -> Circumstances {
        self.circumstances.clone()
    }

    fn fire(&mut self, round: &Round) -> Result<Option<Vec<Sighting>>> {
        let same = |(volley, sighting): (&dwell_core::hop::Volley, &Sighting)| {
            volley.shots.iter().eq(sighting.iter().map(|Spent { shot, .. }| shot))
        };
        let there = self.rest.len() >= round.len() && round.iter().zip(&self.rest).all(same);
        Ok(there.then(|| self.rest.drain(..round.len()).collect()))
    }
}
