//! The one idea: a method is a pure state machine over packet trains, and a path is whatever carries them.

use crate::report::Report;
use crate::train::{Departure, Direction, Fleet, Observation, Passage, PathFacts};
use crate::truth::Reading;
use crate::unit::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a method wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send these trains, then show all of them.
    Send(Fleet),
    /// Enough is known.
    Done,
}

/// A measurement method: never opens a socket, reads a clock or sleeps.
pub trait Method {
    /// The next step, given all that was seen so far.
    fn next(&mut self) -> Step;

    /// What became of a train. Trains that this method did not ask for are looked at if they can serve it, and
    /// passed over if not: so a method can be run on another's record.
    fn see(&mut self, observation: &Observation);

    /// What is known now. May be asked at any time, also before the method is done.
    fn report(&self) -> Report;
}

/// Something that carries trains: the simulator, a testbed, a live path, a record.
pub trait Path {
    /// What can go wrong on the way.
    type Error: std::error::Error + Send + Sync + 'static;

    /// What is known beforehand.
    fn facts(&self) -> PathFacts;

    /// Sends a fleet and returns one passage for each of its trains, in their order.
    ///
    /// # Errors
    /// When the path can carry nothing any more; losing packets is not an error.
    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, Self::Error>;

    /// What the counters of the links of one way say now: the truth for those who judge, where there is any. Methods
    /// never see it.
    ///
    /// # Errors
    /// When there are counters that cannot be read.
    fn reading(&mut self, _way: Direction) -> Result<Option<Reading>, Self::Error> {
        Ok(None)
    }
}

/// How much of the end link probes may take.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LoadLimit {
    /// Share of the capacity.
    pub share: f64,
    /// Capacity that the share is of.
    pub capacity: BitRate,
}

impl LoadLimit {
    /// The share that probes take when nobody says otherwise: 2 % (papers/000, section 7.4).
    pub const DEFAULT_SHARE: f64 = 0.02;

    /// Lengthens pauses so that each train and the pause before it stay within the limit together.
    fn apply(&self, fleet: &mut Fleet) {
        for Departure { pause, train } in fleet {
            let needed = self.capacity.time_for(train.bytes()).as_f64() / self.share;
            *pause = (*pause).max(Nanos::from_f64(needed));
        }
    }
}

/// What a run cost.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Trains sent.
    pub probes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets that never arrived.
    pub lost: u64,
    /// Bytes sent on the wire.
    pub bytes: Bytes,
    /// What the trains took to leave by the sender's clock, with the pauses before them. What it waited for answers is not in it.
    pub span: Nanos,
}

impl Effort {
    /// Adds the cost of one train that left after `pause`.
    pub fn count(&mut self, pause: Nanos, observation: &Observation) {
        let fates = &observation.fates;
        self.probes += 1;
        self.packets += fates.len() as u64;
        self.lost += fates.iter().filter(|fate| fate.arrival.is_none()).count() as u64;
        self.bytes = self.bytes + observation.bytes();
        if let (Some(first), Some(last)) = (fates.first(), fates.last()) {
            self.span += pause + (last.sent.application - first.sent.application);
        }
    }

    /// Share of a link of `capacity` that the run took, over its whole span; `None` without a span or a capacity.
    #[must_use]
    pub fn share_of(&self, capacity: BitRate) -> Option<f64> {
        let room = capacity.0 as f64 * self.span.as_secs_f64();
        (room > 0.0).then(|| self.bytes.bits() as f64 / room)
    }

    /// Adds another run's cost.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            probes: self.probes + other.probes,
            packets: self.packets + other.packets,
            lost: self.lost + other.lost,
            bytes: self.bytes + other.bytes,
            span: self.span + other.span,
        }
    }
}

/// Runs `method` on `path` until it is done, and hands every passage to `keep` as it comes.
///
/// # Errors
/// The path's own.
pub fn run<P: Path>(
    method: &mut dyn Method,
    path: &mut P,
    limit: Option<LoadLimit>,
    mut keep: impl FnMut(Passage),
) -> Result<Effort, P::Error> {
    let mut effort = Effort::default();
    while let Step::Send(mut fleet) = method.next() {
        if let Some(limit) = limit {
            limit.apply(&mut fleet);
        }
        let passages = path.carry(&fleet)?;
        for (departure, passage) in fleet.iter().zip(passages) {
            effort.count(departure.pause, &passage.observation);
            method.see(&passage.observation);
            keep(passage);
        }
    }
    Ok(effort)
}
