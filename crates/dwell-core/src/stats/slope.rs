//! Lines through points: least squares, Theil-Sen, and a line that outliers do not move.

use super::bootstrap::Indices;
use super::quantile::{MAD_TO_SIGMA, mad, median, quantile_of_sorted, sorted};
use super::{CONFIDENCE, Estimate, Line, finite_points};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// A fitted line with intervals.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Fit {
    /// Rise per unit of x.
    pub slope: Estimate,
    /// Value at x = 0.
    pub intercept: Estimate,
    /// Standard deviation of the points about the line.
    pub spread: f64,
}

impl Fit {
    /// The line without its intervals.
    #[must_use]
    pub fn line(&self) -> Line {
        Line { intercept: self.intercept.value, slope: self.slope.value }
    }
}

/// Weighted sums about the weighted means: what every least-squares formula is made of.
struct Moments {
    weight: f64,
    mean_x: f64,
    mean_y: f64,
    sxx: f64,
    sxy: f64,
}

impl Moments {
    fn new(points: &[(f64, f64)], weights: impl Fn(usize) -> f64) -> Self {
        let weight: f64 = (0..points.len()).map(&weights).sum();
        let mean = |f: fn(&(f64, f64)) -> f64| {
            points.iter().enumerate().map(|(i, p)| weights(i) * f(p)).sum::<f64>() / weight
        };
        let (mean_x, mean_y) = (mean(|p| p.0), mean(|p| p.1));
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for (i, (x, y)) in points.iter().enumerate() {
            sxx += weights(i) * (x - mean_x).powi(2);
            sxy += weights(i) * (x - mean_x) * (y - mean_y);
        }
        Self { weight, mean_x, mean_y, sxx, sxy }
    }

    fn line(&self) -> Option<Line> {
        let slope = self.sxy / self.sxx;
        let intercept = self.mean_y - slope * self.mean_x;
        (slope.is_finite() && intercept.is_finite()).then_some(Line { intercept, slope })
    }

    /// The fit, given the variance of a point about the line and Student's t for the interval.
    fn fit(&self, line: Line, variance: f64, t: f64) -> Option<Fit> {
        let slope = t * (variance / self.sxx).sqrt();
        let intercept = t * (variance * (1.0 / self.weight + self.mean_x.powi(2) / self.sxx)).sqrt();
        let around = |value: f64, half: f64| Estimate { value, low: value - half, high: value + half };
        (slope.is_finite() && intercept.is_finite()).then(|| Fit {
            slope: around(line.slope, slope),
            intercept: around(line.intercept, intercept),
            spread: variance.sqrt(),
        })
    }
}

/// Student's t that leaves half of what is outside the interval on either side.
fn student(freedom: usize) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(t.inverse_cdf((1.0 + CONFIDENCE) / 2.0))
}

fn standard_normal() -> f64 {
    Normal::standard().inverse_cdf((1.0 + CONFIDENCE) / 2.0)
}

/// Ordinary least squares, with intervals by Student's t; at least three points, not all at one x.
#[must_use]
pub fn least_squares(points: &[(f64, f64)]) -> Option<Fit> {
    let points = finite_points(points);
    let freedom = points.len().checked_sub(2).filter(|&n| n > 0)?;
    let moments = Moments::new(&points, |_| 1.0);
    let line = moments.line()?;
    let residual: f64 = points.iter().map(|(x, y)| (y - line.at(*x)).powi(2)).sum();
    moments.fit(line, residual / freedom as f64, student(freedom)?)
}

/// Up to so many points, Theil-Sen looks at every pair of them (some 125,000 slopes); with more, at as many pairs
/// drawn at random from a fixed seed.
const ALL_PAIRS: usize = 500;

/// Theil-Sen: the median of the slopes of all pairs, which up to 29 % of wild points cannot move, with Sen's interval
/// (1968) from the variance of Kendall's statistic. The intercept is the median of y - slope * x; its interval is
/// what the slope's ends make of it, so it is meaningful near the points only.
#[must_use]
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Fit> {
    let points = finite_points(points);
    let n = points.len();
    if n < 3 {
        return None;
    }
    let slopes = sorted(&pair_slopes(&points));
    let slope = quantile_of_sorted(&slopes, 0.5)?;
    // Sen's ranks lie z * sqrt(Var S) / 2 on either side of the middle; here as quantiles of the slopes.
    let variance = n as f64 * (n as f64 - 1.0) * (2.0 * n as f64 + 5.0) / 18.0;
    let pairs = n as f64 * (n as f64 - 1.0) / 2.0;
    let reach = (standard_normal() * variance.sqrt() / (2.0 * pairs)).min(0.5);
    let low = quantile_of_sorted(&slopes, 0.5 - reach)?;
    let high = quantile_of_sorted(&slopes, 0.5 + reach)?;
    let offset = |slope: f64| median(&points.iter().map(|(x, y)| y - slope * x).collect::<Vec<_>>());
    let (value, one, other) = (offset(slope)?, offset(low)?, offset(high)?);
    let line = Line { intercept: value, slope };
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - line.at(*x)).collect();
    Some(Fit {
        // Where slopes are equal, the rounding of the quantiles may put them past one another.
        slope: Estimate { value: slope, low: low.min(slope), high: high.max(slope) },
        intercept: Estimate { value, low: one.min(other).min(value), high: one.max(other).max(value) },
        spread: mad(&residuals)? * MAD_TO_SIGMA,
    })
}

fn pair_slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let n = points.len();
    let slope = |i: usize, j: usize| {
        let (a, b) = (points[i], points[j]);
        let slope = (b.1 - a.1) / (b.0 - a.0);
        slope.is_finite().then_some(slope)
    };
    if n <= ALL_PAIRS {
        return (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .filter_map(|(i, j)| slope(i, j))
            .collect();
    }
    let mut indices = Indices::new(n as u64);
    let mut draw = || (indices.below(n), indices.below(n));
    (0..ALL_PAIRS * (ALL_PAIRS - 1) / 2).map(|_| draw()).filter_map(|(i, j)| slope(i, j)).collect()
}

/// Tukey's constant: 95 % of the efficiency of least squares on normal data.
const BISQUARE: f64 = 4.685;

/// A robust line: Tukey's bisquare weights, reweighted from the Theil-Sen line with the scale of the residuals there
/// (an MM-like estimate: its start decides what an outlier is). Intervals by the asymptotic variance of
/// M-estimates. As exact as least squares on clean data, and as deaf to wild points as Theil-Sen.
#[must_use]
pub fn robust(points: &[(f64, f64)]) -> Option<Fit> {
    let points = finite_points(points);
    let start = theil_sen(&points)?;
    let scale = start.spread;
    let largest = points.iter().map(|(_, y)| y.abs()).fold(0.0, f64::max);
    if scale <= 1e-12 * largest {
        // More than half of the points lie on one line, but for rounding: there is nothing to weigh.
        return Some(start);
    }
    let mut line = start.line();
    let weight = |line: &Line, (x, y): (f64, f64)| {
        let u = (y - line.at(x)) / (BISQUARE * scale);
        if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
    };
    for _ in 0..50 {
        let weights: Vec<f64> = points.iter().map(|&point| weight(&line, point)).collect();
        let Some(next) = Moments::new(&points, |i| weights[i]).line() else { return Some(start) };
        let moved = (next.slope - line.slope).abs();
        line = next;
        if moved <= 1e-12 * line.slope.abs() {
            break;
        }
    }
    let n = points.len() as f64;
    let (mut psi_squared, mut psi_slope, mut inside) = (0.0, 0.0, 0_usize);
    for &(x, y) in &points {
        let u = (y - line.at(x)) / (BISQUARE * scale);
        if u.abs() < 1.0 {
            let r = y - line.at(x);
            psi_squared += (r * (1.0 - u * u).powi(2)).powi(2);
            psi_slope += (1.0 - u * u) * (1.0 - 5.0 * u * u);
            inside += 1;
        }
    }
    let variance = (psi_squared / (n - 2.0)) / (psi_slope / n).powi(2);
    let fit = || {
        let freedom = inside.checked_sub(2).filter(|&n| n > 0)?;
        Moments::new(&points, |_| 1.0).fit(line, variance, student(freedom)?)
    };
    // Where the weights left too few points for an interval, Theil-Sen's stands.
    fit().or(Some(start))
}

#[cfg(test)]
mod tests {
    use super::super::quantile::sorted;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn least_squares_by_hand() {
        // sxx = 10, sxy = 19.9; residuals 0.06, -0.13, 0.18, -0.21, 0.1 with 0.107 as the sum of their squares;
        // Student's t for 3 degrees of freedom is 3.182446.
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
        let fit = least_squares(&points).unwrap();
        assert!((fit.slope.value - 1.99).abs() < 1e-9 && (fit.intercept.value - 0.05).abs() < 1e-9);
        assert!(
            (fit.slope.high - fit.slope.value - 3.182_446 * (0.107 / 3.0 / 10.0_f64).sqrt()).abs() < 1e-5
        );
    }

    #[test]
    fn wild_points_do_not_move_the_robust_lines() {
        let mut points: Vec<(f64, f64)> = (0..60)
            .map(|i| (f64::from(i), 5.0 + 2.0 * f64::from(i) + f64::from(i * 7919 % 13 - 6) * 0.1))
            .collect();
        for i in (0..60).step_by(5) {
            points[i].1 += 1000.0;
        }
        for fit in [theil_sen(&points).unwrap(), robust(&points).unwrap()] {
            assert!((fit.slope.value - 2.0).abs() < 0.01, "{fit:?}");
        }
        let many: Vec<(f64, f64)> = (0..2000).map(|i| (f64::from(i), 3.0 * f64::from(i))).collect();
        assert!((theil_sen(&many).unwrap().slope.value - 3.0).abs() < 1e-9);
    }

    #[test]
    fn too_little_to_say_anything() {
        for fit in [least_squares, theil_sen, robust] {
            assert!(fit(&[]).is_none());
            assert!(fit(&[(0.0, 1.0), (1.0, 2.0)]).is_none());
            assert!(fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]).is_none());
            assert!(fit(&[(f64::NAN, 1.0); 5]).is_none());
        }
    }

    /// 200 samples of 40 points each with near-normal noise (a sum of uniform indices): how many intervals hold.
    #[test]
    fn intervals_hold_as_often_as_they_say() {
        let mut indices = Indices::new(3);
        let mut noise = || (0..12).map(|_| indices.below(1_000_001) as f64 / 1e6).sum::<f64>() - 6.0;
        let mut held = [0; 3];
        for _ in 0..200 {
            let points: Vec<(f64, f64)> =
                (0..40).map(|i| (f64::from(i), 10.0 - 0.3 * f64::from(i) + noise())).collect();
            for (held, fit) in held.iter_mut().zip([least_squares, theil_sen, robust]) {
                *held += usize::from(fit(&points).unwrap().slope.holds(-0.3));
            }
        }
        assert!(held.iter().all(|&held| held >= 180), "{held:?} of 200");
    }

    proptest! {
        #[test]
        fn an_exact_line_comes_back(slope in -1e3..1e3f64, intercept in -1e3..1e3f64,
                                    xs in prop::collection::hash_set(-1000i32..1000, 3..40)) {
            let points: Vec<(f64, f64)> =
                xs.iter().map(|&x| (f64::from(x), intercept + slope * f64::from(x))).collect();
            for fit in [least_squares(&points), theil_sen(&points), robust(&points)] {
                let fit = fit.unwrap();
                prop_assert!((fit.slope.value - slope).abs() < 1e-6 * (1.0 + slope.abs()));
                prop_assert!((fit.intercept.value - intercept).abs() < 1e-4 * (1.0 + slope.abs()));
            }
        }

        #[test]
        fn never_panics_and_ends_are_in_order(points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..40)) {
            for fit in [least_squares(&points), theil_sen(&points), robust(&points)].into_iter().flatten() {
                prop_assert!(fit.slope.low <= fit.slope.value && fit.slope.value <= fit.slope.high);
                let _ = sorted(&[fit.spread]);
            }
        }
    }
}
