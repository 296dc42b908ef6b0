//! What trains showed so far, and what it says of the link.

use super::line::{self, Known, Line};
use super::sample::{Sample, bursty};
use super::strain;
use super::unparted::{Another, another, batch, unparted};
use crate::avail::search::Verdict;
use crate::avail::stream::Passed;
use crate::stats::quantile::{mean, median};

/// Bursts that come in so much of the time that they were sent in show the sender's pace, not the path's.
const SPREAD: f64 = 1.03;

/// Trains that leave so much slower than they should are as fast as the sender makes them.
const LATE: f64 = 1.1;

/// What is taken for loaded before anything is known.
const UNKNOWN: f64 = 0.5;

/// Mean spacings of all trains but those of a test.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Packets that the receiver reads at once, where it reads several.
    pub(super) batch: Option<usize>,
    /// Single gaps of bursts, nanoseconds.
    gaps: Vec<f64>,
    /// The same of trains at the pace.
    full_gaps: Vec<f64>,
    /// Of bursts of one length.
    pub(super) bursts: Vec<Sample>,
    /// Mean gap between packets of bursts as they were sent.
    made: Vec<f64>,
    /// Of trains at the pace.
    pub(super) full: Vec<Sample>,
    /// Of trains nearer to what is free, spacing by spacing.
    pub(super) near: Vec<Vec<Sample>>,
    /// Departure and apparent delay of first packets, nanoseconds.
    pub(super) firsts: Vec<(f64, f64)>,
}

impl Samples {
    /// Bursts of another length follow.
    pub(super) fn burst_anew(&mut self) {
        self.gaps.clear();
        self.bursts.clear();
    }

    /// Looks at how packets were read.
    pub(super) fn see_batches(&mut self, passed: &[Passed]) {
        self.batch = self.batch.max(batch(&gaps(passed)));
    }

    pub(super) fn see_burst(&mut self, passed: &[Passed]) {
        self.gaps.extend(gaps(passed));
        self.bursts.extend(self.sample(passed));
        self.made.extend(passed.last().map(|last| last.sent / (passed.len() - 1).max(1) as f64));
    }

    pub(super) fn see_full(&mut self, passed: &[Passed], sample: Option<Sample>) {
        self.full_gaps.extend(gaps(passed));
        self.full.extend(sample);
    }

    /// The mean spacing of a train, read as this receiver reads.
    pub(super) fn sample(&self, passed: &[Passed]) -> Option<Sample> {
        Sample::of(passed, self.batch.is_some())
    }

    /// How far apart packets of bursts leave.
    pub(super) fn made(&self) -> Option<f64> {
        median(&self.made)
    }

    /// L / C, where packets show it: where bursts come faster than the link serves them.
    pub(super) fn own(&self) -> Option<Known> {
        let made = self.made()?;
        unparted(&self.gaps).filter(|(own, _)| made * SPREAD < *own)
    }

    /// What a packet takes of the link, as far as is known: at most what bursts come apart.
    pub(super) fn pace(&self) -> Option<f64> {
        self.own().map(|(own, _)| own).or_else(|| self.burst())
    }

    /// Whether bursts show that another link is loaded than the one whose pace they have, or as well.
    pub(super) fn another(&self) -> Option<Another> {
        another(&self.gaps, &self.full_gaps, self.own(), self.made()?, self.burst()?)
    }

    /// How far apart packets of bursts come.
    pub(super) fn burst(&self) -> Option<f64> {
        let came: Vec<f64> = self.bursts.iter().map(|burst| burst.output).collect();
        median(&came)
    }

    /// rho, as far as the last samples and what is known of L / C tell; half before there are any.
    pub(super) fn share(&self) -> f64 {
        let Some(own) = self.pace() else { return UNKNOWN };
        let last = self.near.iter().rev().find(|near| !near.is_empty()).unwrap_or(&self.full);
        let shares: Vec<f64> = last.iter().map(|sample| (sample.output - own) / sample.input).collect();
        mean(&shares).unwrap_or(UNKNOWN).clamp(0.0, 1.0)
    }

    pub(super) fn line(&self) -> Option<Line> {
        let (last, before) =
            self.near.split_last().map_or((&[][..], &[][..]), |(last, before)| (last, before));
        // Trains that were, as the last tell, too slow to keep the link busy say nothing.
        let least = self.pace()? / (1.0 - self.share()).max(f64::MIN_POSITIVE);
        let kept = before.iter().flatten().filter(|sample| sample.input < least);
        let near: Vec<Sample> = kept.chain(last).copied().collect();
        line::line(&self.full, &near, self.own(), self.bursty())
    }

    /// Trains that should have been `gap` apart came as they were sent, and that was slower: the sender makes no faster
    /// ones.
    pub(super) fn as_made(&self, gap: f64) -> bool {
        self.full.iter().all(|sample| sample.input > LATE * gap)
            && strain::verdict(&self.full, 0.0) == Verdict::Below
    }

    /// Whether traffic comes in bursts longer than a train. It is told only where L / C is known, and no other link is
    /// known to be loaded.
    pub(super) fn bursty(&self) -> bool {
        let near = self.near.iter().map(Vec::as_slice);
        self.own().is_some() && self.another().is_none() && bursty(near.chain([self.full.as_slice()]))
    }
}

fn gaps(passed: &[Passed]) -> Vec<f64> {
    passed.windows(2).map(|two| two[1].came - two[0].came).collect()
}
