//! Where to begin: the rate at which a burst arrives lies between what is free and what the narrow link carries.

use crate::method::Step;
use crate::stream::{rate_at, shape, spacings};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// So many bursts are sent at most until one comes through whole.
const BURSTS: usize = 5;

/// Before each of them.
const PAUSE: Nanos = Nanos::from_millis(50);

/// Bursts of full packets, and the rate of the first that came through whole.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    size: Bytes,
    packets: usize,
    sent: usize,
    rate: Option<f64>,
}

impl Pace {
    pub(super) fn new(packets: usize, facts: &PathFacts) -> Self {
        Self { size: facts.max_size, packets, sent: 0, rate: None }
    }

    /// Bits per second, once it is known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Another burst, or the end: none came through.
    pub(super) fn ask(&mut self) -> Step {
        if self.sent == BURSTS {
            return Step::Done;
        }
        self.sent += 1;
        Step::Send(vec![Departure { pause: PAUSE, train: Train::burst(self.size, self.packets) }])
    }

    pub(super) fn see(&mut self, observation: &Observation) {
        let Some(((_, came), (size, Nanos::ZERO))) = spacings(observation).zip(shape(observation)) else {
            return;
        };
        if observation.fates.len() > 2 {
            self.rate.get_or_insert(rate_at(size, came));
        }
    }
}
