//! Figures drawn by chance, from a seed.

use super::bootstrap::Indices;
use crate::unit::Nanos;

/// Steps of a share of one.
const STEPS: usize = 1 << 53;

/// A share of one, not zero.
pub(crate) fn share(indices: &mut Indices) -> f64 {
    (indices.below(STEPS) + 1) as f64 / STEPS as f64
}

/// An exponential time: pauses between the events of a Poisson process.
pub(crate) fn exponential(indices: &mut Indices, mean: Nanos) -> Nanos {
    Nanos::from_f64(-mean.as_f64() * share(indices).ln())
}

/// A time between half and one and a half of `mean`: pauses between events that are spread more evenly than by chance alone,
/// and never fall into step with anything.
pub(crate) fn spread(indices: &mut Indices, mean: Nanos) -> Nanos {
    Nanos::from_f64(mean.as_f64() * (0.5 + share(indices)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_their_mean() {
        let mut indices = Indices::new(1);
        let drawn: i64 = (0..10_000).map(|_| exponential(&mut indices, Nanos(1_000)).0).sum();
        assert!((9_700_000..10_300_000).contains(&drawn), "{drawn}");
        let drawn: Vec<i64> = (0..10_000).map(|_| spread(&mut indices, Nanos(1_000)).0).collect();
        assert!(drawn.iter().all(|pause| (500..=1_500).contains(pause)));
        assert!(
            (9_900_000..10_100_000).contains(&drawn.iter().sum::<i64>()),
            "{}",
            drawn.iter().sum::<i64>()
        );
    }
}
