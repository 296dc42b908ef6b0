//! Which trains are sent, phase by phase.

use super::Pathrate;
use crate::method::Step;
use crate::stats::quantile::{mean, sorted, standard_deviation};
use crate::stream::occupied;
use crate::train::{Departure, Train};
use crate::unit::{Bytes, Nanos};

/// What a step is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// How long a train may be.
    Length,
    /// Trains of lengths from two to ten.
    First,
    /// Pairs of many sizes.
    Pairs,
    /// The longest trains.
    Trains,
    /// Enough is known.
    Over,
}

/// The longest of the first trains.
const FIRST: usize = 10;

/// Shares of a train's time that are left between it and the next, at least.
const APART: f64 = 4.0;

/// The middle of rates, and how far they spread.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// Width of the windows in which modes are sought.
    pub(super) bin: f64,
}

impl Spread {
    /// As in pathrate 2.4.1: of more than thirty, the mean and deviation without so many least and so many greatest, and the
    /// range without a tenth at either end. A window is an eighth of the range, or a quarter where the range is below 1 Mb/s.
    pub(super) fn of(rates: &[f64], outer: usize) -> Option<Self> {
        let rates = sorted(rates);
        let (middle, outliers) = if rates.len() > 30 {
            (&rates[outer..rates.len() - outer], rates.len() / 10)
        } else {
            (rates.as_slice(), 0)
        };
        let range = rates.get(rates.len().checked_sub(outliers + 1)?)? - rates.get(outliers)?;
        let share = if range < 1e6 { 0.25 } else { 0.125 };
        Some(Self { mean: mean(middle)?, deviation: standard_deviation(middle)?, bin: range * share })
    }
}

impl Pathrate {
    fn departure(&self, size: Bytes, packets: usize) -> Departure {
        // Twice as long before the trains of phase II.
        let pause = self.config.pause * if self.phase == Phase::Trains { 2 } else { 1 };
        let lasts = self.pace * packets as f64 * occupied(size) / occupied(self.facts.max_size);
        Departure { pause: pause.max(Nanos::from_f64(APART * lasts)), train: Train::burst(size, packets) }
    }

    pub(super) fn ask(&mut self) -> Step {
        let size = self.facts.max_size;
        self.phase = match self.phase {
            Phase::Length if self.seen == 0 => Phase::Length,
            Phase::Length => Phase::First,
            Phase::First if self.quick() || self.first.is_empty() => Phase::Over,
            Phase::First => Phase::Pairs,
            Phase::Pairs => Phase::Trains,
            Phase::Trains | Phase::Over => Phase::Over,
        };
        let fleet = match self.phase {
            Phase::Length if self.config.longest < 2 => Vec::new(),
            // By one up to six packets, by two up to twelve, then by four.
            Phase::Length => {
                let longer = |packets: &usize| {
                    Some(
                        packets
                            + if *packets < 6 {
                                1
                            } else if *packets < 12 {
                                2
                            } else {
                                4
                            },
                    )
                };
                let lengths = std::iter::successors(Some(2), longer);
                let lengths = lengths.take_while(|packets| *packets <= self.config.longest);
                lengths.map(|packets| self.departure(size, packets)).collect()
            }
            Phase::First => {
                let lengths = 2..=self.length.clamp(2, FIRST);
                lengths.flat_map(|packets| vec![self.departure(size, packets); self.config.first]).collect()
            }
            Phase::Pairs => {
                let least = self.config.smallest.max(self.facts.min_size).min(size);
                let sizes = self.config.sizes.max(1);
                let step = (size.0 - least.0) as f64 / sizes.saturating_sub(1).max(1) as f64;
                let of = |place: usize| Bytes(least.0 + (step * (place % sizes) as f64) as u64);
                (0..self.config.pairs).map(|place| self.departure(of(place), 2)).collect()
            }
            Phase::Trains => vec![self.departure(size, self.length); self.config.trains],
            Phase::Over => Vec::new(),
        };
        if fleet.is_empty() { Step::Done } else { Step::Send(fleet) }
    }
}
