//! Where the slopes of runs crowd.

use super::train::{Run, Runs};
use crate::stats::Estimate;
use crate::stats::bootstrap::{interval, small_sample_factor};

/// Two stamps' errors, as shares of a packet's time, from the least that is tried to the most: the sharpest crowd counts.
const ERRORS: [f64; 6] = [0.002, 0.006, 0.02, 0.06, 0.2, 0.5];

/// No crowd is sharper than this.
const SHARPEST: f64 = 0.003;

/// So much of all runs' weight makes a crowd.
const SHARE: f64 = 0.15;

/// Slopes that are tried as the middle of a crowd.
const CANDIDATES: usize = 600;

const RESAMPLES: usize = 400;

/// What a crowd says.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Crowd {
    /// Nanoseconds a packet.
    pub(super) gap: Estimate,
    /// Share of all runs' weight that is in it.
    pub(super) share: f64,
    /// Trains that have runs in it.
    pub(super) trains: usize,
}

struct Weighed {
    run: Run,
    weight: f64,
}

/// How much a run of this slope belongs to a crowd around `middle`.
fn near(run: &Run, middle: f64, error: f64) -> f64 {
    let width = SHARPEST.max(error / run.packets);
    (1.0 - (run.slope / middle - 1.0).abs() / width).max(0.0)
}

pub(super) fn crowd(runs: &Runs, tick: f64, seed: u64) -> Option<Crowd> {
    let weigh = |run: &Run| {
        let late = run.late / runs.pace;
        Weighed { run: *run, weight: run.packets.sqrt() / (1.0 + late).powi(2) }
    };
    let mut weighed: Vec<Weighed> = runs.runs.iter().map(weigh).collect();
    weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let total: f64 = weighed.iter().map(|one| one.weight).sum();
    // A lump's last packet came up to a packet's time before it was delivered.
    let least = if runs.lump > 1.5 { 0.5 } else { tick / runs.pace };
    let tried = weighed.len().min(CANDIDATES);
    let mut found = None;
    for error in ERRORS.into_iter().filter(|error| *error >= least).chain([least.max(0.5)]) {
        let score =
            |middle: f64| weighed.iter().map(|one| one.weight * near(&one.run, middle, error)).sum::<f64>();
        let candidates = weighed[..tried].iter().map(|one| (score(one.run.slope), one.run.slope));
        let best = candidates.max_by(|a, b| a.0.total_cmp(&b.0))?;
        found = Some((best, error));
        if best.0 > SHARE * total {
            break;
        }
    }
    let ((score, middle), error) = found?;
    // Train by train, what its runs in the crowd say.
    let trains = weighed.iter().map(|one| one.run.train).max()? + 1;
    let mut sums = vec![(0.0, 0.0); trains];
    for one in &weighed {
        let weight = one.weight * near(&one.run, middle, error) * one.run.packets;
        sums[one.run.train].0 += weight;
        sums[one.run.train].1 += weight * one.run.slope;
    }
    sums.retain(|sum| sum.0 > 0.0);
    let mean = |sums: &[(f64, f64)]| {
        let (weight, sum) = sums.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (weight > 0.0).then(|| sum / weight)
    };
    let gap = interval(&sums, RESAMPLES, seed, mean)?.widened(small_sample_factor(sums.len()).min(10.0));
    Some(Crowd { gap, share: score / total, trains: sums.len() })
}
