//! Which trains are sent, round by round.

use super::runs::{LUMPY, lump, pace};
use super::strain::{SLOWER, Strained};
use super::train::Seen;
use super::verdict::{AGREEING, MOST, SPILL, SURE};
use super::{LARGE, SIZES, SparedRuns};
use crate::stats::chance::exponential;
use crate::stream::{occupied, spacing, stream};
use crate::train::{Departure, Train};
use crate::unit::Nanos;

/// Bursts that show the pace and how many packets come at once: so many, of so many packets; longer ones where all of a
/// burst came at once.
const BURSTS: usize = 5;
const BURST: usize = 24;

/// Lumps of a train, at least.
const LUMPS: f64 = 10.0;

/// A train should last so long.
const SPAN: Nanos = Nanos::from_micros(400);

/// Where there is doubt trains follow each other sooner, but no sooner than so many times what they last.
const CALM: i64 = 20;

/// Trains of the test.
const TESTS: usize = 12;

impl SparedRuns {
    /// The trains of the largest size.
    pub(super) fn full(&self) -> impl Iterator<Item = &Seen> {
        self.trains.iter().filter(|train| train.size == self.facts.max_size)
    }

    /// Packets of the longest of them.
    pub(super) fn longest(&self) -> usize {
        self.full().map(|train| train.came.len()).max().unwrap_or(0)
    }

    pub(super) fn ask(&mut self) -> Vec<Departure> {
        let (least, most) = self.config.packets;
        let Some(pace) = pace(self.full()) else {
            // All came at once, or nothing did.
            let packets = if self.asked == 0 { BURST.min(most) } else { most };
            self.asked += 1;
            let departure =
                Departure { pause: self.config.pause * 2, train: Train::burst(self.facts.max_size, packets) };
            return if self.asked > 2 { Vec::new() } else { vec![departure; BURSTS] };
        };
        self.rounds += 1;
        if self.planned >= self.config.lasting || (self.rounds > 2 && self.sure()) {
            return self.test(pace);
        }
        let lump = lump(self.full(), pace);
        // Small packets are soon sent, and of each size one first packet at least should not have waited. Of a bucket they tell
        // nothing.
        let small = self.rounds > 2 && lump <= LUMPY && self.basis().1 == 0.0;
        let (sent, often) = if small { (SIZES.len(), 2) } else { (LARGE, 1) };
        // Where sizes do not agree the first packets may be a bucket's: then there must be others.
        let agrees = || self.agreement(&self.link_sizes(), 0.0).1 >= AGREEING;
        let spill = SPILL / SIZES[LARGE - 1];
        let least = match lump > LUMPY {
            true => least.max(BURST),
            false if self.rounds > 1 && !agrees() => least + spill as usize,
            false => least,
        };
        let long = (LUMPS * lump).max(SPAN.as_f64() / pace).max(least as f64);
        let packets = (long as usize).clamp(least.max(3), most.max(least).max(3));
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let mut sizes = self.sizes();
        sizes.truncate(sent);
        let lasts = Nanos::from_f64(packets as f64 * pace);
        // None should wait behind the one before it, were the path slower than it seems.
        let pause = self.config.pause.min((self.config.pause / often).max(lasts * CALM));
        let mean = pause.max(Nanos::from_f64(packets as f64 * pace * (1.0 / share - 1.0)));
        let full = self.facts.max_size.0 as f64;
        (0..self.config.trains)
            .map(|place| {
                let size = sizes[place % sizes.len()];
                // No whole train may pass a bucket.
                let beyond = self.config.packets.0 + (SPILL * full / size.0.max(1) as f64) as usize;
                let packets = if sent > LARGE { packets.max(beyond).min(most.max(3)) } else { packets };
                let pause = exponential(&mut self.chance, mean);
                self.planned += pause + lasts;
                Departure { pause, train: Train::burst(size, packets) }
            })
            .collect()
    }

    /// Trains a little slower than what was found, where packets come in lumps.
    fn test(&mut self, pace: f64) -> Vec<Departure> {
        if self.strained.is_some() || lump(self.full(), pace) <= LUMPY {
            return Vec::new();
        }
        let Some(found) = self.crowd(&self.link_sizes(), 0.0) else { return Vec::new() };
        let size = self.facts.max_size;
        self.strained = Some(Strained::new(found.slope.value * occupied(size)));
        let packets = self.longest().max(BURST);
        let hold = spacing(size, 1e9 / found.slope.value / SLOWER);
        vec![Departure { pause: self.config.pause * 2, train: stream(size, hold, packets) }; TESTS]
    }

    pub(super) fn sure(&self) -> bool {
        let (sizes, without) = self.basis();
        let Some(crowd) = self.crowd(&sizes, without) else { return false };
        let (middle, reach) = (crowd.slope.value, SURE * crowd.slope.value);
        let of_one =
            |size| self.crowd(&[size], without).is_some_and(|one| (one.slope.value - middle).abs() < reach);
        crowd.share > MOST
            && crowd.slope.half_width() < reach
            && sizes.len() > 1
            && sizes.iter().all(|size| of_one(*size))
    }
}
