//! What a train does to the queue of a link that it shares with others.

use statrs::function::erf::erf;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The queue of a link grows by chance, and never below nothing, as the work that cross traffic brings varies. A train that
/// adds to it what is a drift of `x` standard deviations of that work over the train's time makes its delay grow by so many
/// standard deviations at the mean, from an empty queue: E max W of Brownian motion with a drift, to which a queue that
/// began empty is equal in distribution (reflection). Far above it is the drift itself, far below next to nothing.
pub(super) fn growth(x: f64) -> f64 {
    let below = f64::midpoint(1.0, erf(x * FRAC_1_SQRT_2));
    let density = (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
    let walked = if x.abs() < 1e-6 { density } else { (below - 0.5) / x };
    walked + x * below + density
}

/// The variance of that growth, in the same unit squared: all of the work's where the queue never empties, and of a queue that
/// often does, which forgets, that of its own two ends (exponential, at the mean 1 / 2|x|). Between the two it is near to a half.
pub(super) fn spread(x: f64) -> f64 {
    if x < 0.0 { 0.5 / (1.0 + x * x) } else { 1.0 - 0.5 * (-x).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_above_a_queue_grows_by_its_drift_and_far_below_it_does_not() {
        assert!((growth(0.0) - (2.0 / PI).sqrt()).abs() < 1e-9, "{}", growth(0.0));
        assert!((growth(20.0) - 20.0).abs() < 0.03 && (growth(-20.0) - 0.025).abs() < 1e-3);
        assert!((growth(1e-7) - growth(0.0)).abs() < 1e-6);
        assert!(spread(10.0) > 0.99 && spread(-10.0) < 0.01 && (spread(0.0) - 0.5).abs() < 1e-9);
    }
}
