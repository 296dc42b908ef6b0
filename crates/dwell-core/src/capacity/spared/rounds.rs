//! Which trains are sent, round by round.

use super::SparedRuns;
use super::train::{Runs, Seen};
use crate::avail::chance::exponential;
use crate::stats::quantile::median;
use crate::train::{Departure, Train};
use crate::unit::Nanos;

/// Bursts of the first round, which shows the pace and how many packets come at once.
const BURSTS: usize = 6;
const BURST: usize = 24;

/// Lumps of a train, at least.
const LUMPS: f64 = 8.0;

/// A train should last so long.
const SPAN: Nanos = Nanos::from_micros(400);

/// Half width of an interval, as a share, that is narrow enough to stop.
const SURE: f64 = 0.006;

impl SparedRuns {
    pub(super) fn ask(&mut self) -> Vec<Departure> {
        self.asked += 1;
        if self.asked == 1 {
            let train = Train::burst(self.facts.max_size, BURST);
            return vec![Departure { pause: self.config.pause * 2, train }; BURSTS];
        }
        if self.asked > self.config.rounds + 1 || self.large.is_empty() || (self.asked > 2 && self.sure()) {
            return Vec::new();
        }
        let Some((pace, lump)) = self.shown() else { return Vec::new() };
        let (least, most) = self.config.packets;
        let long = (LUMPS * lump).max(SPAN.as_f64() / pace).max(least as f64);
        let packets = (long as usize).clamp(least, most.max(least));
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let mean = self.config.pause.max(Nanos::from_f64(packets as f64 * pace * (1.0 / share - 1.0)));
        // Every third is of the smaller size.
        (0..self.config.trains)
            .map(|place| {
                let size = if place % 3 == 2 { self.smaller() } else { self.facts.max_size };
                let pause = exponential(&mut self.chance, mean);
                Departure { pause, train: Train::burst(size, packets) }
            })
            .collect()
    }

    /// Nanoseconds a packet, and packets that came at once.
    fn shown(&self) -> Option<(f64, f64)> {
        let runs = Runs::of(&self.large);
        let pace = median(&self.large.iter().map(Seen::pace).collect::<Vec<_>>())?;
        Some((pace.max(1.0), runs.map_or(BURST as f64, |runs| runs.lump)))
    }

    fn sure(&self) -> bool {
        self.crowds().0.is_some_and(|crowd| {
            crowd.share > 0.5 && crowd.gap.half_width() < SURE * crowd.gap.value
        })
    }
}
