//! What a train does to the queue of a link that it shares with others.

use statrs::function::erf::erfc;
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::LazyLock;

/// By how much a train's delay grows at the mean, in standard deviations of the work that cross traffic brings in the train's
/// time. The queue of a link walks at random, and never below nothing: Brownian motion, reflected. `drift` is how much more work
/// than the link does comes in that time, the train's own included; the queue began as long as the cross traffic alone makes
/// it, exponentially with a mean of `waiting`.
///
/// With S the lowest that the motion would come below where it began, and w the first wait, the delay grows by drift + E(S - w)+.
fn growth(drift: f64, waiting: f64) -> f64 {
    let rate = 1.0 / waiting;
    // P(S > s) = cdf(-s - drift) + exp(-2 drift s) cdf(drift - s), and E(S - w)+ = integral of P(S > s) (1 - exp(-rate s)).
    let lowest = |rate: f64| weighed(rate, -drift) + weighed(rate + 2.0 * drift, drift);
    drift + (lowest(0.0) - lowest(rate)).max(0.0)
}

/// The integral of exp(-rate s) cdf(middle - s) over s above nothing.
fn weighed(rate: f64, middle: f64) -> f64 {
    if rate.abs() < 1e-4 {
        return middle * below(middle) + density(middle);
    }
    let past = if rate > middle && rate - middle > 20.0 {
        // The tail over its density, for which both are too small to be told.
        density(middle) / (rate - middle)
    } else {
        (rate * (rate / 2.0 - middle)).exp() * below(middle - rate)
    };
    (below(middle) - past) / rate
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
}

fn below(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// The variance of that growth, in the same unit squared: all of the work's where the queue never empties, and of a queue that
/// often does, which forgets, that of its own two ends (exponential, at the mean 1 / 2|drift|). Between the two it is near to a half.
pub(super) fn spread(drift: f64) -> f64 {
    if drift < 0.0 { 0.5 / (1.0 + drift * drift) } else { 1.0 - 0.5 * (-drift).exp() }
}

/// The part of a train's time in which the queue is not empty: by so much more a train grows that brings more work.
pub(super) fn busy(drift: f64) -> f64 {
    0.5 * (1.0 + drift / (1.0 + drift * drift).sqrt())
}

/// Drifts in even steps, and waits in steps of their logarithms, at which growth is looked up.
const REACH: f64 = 8.0;
const DRIFTS: usize = 160;
const SHORTEST: f64 = 0.01;
const DECADE: usize = 6;
const WAITS: usize = 4 * DECADE;

static TABLE: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let wait = |step: usize| SHORTEST * 10_f64.powf(step as f64 / DECADE as f64);
    let drift = |step: usize| REACH * (2.0 * step as f64 / DRIFTS as f64 - 1.0);
    (0..=WAITS).flat_map(|row| (0..=DRIFTS).map(move |step| growth(drift(step), wait(row)))).collect()
});

/// The same growth, between what is looked up.
pub(super) fn grown(drift: f64, waiting: f64) -> f64 {
    let row = (waiting / SHORTEST).log10() * DECADE as f64;
    // Beyond, it grows by all of the drift or no longer changes.
    let inside = drift.clamp(-REACH, REACH);
    let (row, down) = step(row, WAITS);
    let (step, along) = step((inside / REACH + 1.0) / 2.0 * DRIFTS as f64, DRIFTS);
    let table = &TABLE[row * (DRIFTS + 1) + step..];
    let between = |row: &[f64]| row[0] * (1.0 - along) + row[1] * along;
    between(table) * (1.0 - down) + between(&table[DRIFTS + 1..]) * down + (drift - REACH).max(0.0)
}

/// In which of so many steps a place lies, and which share of it is before the place.
fn step(place: f64, steps: usize) -> (usize, f64) {
    let step = (place.max(0.0) as usize).min(steps - 1);
    (step, (place - step as f64).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::Indices;
    use crate::stats::chance::share;

    #[test]
    fn far_above_a_queue_grows_by_its_drift_and_far_below_it_does_not() {
        // From an empty queue with no drift sqrt(2 / pi).
        assert!((growth(0.0, 1e-6) - (2.0 / PI).sqrt()).abs() < 1e-3, "{}", growth(0.0, 1e-6));
        assert!((grown(20.0, 1.0) - 20.0).abs() < 0.03, "{}", grown(20.0, 1.0));
        assert!(grown(-20.0, 0.01).abs() < 0.1);
        assert!(spread(10.0) > 0.99 && spread(-10.0) < 0.01 && (spread(0.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_queue_is_busy_by_as_much_as_growth_follows_the_work() {
        for drift in [-5.0, -2.0, 0.0, 2.0, 5.0] {
            let follows = growth(drift + 0.05, 0.5) - growth(drift - 0.05, 0.5);
            assert!((follows * 10.0 - busy(drift)).abs() < 0.25, "{drift}: {follows}, {}", busy(drift));
        }
    }

    /// A walk of 2,000 steps.
    fn walked(chance: &mut Indices, drift: f64, waiting: f64) -> f64 {
        let steps = 2_000;
        let first = -waiting * share(chance).ln();
        let mut queue = first;
        for _ in 0..steps {
            let step = if chance.below(2) == 0 { 1.0 } else { -1.0 } / f64::from(steps).sqrt();
            queue = (queue + step + drift / f64::from(steps)).max(0.0);
        }
        queue - first
    }

    #[test]
    fn queues_grow_as_said() {
        let mut chance = Indices::new(3);
        for (drift, waiting) in [(0.0, 0.1), (1.0, 0.5), (-1.0, 0.5), (-2.0, 2.0), (0.5, 3.0)] {
            let mean = (0..2_000).map(|_| walked(&mut chance, drift, waiting)).sum::<f64>() / 2_000.0;
            let told = grown(drift, waiting);
            assert!((mean - told).abs() < 0.08, "{drift} {waiting}: {mean}, told {told}");
        }
    }
}
