//! A lab: a scenario's path between two namespaces.

use crate::check::{LabCheck, check};
use crate::error::LabError;
use crate::placement::Cores;
use crate::testbed::{Carriage, Testbed};
use dwell_sim::Scenario;

/// How a lab is run, beside what its scenario says.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LabOptions {
    /// Of cross traffic, jitter and loss.
    pub seed: u64,
    /// Where its threads run; `None`: on the first two cores that this process may use.
    pub cores: Option<Cores>,
}

/// A scenario's path, up and running. It ends, and leaves nothing, when this value is dropped or the process dies.
#[derive(Debug)]
pub struct Lab {
    scenario: Scenario,
    testbed: Testbed,
}

impl Lab {
    /// Builds the testbed of `scenario`.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario this carrier cannot do.
    pub fn up(scenario: &Scenario, options: LabOptions) -> Result<Self, LabError> {
        let cores = options.cores.unwrap_or_else(Cores::allowed);
        let testbed = Testbed::up(scenario, options.seed, cores)?;
        Ok(Self { scenario: scenario.clone(), testbed })
    }

    /// What carries its packets.
    #[must_use]
    pub fn carriage(&self) -> Carriage {
        self.testbed.carriage
    }

    /// Measures the lab itself; takes a few seconds, in which nothing else should use it.
    ///
    /// # Errors
    /// When the lab does not carry packets at all.
    pub fn check(&mut self) -> Result<LabCheck, LabError> {
        let checked = check(&self.testbed, &self.scenario);
        match self.testbed.failure() {
            Some(failure) => Err(failure),
            None => checked,
        }
    }
}
