//! What trains at several rates tell of a tight link of which nothing is known.

use super::queue::{growth, spread};
use super::sample::Sample;
use crate::stats::Estimate;
use crate::stats::quantile::mean;

/// Grids on which what is free, what the tight link carries (both as shares of the narrow link) and how much what comes between
/// packets varies (as a share of what a packet takes of the narrow link) are looked for; all but the first in even steps of
/// their logarithms. Several equally loaded links seem to be one that carries as many times less.
const FREE: (f64, f64, usize) = (0.0, 1.05, 105);
const CARRIES: (f64, f64, usize) = (0.3, 30.0, 24);
const VARIES: (f64, f64, usize) = (1e-4, 30.0, 22);

/// Stamps are off by so many nanoseconds.
const STAMP: f64 = 2e3;

/// Where the growth of a train is looked up: in so many standard deviations to either side, in so fine steps.
const REACH: f64 = 10.0;
const STEPS: usize = 400;

/// Trains at one rate: how many, their rate in packets a `pace`, how long they last, and what they grew by at the mean and its
/// variance, all in units of `pace`.
struct Fleet {
    trains: f64,
    rate: f64,
    lasting: f64,
    grown: f64,
    scatter: f64,
    stamps: f64,
}

impl Fleet {
    fn of(samples: &[Sample], pace: f64) -> Option<Self> {
        let of = |figure: fn(&Sample) -> f64| mean(&samples.iter().map(figure).collect::<Vec<_>>());
        let grown = of(|sample| (sample.output - sample.input) * sample.gaps)? / pace;
        let scatter = samples
            .iter()
            .map(|sample| ((sample.output - sample.input) * sample.gaps / pace - grown).powi(2))
            .sum::<f64>();
        let blur = of(|sample| sample.blur * sample.gaps)?;
        Some(Self {
            trains: samples.len() as f64,
            rate: pace / of(|sample| sample.input)?,
            lasting: of(|sample| sample.input * sample.gaps)? / pace,
            grown,
            scatter,
            stamps: (STAMP.powi(2) + blur.powi(2)) / pace.powi(2),
        })
    }
}

/// What is free, as a share of what the narrow link carries, which takes `pace` a packet: a train at a rate R on a tight link that
/// carries C and has A free makes its queue drift by (R - A) / C of the time, and the train grows as
/// [`growth`] says. Every A, C and variance that explains the trains is taken for as probable as they are by it.
pub(super) fn free(fleets: &[Vec<Sample>], pace: f64) -> Option<Estimate> {
    let fleets: Vec<Fleet> = fleets.iter().filter_map(|fleet| Fleet::of(fleet, pace)).collect();
    if fleets.is_empty() {
        return None;
    }
    let table: Vec<(f64, f64)> = (0..=STEPS).map(|step| looked_up(step as f64)).collect();
    let even = |(from, to, steps): (f64, f64, usize)| {
        (0..=steps).map(move |step| from + (to - from) * step as f64 / steps as f64)
    };
    let scaled = |(from, to, steps): (f64, f64, usize)| {
        even((from.ln(), to.ln(), steps)).map(f64::exp).collect::<Vec<_>>()
    };
    let (carries, varies) = (scaled(CARRIES), scaled(VARIES));
    let likely = |free: f64| -> Vec<f64> {
        carries
            .iter()
            .flat_map(|carries| varies.iter().map(move |varies| (*carries, *varies)))
            .map(|(carries, varies)| {
                fleets.iter().map(|fleet| fleet.likely(&table, (fleet.rate - free) / carries, varies)).sum()
            })
            .collect()
    };
    let all: Vec<(f64, Vec<f64>)> = even(FREE).map(|free| (free, likely(free))).collect();
    let most = all.iter().flat_map(|(_, likely)| likely).fold(f64::NEG_INFINITY, |most, one| most.max(*one));
    let weights: Vec<(f64, f64)> = all
        .iter()
        .map(|(free, likely)| (*free, likely.iter().map(|one| (one - most).exp()).sum()))
        .collect();
    Some(Estimate { value: share(&weights, 0.5), low: share(&weights, 0.025), high: share(&weights, 0.975) })
}

fn looked_up(step: f64) -> (f64, f64) {
    let x = REACH * (2.0 * step / STEPS as f64 - 1.0);
    (growth(x), spread(x))
}

impl Fleet {
    /// The logarithm of how likely it is, but for a constant.
    fn likely(&self, table: &[(f64, f64)], drift: f64, varies: f64) -> f64 {
        let work = varies * self.lasting;
        let x = drift * self.lasting / work.sqrt();
        let (growth, spread) = if x.abs() < REACH {
            table[((x / REACH + 1.0) / 2.0 * STEPS as f64) as usize]
        } else {
            (x.max(0.0), spread(x))
        };
        let variance = work * spread + self.stamps;
        let off = self.grown - growth * work.sqrt();
        -0.5 * (self.trains * variance.ln() + (self.scatter + self.trains * off.powi(2)) / variance)
    }
}

/// Where so large a share of all weight lies below.
fn share(weights: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let step = weights[1].0 - weights[0].0;
    let mut below = 0.0;
    for (free, weight) in weights {
        if below + weight >= share * all {
            return (free + step * ((share * all - below) / weight - 0.5)).max(0.0);
        }
        below += weight;
    }
    weights[weights.len() - 1].0
}
