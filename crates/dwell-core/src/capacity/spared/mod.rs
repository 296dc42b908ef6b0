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
//! delivery, so only the last ones are looked at, in trains as long as several lumps. Trains have several sizes: a link's
//! time grows with the size, and a host's does not; and cross traffic that keeps time with packets of one size does not
//! with those of another. Where packets come in lumps, runs are long, and if the link before the narrow one is no faster,
//! others get into every long run. So where the lumps have a period, that serves as a ruler for short trains (`ruler`).
//! In either case trains a little slower than what was found must pass as they were sent.
//!
//! Last a long train at that pace must come to its end as it was sent: a token bucket may have passed all others.

#[cfg(test)]
mod bucket_tests;
mod crest;
mod crowd;
mod heard;
mod long;
mod rounds;
mod ruler;
mod runs;
mod strain;
mod train;
mod verdict;
mod whole;

use crate::coalescence::Coalescence;
use crate::method::{Method, Step};
use crate::report::Report;
use crate::stats::bootstrap::Indices;
use crate::stream::shape;
use crate::train::{Direction, Observation, PathFacts};
use crate::unit::{Bytes, Nanos};
use crowd::Crowds;
use long::Long;
use ruler::Ruler;
use std::cell::RefCell;
use strain::Strained;
use train::Seen;
use verdict::with_end_link;

/// How `spared-runs` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Trains of a round.
    pub trains: usize,
    /// No round begins after so long.
    pub lasting: Nanos,
    /// Least and most packets of a train. A NIC that gathers packets needs long ones.
    pub packets: (usize, usize),
    /// Share of the narrow link that trains may take.
    pub load: f64,
    /// Least mean pause before a train.
    pub pause: Nanos,
    /// Seed of the pauses and of the interval.
    pub seed: u64,
}

impl Default for Config {
    /// 24 trains a round, in less than five seconds.
    fn default() -> Self {
        Self {
            trains: 24,
            lasting: Nanos::from_millis(3_300),
            packets: (6, 400),
            load: 0.35,
            pause: Nanos::from_millis(15),
            seed: 14,
        }
    }
}

/// Sizes of packets, as shares of the largest; none is a simple fraction of another, as cross traffic may keep time.
const SIZES: [f64; 7] = [1.0, 0.77, 0.56, 0.37, 0.23, 0.13, 0.08];

/// So many of them are always sent. The smaller ones, which hosts cannot send at every rate, where these leave doubt: others
/// that fill a link to four fifths, in step, leave gaps of a quarter of a packet.
const LARGE: usize = 4;

/// So many tell of a token bucket's link: of smaller ones the bucket takes several at a time, whenever its timer is late.
const WIDE: usize = 3;

/// The method.
#[derive(Clone, Debug)]
pub struct SparedRuns {
    config: Config,
    facts: PathFacts,
    chance: Indices,
    /// Steps that showed the pace, and those after them.
    asked: usize,
    rounds: usize,
    trains: Vec<Seen>,
    /// What was asked for of these trains: each verdict and each round asks for it several times.
    crowds: RefCell<Crowds>,
    /// How long everything that was asked for lasts.
    planned: Nanos,
    /// Trains that were sent a little slower than what was found.
    strained: Option<Strained>,
    /// Finds out how the receiver gathers packets, where it does; what is found then measures.
    ears: Option<Coalescence>,
    ruler: Option<Ruler>,
    /// When the first packet of all left, and that of the last train.
    span: Option<(Nanos, Nanos)>,
    /// Of the long trains at the pace that was found, once there are any.
    long: Option<Long>,
}

impl SparedRuns {
    /// Its name.
    pub const NAME: &'static str = "spared-runs";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        let chance = Indices::new(config.seed);
        Self {
            config,
            facts: *facts,
            chance,
            asked: 0,
            rounds: 0,
            trains: Vec::new(),
            crowds: RefCell::default(),
            planned: Nanos::ZERO,
            strained: None,
            ears: None,
            ruler: None,
            span: None,
            long: None,
        }
    }

    /// What the narrow link carries.
    fn found(&self) -> Report {
        self.ruled().unwrap_or_else(|| self.verdict())
    }

    /// From the largest to the smallest.
    fn sizes(&self) -> Vec<Bytes> {
        let PathFacts { min_size, max_size, .. } = self.facts;
        let size = |share: f64| Bytes((share * max_size.0 as f64) as u64).max(min_size).min(max_size);
        let mut sizes: Vec<Bytes> = SIZES.into_iter().map(size).collect();
        sizes.dedup();
        sizes
    }
}

impl Method for SparedRuns {
    fn next(&mut self) -> Step {
        let fleet = match &self.long {
            Some(_) => Vec::new(),
            None => self.listen().or_else(|| self.measure()).unwrap_or_else(|| self.ask()),
        };
        let fleet = if fleet.is_empty() { self.lengthen() } else { fleet };
        if fleet.is_empty() { Step::Done } else { Step::Send(fleet) }
    }

    fn see(&mut self, observation: &Observation) {
        if let Some(sent) = observation.fates.first().map(|fate| fate.sent.nearest_wire()) {
            self.span = Some((self.span.map_or(sent, |(first, _)| first), sent));
        }
        if let Some(long) = &mut self.long {
            return long.see(observation);
        }
        if self.ears.is_some() && self.hears(observation) {
            return;
        }
        let Some((_, hold)) = shape(observation) else { return };
        let Some(seen) = Seen::of(observation).filter(|_| observation.direction == Direction::Forward) else {
            return;
        };
        match &mut self.strained {
            _ if hold == Nanos::ZERO => {
                self.trains.push(seen);
                self.crowds.get_mut().clear();
            }
            Some(strained) => strained.see(&seen),
            None => (),
        }
    }

    fn report(&self) -> Report {
        with_end_link(self.judged(self.found()))
    }
}
