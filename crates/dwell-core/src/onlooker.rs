//! What is to be said of a measurement besides what its method says.

use crate::doubt::Doubts;
use crate::limit::by_trains::ByTrains;
use crate::report::Report;
use crate::train::{Observation, PathFacts};

/// Sees each train of a measurement, whatever its method makes of it: what was odd about them, and what limits the rate.
#[derive(Clone, Debug, Default)]
pub struct Onlooker {
    doubts: Doubts,
    by_trains: ByTrains,
}

impl Onlooker {
    /// Sees what became of a train.
    pub fn see(&mut self, observation: &Observation) {
        self.doubts.see(observation);
        self.by_trains.see(observation);
    }

    /// Adds to a report what was odd and, unless that or the method has said so, what limits its rate, where so much is known of
    /// the path.
    #[must_use]
    pub fn judge(&self, report: Report, facts: &PathFacts) -> Report {
        self.by_trains.judge(self.doubts.raise(report), facts)
    }
}
