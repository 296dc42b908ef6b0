//! Trains of compound probes: one heading size, several trailing sizes, so many probes of each.

use crate::gap;
use crate::method::Step;
use crate::report::Vantage;
use crate::train::{Departure, Direction, Observation, Train};
use crate::unit::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Trains asked for at a time.
const FLEET: usize = 50;

/// Asks for compound probes and gathers their gaps. The papers send a train for each size after the other; here the
/// sizes take turns, so that a drift of the path or of the host hits all of them alike.
#[derive(Clone, Debug)]
pub(super) struct CompoundProbes {
    pub(super) heading: Bytes,
    /// Ascending.
    pub(super) trailing: Vec<Bytes>,
    pub(super) vantage: Vantage,
    probes: usize,
    pause: Nanos,
    asked: usize,
    gaps: BTreeMap<Bytes, Vec<f64>>,
    seen: usize,
}

impl CompoundProbes {
    pub(super) fn new(
        heading: Bytes,
        trailing: Vec<Bytes>,
        probes: usize,
        pause: Nanos,
        vantage: Vantage,
    ) -> Self {
        Self { heading, trailing, vantage, probes, pause, asked: 0, gaps: BTreeMap::new(), seen: 0 }
    }

    pub(super) fn next(&mut self) -> Step {
        let left = self.probes.saturating_mul(self.trailing.len()).saturating_sub(self.asked);
        if left == 0 {
            return Step::Done;
        }
        let fleet = (0..left.min(FLEET)).map(|i| {
            let trailing = self.trailing[(self.asked + i) % self.trailing.len()];
            Departure { pause: self.pause, train: Train::pair(self.heading, trailing, Nanos::ZERO) }
        });
        let fleet: Vec<Departure> = fleet.collect();
        self.asked += fleet.len();
        Step::Send(fleet)
    }

    pub(super) fn see(&mut self, observation: &Observation) {
        let Some((heading, trailing)) = gap::compound_probe(observation) else { return };
        if observation.direction != Direction::Forward
            || heading != self.heading
            || !self.trailing.contains(&trailing)
        {
            return;
        }
        self.seen += 1;
        let [first, second] = observation.fates.as_slice() else { return };
        if let Some(gap) = gap::between(first, second, self.vantage) {
            self.gaps.entry(trailing).or_default().push(gap);
        }
    }

    /// The gaps of one size.
    pub(super) fn gaps(&self, trailing: Bytes) -> &[f64] {
        self.gaps.get(&trailing).map_or(&[], Vec::as_slice)
    }

    /// Why there are too few gaps to say anything, in words for the user.
    pub(super) fn shortage(&self) -> String {
        let with_gap: usize = self.gaps.values().map(Vec::len).sum();
        match (self.trailing.len(), self.seen, self.vantage) {
            (0 | 1, ..) => format!(
                "no two trailing sizes fit under the heading packet of {}: the path's packets are too small, or the \
                 receiver's clock is too coarse for its end link",
                self.heading
            ),
            (_, 0, _) => "no compound probe of these sizes was seen".to_owned(),
            (_, _, Vantage::Capture) if with_gap == 0 => {
                "no probe came with two kernel stamps in order: the receiver took none, or every probe was lost or \
                 reordered; application stamps may serve"
                    .to_owned()
            }
            _ => format!(
                "only {with_gap} of {} probes arrived whole and in order; at least 2 of each size are needed",
                self.seen
            ),
        }
    }
}
