//! Paths that are looked at hop by hop, in the worlds where that can be.

use crate::world::{Keep, World};
use anyhow::{Result, bail};
use dwell_core::hop::{HopFacts, HopPath, Round, Sighting, Spent};
use dwell_core::{Circumstances, Effort, LoadLimit, Method, Nanos, PathFacts};
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

/// A path to a host that has no agent: nothing but its hops can be seen.
pub(crate) struct HopsAlone {
    /// The hops, until they are looked at.
    hops: Option<Box<dyn HopWorld>>,
    facts: HopFacts,
    circumstances: Circumstances,
}

impl HopsAlone {
    /// Of this path.
    pub(crate) fn new(hops: Box<dyn HopWorld>) -> Self {
        Self { facts: hops.facts(), circumstances: hops.circumstances(), hops: Some(hops) }
    }
}

impl World for HopsAlone {
    fn facts(&self) -> PathFacts {
        PathFacts {
            max_size: self.facts.most,
            min_size: self.facts.least,
            resolution: Nanos(1),
            end_link: None,
            narrow_link: None,
            coalescence: None,
        }
    }

    fn circumstances(&self) -> Circumstances {
        self.circumstances.clone()
    }

    fn measure(
        &mut self,
        stage: &str,
        _: &mut dyn Method,
        _: Option<LoadLimit>,
        _: Keep<'_>,
    ) -> Result<Effort> {
        bail!("{stage} takes a host that runs `dwell agent`")
    }

    fn hops(&mut self) -> Result<Box<dyn HopWorld>> {
        match self.hops.take() {
            Some(hops) => Ok(hops),
            None => bail!("the hops were looked at already"),
        }
    }
}
