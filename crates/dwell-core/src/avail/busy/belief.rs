//! What trains at several rates tell of a tight link of which nothing is known.

use super::queue::{grown, spread};
use super::sample::Sample;
use super::waiting::HOST;
use crate::stats::Estimate;
use crate::stats::quantile::mean;

/// What is free and what the tight link carries (both as shares of the narrow link) and how much what comes between packets varies
/// (as a share of what a packet takes of the narrow link) are looked for in these ranges; in the last two by even steps of
/// their logarithms.
const FREE: (f64, f64) = (0.0, 1.05);
const CARRIES: (f64, f64) = (0.9, 30.0);
const VARIES: (f64, f64) = (1e-4, 30.0);
const STEPS: (usize, usize, usize) = (42, 10, 13);

/// And so many links that are loaded alike.
const LINKS: [usize; 3] = [1, 2, 3];

/// Then, so many times, in what is left of the first two.
const CLOSER: usize = 1;

/// Left is what is at least so probable, as a share of the most probable.
const LEFT: f64 = 1e-3;

/// Stamps are off by so many nanoseconds.
const STAMP: f64 = 2e3;

/// How far, as a logarithm, the mean wait of single packets may be from what the tight link makes them wait: few are seen, and other
/// links make them wait too.
const WAITS: f64 = 0.7;

/// Other links that are loaded less part what comes faster than they have free: by so much of the square of what a train grew by, the model
/// may be off.
const ORDER: f64 = 0.25;

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

/// What is free, and what the tight link carries at the median, as shares of what the narrow link carries.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) free: Estimate,
    pub(super) carries: f64,
}

/// What is free, as a share of what the narrow link carries, which takes `pace` a packet: a train at a rate R on a tight link that
/// carries C and has A free makes its queue drift by (R - A) / C of the time, and the train grows as [`grown`] says. Every A, C
/// and variance that explains the trains, and the mean of how long single packets `waited`, is taken for as probable as they are
/// by it.
pub(super) fn belief(fleets: &[Vec<Sample>], waited: Option<f64>, pace: f64) -> Option<Belief> {
    let fleets: Vec<Fleet> = fleets.iter().filter_map(|fleet| Fleet::of(fleet, pace)).collect();
    if fleets.is_empty() {
        return None;
    }
    let waited = waited.map(|waited| (waited / pace, HOST / pace));
    let mut grid = Grid { free: FREE, carries: (CARRIES.0.ln(), CARRIES.1.ln()) };
    let mut weights = grid.weights(&fleets, waited);
    for _ in 0..CLOSER {
        grid = grid.left(&weights);
        weights = grid.weights(&fleets, waited);
    }
    let free: Vec<(f64, f64)> =
        weights.iter().map(|(free, weights)| (*free, weights.iter().sum::<f64>())).collect();
    let carries: Vec<(f64, f64)> = even(grid.carries, STEPS.1)
        .enumerate()
        .map(|(step, carries)| (carries, weights.iter().map(|(_, weights)| weights[step]).sum()))
        .collect();
    let [low, value, high] = [0.025, 0.5, 0.975].map(|part| share(&free, part).max(0.0));
    Some(Belief { free: Estimate { value, low, high }, carries: share(&carries, 0.5).exp() })
}

/// Where what is free, and the logarithm of what the link carries, are looked for.
struct Grid {
    free: (f64, f64),
    carries: (f64, f64),
}

/// Of each step of what is free, that of each of what the link carries.
type Weights = Vec<(f64, Vec<f64>)>;

fn even((from, to): (f64, f64), steps: usize) -> impl Iterator<Item = f64> {
    (0..=steps).map(move |step| from + (to - from) * step as f64 / steps as f64)
}

impl Grid {
    fn weights(&self, fleets: &[Fleet], waited: Option<(f64, f64)>) -> Weights {
        let varies: Vec<f64> = even((VARIES.0.ln(), VARIES.1.ln()), STEPS.2).map(f64::exp).collect();
        let likely = |free: f64, carries: f64| -> Vec<f64> {
            let one = |links: usize, varies: &f64| {
                let path = Alike { links, free, carries, varies: *varies };
                let trains: f64 = fleets.iter().map(|fleet| fleet.likely(&path)).sum();
                trains + waited.map_or(0.0, |waited| path.waits(waited))
            };
            LINKS.iter().flat_map(|links| varies.iter().map(|varies| one(*links, varies))).collect()
        };
        let all: Vec<(f64, Vec<Vec<f64>>)> = even(self.free, STEPS.0)
            .map(|free| (free, even(self.carries, STEPS.1).map(|carries| likely(free, carries.exp())).collect()))
            .collect();
        let most = all.iter().flat_map(|(_, likely)| likely.iter().flatten());
        let most = most.fold(f64::NEG_INFINITY, |most, one| most.max(*one));
        let weight = |likely: &Vec<f64>| likely.iter().map(|one| (one - most).exp()).sum();
        all.iter().map(|(free, likely)| (*free, likely.iter().map(weight).collect())).collect()
    }

    /// What is left of it, and a step to either side.
    fn left(&self, weights: &Weights) -> Self {
        let most = weights.iter().flat_map(|(_, weights)| weights).fold(0.0_f64, |most, one| most.max(*one));
        let within = |(from, to): (f64, f64), steps: usize, is_left: &dyn Fn(usize) -> bool| {
            let step = (to - from) / steps as f64;
            let first = (0..=steps).find(|step| is_left(*step)).unwrap_or(0).saturating_sub(1);
            let last = (0..=steps).rfind(|step| is_left(*step)).unwrap_or(steps) + 1;
            (from + step * first as f64, from + step * last.min(steps) as f64)
        };
        let left = |weight: &f64| *weight > LEFT * most;
        Self {
            free: within(self.free, STEPS.0, &|free| weights[free].1.iter().any(left)),
            carries: within(self.carries, STEPS.1, &|carries| {
                weights.iter().any(|(_, weights)| left(&weights[carries]))
            }),
        }
    }
}

/// Links that are loaded alike: of each, what is free and what it carries, and how much its traffic varies.
struct Alike {
    links: usize,
    free: f64,
    carries: f64,
    varies: f64,
}

impl Alike {
    /// The mean wait of the queue of one.
    fn waiting(&self) -> f64 {
        self.varies * self.carries / (2.0 * self.free.max(1e-3))
    }

    /// How likely their waits are to be what single packets waited, or what hosts made them wait: a logarithm, but for a constant.
    fn waits(&self, (waited, host): (f64, f64)) -> f64 {
        let off = (waited + host).ln() - (self.links as f64 * self.waiting() + host).ln();
        -0.5 * (off / WAITS).powi(2)
    }
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

    /// The logarithm of how likely it is, but for a constant. A packet of others more or less comes at either end of a train, however
    /// even they come.
    fn likely(&self, path: &Alike) -> f64 {
        let waiting = path.waiting();
        let (mut rate, mut lasting) = (self.rate, self.lasting);
        let mut variance = path.carries.powi(-2) / 6.0 + self.stamps;
        for _ in 0..path.links {
            let deviation = (path.varies * lasting).sqrt();
            let drift = (rate - path.free) / path.carries * lasting / deviation;
            let grown = deviation * grown(drift, waiting / deviation);
            variance += deviation.powi(2) * spread(drift);
            rate *= lasting / (lasting + grown);
            lasting += grown;
        }
        let grown = lasting - self.lasting;
        let order = ORDER * grown.powi(2) / self.lasting;
        let of_mean = variance / self.trains + order.powi(2);
        let off = self.scatter / variance + (self.grown - grown).powi(2) / of_mean;
        -0.5 * ((self.trains - 1.0) * variance.ln() + of_mean.ln() + off)
    }
}

/// Where so large a share of all weight lies below.
fn share(weights: &[(f64, f64)], share: f64) -> f64 {
    let step = weights[1].0 - weights[0].0;
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    for (free, weight) in weights {
        if below + weight >= share * all {
            return free + step * ((share * all - below) / weight - 0.5);
        }
        below += weight;
    }
    weights[weights.len() - 1].0
}
