//! The change point of a line with two regimes: flat below, a straight line above, with a jump between them.
//!
//! Normal noise of one unknown spread on both sides, so the likelihood of a break depends on the residual sum of
//! squares alone: log L = -n/2 ln(RSS / n) + const. Filter wild points first: normal noise knows none.

use super::{CONFIDENCE, Estimate, finite_points};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// What is known beforehand of the line above the break.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Slope {
    /// Its slope.
    Known(f64),
    /// Nothing.
    Free,
}

/// The two regimes that fit best.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TwoRegimes {
    /// The break: halfway between the last x below and the first above; its interval is the profile likelihood's,
    /// and never narrower than the gap between those two.
    pub change: Estimate,
    /// Mean y below the break.
    pub level: f64,
    /// The line above, at x = 0.
    pub intercept: f64,
    /// Slope of the line above.
    pub slope: f64,
    /// Standard deviation of the points about the two regimes.
    pub spread: f64,
    /// Points below the break.
    pub below: usize,
    /// Points above.
    pub above: usize,
    /// Log-likelihood gained over the better of 'all flat' and 'all line'.
    pub gain: f64,
}

/// Sums over a run of points, from which its residuals about a mean or a line follow at once.
#[derive(Copy, Clone, Default)]
struct Sums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn plus(self, (x, y): (f64, f64)) -> Self {
        Self {
            n: self.n + 1.0,
            x: self.x + x,
            y: self.y + y,
            xx: self.xx + x * x,
            xy: self.xy + x * y,
            yy: self.yy + y * y,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            n: self.n - other.n,
            x: self.x - other.x,
            y: self.y - other.y,
            xx: self.xx - other.xx,
            xy: self.xy - other.xy,
            yy: self.yy - other.yy,
        }
    }

    /// Squared deviations of y from its mean.
    fn flat(self) -> f64 {
        (self.yy - self.y * self.y / self.n).max(0.0)
    }

    fn slope(self, slope: Slope) -> f64 {
        match slope {
            Slope::Known(slope) => slope,
            Slope::Free => {
                let free = (self.xy - self.x * self.y / self.n) / (self.xx - self.x * self.x / self.n);
                if free.is_finite() { free } else { 0.0 }
            }
        }
    }

    /// Squared residuals about the line of that slope.
    fn line(self, slope: f64) -> f64 {
        let (sxx, sxy) = (self.xx - self.x * self.x / self.n, self.xy - self.x * self.y / self.n);
        (self.flat() - 2.0 * slope * sxy + slope * slope * sxx).max(0.0)
    }
}

/// Finds the break. `None` when there are fewer than two points, or fewer than two different x, to put on either
/// side of it (three for a free slope).
#[must_use]
pub fn two_regimes(points: &[(f64, f64)], slope: Slope) -> Option<TwoRegimes> {
    let mut points = finite_points(points);
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // Sums of squares lose digits when the numbers are large beside their spread: take the middle off first.
    let (first, last) = (points.first()?.0, points.last()?.0);
    let origin = (first / 2.0 + last / 2.0, points[points.len() / 2].1);
    let sums: Vec<Sums> = std::iter::once(Sums::default())
        .chain(points.iter().scan(Sums::default(), |sums, &(x, y)| {
            *sums = sums.plus((x - origin.0, y - origin.1));
            Some(*sums)
        }))
        .collect();
    let n = points.len();
    let total = *sums.last()?;
    let fewest = if slope == Slope::Free { 3 } else { 2 };
    let candidates: Vec<(usize, f64)> = (2..n.saturating_sub(fewest - 1))
        .filter(|&k| points[k - 1].0 < points[k].0)
        .map(|k| {
            let above = total.minus(sums[k]);
            (k, sums[k].flat() + above.line(above.slope(slope)))
        })
        .filter(|(_, rss)| rss.is_finite())
        .collect();
    let &(best, least) = candidates.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // Data without any noise would make every likelihood infinite; a part in 10^12 of the total stands in for it.
    let floor = (total.flat() * 1e-12).max(f64::MIN_POSITIVE);
    let log_likelihood = |rss: f64| -0.5 * n as f64 * rss.max(floor).ln();
    let top = log_likelihood(least);
    let drop = ChiSquared::new(1.0).ok()?.inverse_cdf(CONFIDENCE) / 2.0;
    let mut likely = candidates.iter().filter(|(_, rss)| log_likelihood(*rss) >= top - drop).map(|(k, _)| *k);
    let lowest = likely.next()?;
    let highest = likely.next_back().unwrap_or(lowest);
    let above = total.minus(sums[best]);
    let found = above.slope(slope);
    let single = total.flat().min(total.line(total.slope(slope)));
    let change = points[best - 1].0 / 2.0 + points[best].0 / 2.0;
    let regimes = TwoRegimes {
        change: Estimate { value: change, low: points[lowest - 1].0, high: points[highest].0 },
        level: origin.1 + sums[best].y / sums[best].n,
        intercept: origin.1 + above.y / above.n - found * (origin.0 + above.x / above.n),
        slope: found,
        spread: (least / n as f64).sqrt(),
        below: best,
        above: n - best,
        gain: top - log_likelihood(single),
    };
    (regimes.level.is_finite() && regimes.intercept.is_finite()).then_some(regimes)
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap::Indices;
    use super::*;
    use proptest::prelude::*;

    fn sweep(change: f64, level: f64, offset: f64, noise: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut indices = Indices::new(seed);
        let mut normal = || (0..12).map(|_| indices.below(1_000_001) as f64 / 1e6).sum::<f64>() - 6.0;
        (0..150)
            .map(|i| {
                let x = f64::from(i);
                (x, if x < change { level } else { x + offset } + noise * normal())
            })
            .collect()
    }

    #[test]
    fn intervals_hold_the_break() {
        // No jump at the break (40 = 40): the hard case. Between grid points the break is where the gap is.
        let held = (0..200)
            .filter(|&seed| {
                let fit = two_regimes(&sweep(40.0, 30.0, -10.0, 2.0, seed), Slope::Known(1.0)).unwrap();
                assert!((fit.level - 30.0).abs() < 2.0 && (fit.intercept + 10.0).abs() < 2.0);
                fit.change.holds(40.0)
            })
            .count();
        assert!(held >= 180, "{held} of 200");
    }

    #[test]
    fn one_regime_gains_little() {
        let flat: Vec<(f64, f64)> = sweep(1e9, 5.0, 0.0, 1.0, 1);
        let two = two_regimes(&flat, Slope::Known(1.0)).unwrap();
        assert!(two.gain < 5.0, "{two:?}");
        assert!(two_regimes(&sweep(70.0, 5.0, 0.0, 1.0, 1), Slope::Free).unwrap().gain > 50.0);
    }

    #[test]
    fn too_few_points() {
        assert!(two_regimes(&[], Slope::Free).is_none());
        assert!(two_regimes(&[(1.0, 1.0); 10], Slope::Known(1.0)).is_none());
        assert!(two_regimes(&[(1.0, 1.0), (2.0, 1.0), (3.0, 3.0)], Slope::Known(1.0)).is_none());
    }

    proptest! {
        #[test]
        fn exact_regimes_come_back(change in 20.5..120.5f64, level in -50.0..0.0f64, offset in 0.0..50.0f64,
                                   shift in -1e6..1e6f64) {
            for slope in [Slope::Known(1.0), Slope::Free] {
                let points: Vec<(f64, f64)> =
                    sweep(change, level, offset, 0.0, 0).into_iter().map(|(x, y)| (x + shift, y)).collect();
                let fit = two_regimes(&points, slope).unwrap();
                prop_assert!((fit.change.value - shift - change).abs() <= 0.5 + 1e-6);
                prop_assert!((fit.level - level).abs() < 1e-3 && (fit.slope - 1.0).abs() < 1e-3);
            }
        }

        #[test]
        fn never_panics(points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..40), slope: f64) {
            for slope in [Slope::Known(slope), Slope::Free] {
                if let Some(fit) = two_regimes(&points, slope) {
                    prop_assert!(fit.change.low <= fit.change.value && fit.change.value <= fit.change.high);
                }
            }
        }
    }
}
