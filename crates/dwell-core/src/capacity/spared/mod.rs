//! `spared-runs`, Dwell's own method: the narrow link's capacity from those runs of packets that cross traffic spared.
//!
//! Packets sent back to back leave the narrow link L / C apart, until a packet of others gets between two of them (then
//! they are farther apart from there on) or waits in a queue behind the narrow link (then it, and for a while those
//! behind it, come too late, and closer to each other). So in a train the times of arrival lie on stretches of lines of slope
//! L / C: not all of them, and not one behind another, but nothing else repeats. `capprobe` asks for two packets that
//! waited nowhere. Here any two packets of a train make a run; a run counts the more the longer it is, and the less the
//! more its ends are held up over the least delay that any train had at that place; and the slope at which runs
//! crowd is L / C.
//!
//! A NIC that gathers packets delivers lumps. The last packet of a lump has come within a packet's time of its
//! delivery, so only the last ones are looked at, in trains as long as several lumps. Trains of two sizes tell a link,
//! whose time grows with the size, from a host, whose time does not.

mod crowd;
mod rounds;
mod train;
mod verdict;

use crate::avail::stream::shape;
use crate::method::{Method, Step};
use crate::report::Report;
use crate::stats::bootstrap::Indices;
use crate::train::{Direction, Observation, PathFacts};
use crate::unit::{Bytes, Nanos};
use train::Seen;

/// How `spared-runs` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Trains of a round.
    pub trains: usize,
    /// Rounds at most.
    pub rounds: usize,
    /// Least and most packets of a train. The most still fits into a socket buffer of Linux's default size.
    pub packets: (usize, usize),
    /// Share of the narrow link that trains may take.
    pub load: f64,
    /// Least mean pause before a train.
    pub pause: Nanos,
    /// Seed of the pauses and of the interval.
    pub seed: u64,
}

impl Default for Config {
    /// At most 72 trains, in less than five seconds.
    fn default() -> Self {
        Self { trains: 18, rounds: 4, packets: (16, 80), load: 0.35, pause: Nanos::from_millis(15), seed: 14 }
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct SparedRuns {
    config: Config,
    facts: PathFacts,
    chance: Indices,
    asked: usize,
    large: Vec<Seen>,
    small: Vec<Seen>,
    unusable: usize,
}

impl SparedRuns {
    /// Its name.
    pub const NAME: &'static str = "spared-runs";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            chance: Indices::new(config.seed),
            asked: 0,
            large: Vec::new(),
            small: Vec::new(),
            unusable: 0,
        }
    }

    /// Two thirds of the largest: small enough to tell a link from a host.
    fn smaller(&self) -> Bytes {
        Bytes(self.facts.max_size.0 / 3 * 2).max(self.facts.min_size)
    }
}

impl Method for SparedRuns {
    fn next(&mut self) -> Step {
        let fleet = self.ask();
        if fleet.is_empty() { Step::Done } else { Step::Send(fleet) }
    }

    fn see(&mut self, observation: &Observation) {
        let Some((size, Nanos::ZERO)) = shape(observation) else { return };
        if observation.direction != Direction::Forward || observation.fates.len() < 3 {
            return;
        }
        let to = if size == self.facts.max_size {
            &mut self.large
        } else if size == self.smaller() {
            &mut self.small
        } else {
            return;
        };
        match Seen::of(observation) {
            Some(seen) => to.push(seen),
            None => self.unusable += 1,
        }
    }

    fn report(&self) -> Report {
        self.verdict()
    }
}
