//! Where the slopes of runs crowd.

use super::runs::{Run, Runs};
use crate::stats::Estimate;
use crate::stats::bootstrap::{interval, small_sample_factor};
use crate::unit::Bytes;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Errors of two stamps that are tried, as shares of a full packet's time: the sharpest crowd counts.
const ERRORS: [f64; 7] = [0.0, 0.002, 0.006, 0.02, 0.06, 0.2, 0.5];

/// Behind a bucket no smaller error is tried: packets leave when its timer comes, in the same beat train by train, and what
/// repeats is not the link's for that.
const BEAT: f64 = 0.06;

/// No crowd is sharper than this.
const SHARPEST: f64 = 0.003;

/// So much of all runs' weight makes a crowd.
const SHARE: f64 = 0.15;

/// Slopes that are tried as the middle of a crowd, and runs that are looked at: the weightiest.
const CANDIDATES: usize = 300;
const RUNS: usize = 3_000;

/// A crowd lies so near to the slope along the earliest packets, as shares of it: not above, as nothing comes before its
/// time, but for the stamps' errors, and below where no train got through untouched. Where several did, a crowd below is of another
/// link's pace: a loaded one behind the narrow link lets packets that waited there follow each other sooner than they came.
const AROUND: RangeInclusive<f64> = 0.75..=1.04;
const UNTOUCHED: RangeInclusive<f64> = 1.0 - SHARPEST..=1.04;

const RESAMPLES: usize = 400;

/// What a crowd says.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Crowd {
    /// Nanoseconds a bit.
    pub(super) slope: Estimate,
    /// Share of all runs' weight that is in it.
    pub(super) share: f64,
    /// Trains that have runs in it.
    pub(super) trains: usize,
}

/// What was found, by the sizes of the trains, and the bits of each that are left out (as they lie in memory).
pub(super) type Crowds = BTreeMap<(Vec<Bytes>, u64), Option<Crowd>>;

/// A run by what decides how much it belongs to a crowd. All of it is looked at for each candidate: nothing is divided there.
struct Near {
    weight: f64,
    slope: f64,
    /// One over the width of a crowd, as a share of its middle: no run further off belongs to it.
    sharpness: f64,
}

impl Near {
    /// Of a run whose stamps are off by `error` nanoseconds together.
    fn of(weight: f64, run: &Run, error: f64) -> Self {
        Self { weight, slope: run.slope(), sharpness: 1.0 / SHARPEST.max(error / run.lasting) }
    }

    /// How much it weighs in a crowd around a slope of which `inverse` is one over it.
    fn weighs(&self, inverse: f64) -> f64 {
        self.weight * (1.0 - (self.slope * inverse - 1.0).abs() * self.sharpness).max(0.0)
    }
}

/// The longer, and the less held up.
fn weight(run: &Run, packet: f64) -> f64 {
    (run.bits / packet).sqrt() / (1.0 + run.late).powi(2)
}

/// So many of those that are `around`, with their weights, from the weightiest on; of such as weigh the same the first ones.
fn weightiest(runs: &Runs, packet: f64, around: impl Fn(&Run) -> bool) -> Vec<(f64, Run)> {
    let placed = runs.runs.iter().enumerate().filter(|(_, run)| around(run));
    let mut weighed: Vec<(f64, usize)> = placed.map(|(place, run)| (weight(run, packet), place)).collect();
    let heavier = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if weighed.len() > RUNS {
        weighed.select_nth_unstable_by(RUNS, heavier);
        weighed.truncate(RUNS);
    }
    weighed.sort_unstable_by(heavier);
    weighed.into_iter().map(|(weight, place)| (weight, runs.runs[place])).collect()
}

/// The sharpest crowd of runs; `packet`: bits of a full one.
pub(super) fn crowd(runs: &Runs, packet: f64, tick: f64, seed: u64) -> Option<Crowd> {
    let range = if runs.is_untouched(&UNTOUCHED) { UNTOUCHED } else { AROUND };
    let weighed = weightiest(runs, packet, |run| range.contains(&(run.slope() / runs.floor)));
    let total: f64 = weighed.iter().map(|(weight, _)| weight).sum();
    let least = runs.held / 2.0 + tick;
    let tried = weighed.len().min(CANDIDATES);
    let mut found = None;
    let no_less = if runs.is_of_bucket { BEAT } else { 0.0 };
    for share in ERRORS.into_iter().filter(|share| *share >= no_less) {
        let error = least + share * runs.floor * packet;
        let near: Vec<Near> = weighed.iter().map(|(weight, run)| Near::of(*weight, run, error)).collect();
        let score = |slope: f64| near.iter().map(|one| one.weighs(1.0 / slope)).sum::<f64>();
        let candidates = near[..tried].iter().map(|one| (score(one.slope), one.slope));
        let (score, middle) = candidates.max_by(|a, b| a.0.total_cmp(&b.0))?;
        found = Some((score, middle, error, near));
        if score > SHARE * total {
            break;
        }
    }
    let (score, middle, error, near) = found?;
    let inside = || near.iter().zip(&weighed).map(|(one, (_, run))| (one.weighs(1.0 / middle), run));
    // Train by train, what its runs in the crowd say.
    let mut sums = vec![(0.0, 0.0); runs.trains];
    for (weight, run) in inside() {
        let weight = weight * run.bits;
        sums[run.train].0 += weight;
        sums[run.train].1 += weight * run.slope();
    }
    sums.retain(|sum| sum.0 > 0.0);
    let mean = |sums: &[(f64, f64)]| {
        let (weight, sum) = sums.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (weight > 0.0).then(|| sum / weight)
    };
    let slope = interval(&sums, RESAMPLES, seed, mean)?.widened(small_sample_factor(sums.len()).min(10.0));
    // Lumps leave half a packet's time open at the ends of a run, and all alike where a NIC's period keeps time with packets.
    let lasting = inside().map(|(weight, run)| weight * run.lasting).sum::<f64>() / score;
    // And a bucket's timer one of its beat, in each train anew.
    let beat = if runs.is_of_bucket { error / (sums.len() as f64).sqrt() } else { 0.0 };
    let off = slope.value * (runs.held / 2.0 + beat) / lasting;
    // Where few got through untouched, or none, either may be true: that all others were held up, or that a link behind made a crowd.
    let most = runs.most().unwrap_or(0.0);
    let slope = Estimate { low: slope.low - off, high: (slope.high + off).max(most), ..slope };
    Some(Crowd { slope, share: score / total, trains: sums.len() })
}
