//! Hosts without an agent.

use crate::hops::HopWorld;
use crate::world::{Keep, World};
use anyhow::{Result, bail};
use dwell_core::hop::HopFacts;
use dwell_core::{Circumstances, Effort, LoadLimit, Method, Nanos, PathFacts};

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
