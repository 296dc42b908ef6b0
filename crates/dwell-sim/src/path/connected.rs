//! A simulated path as a session leaves it that has found out how large packets may be.

use super::{SimError, SimPath};
use crate::link::LinkSpec;
use crate::scenario::Scenario;
use dwell_core::mtu::{self, Carrier};
use dwell_core::{Bytes, Departure, Direction, Path};

impl SimPath {
    /// The path of `scenario` whose packets are as large as really pass, and not as its hosts believe: found by sending,
    /// as live sessions begin. Where every link carries what the hosts' interfaces do, nothing is asked, for the answer
    /// is known.
    ///
    /// # Errors
    /// That nothing arrives, where there is a question.
    pub fn connected(scenario: &Scenario, seed: u64) -> Result<Self, SimError> {
        let mut path = Self::new(scenario, seed);
        let ways =
            [(Direction::Forward, scenario.links.clone()), (Direction::Reverse, scenario.reverse_links())];
        for (direction, links) in ways {
            if links.iter().any(|link| loses_what_fits(link, scenario.mtu)) {
                path.facts.max_size = mtu::search(Sizing { path: &mut path, direction })?;
            }
        }
        // What counters call free is free for packets of that size.
        (path.forward.max_size, path.reverse.max_size) = (path.facts.max_size, path.facts.max_size);
        Ok(path)
    }
}

/// Whether a link, or one of its parallel ones, is smaller than the hosts believe.
fn loses_what_fits(link: &LinkSpec, believed: Bytes) -> bool {
    link.mtu.is_some_and(|mtu| mtu < believed)
        || link.parallel.iter().any(|one| loses_what_fits(one, believed))
}

struct Sizing<'a> {
    path: &'a mut SimPath,
    direction: Direction,
}

impl Carrier for Sizing<'_> {
    type Error = SimError;

    fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, SimError> {
        let mut fleet = fleet.to_vec();
        fleet.iter_mut().for_each(|departure| departure.train.direction = self.direction);
        let passages = self.path.carry(&fleet)?;
        Ok(passages
            .iter()
            .map(|one| one.observation.fates.iter().all(|fate| fate.arrival.is_some()))
            .collect())
    }

    fn nothing_arrives(&self) -> SimError {
        SimError::NothingArrives
    }

    fn ceiling(&self) -> Bytes {
        self.path.facts.max_size
    }

    fn floor(&self) -> Bytes {
        self.path.facts.min_size
    }
}
