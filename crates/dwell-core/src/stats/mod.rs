//! Statistics; nothing here knows networks.
//!
//! Everything takes plain slices, passes over what is not finite, and gives `None` where there is too little to say
//! anything. Nothing panics, whatever it is given. Confidence is 95 % throughout, as in every finding.

pub mod bootstrap;
pub(crate) mod chance;
pub mod change_point;
pub mod histogram;
pub mod hull;
pub mod quantile;
pub(crate) mod share;
pub mod signed_rank;
pub mod slope;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// So many standard errors to each side hold it, where these are normal.
pub const NORMAL: f64 = 1.96;

/// A figure with its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Half the interval's width, the larger side.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }

    /// The same figure with both sides of its interval `factor` times as wide.
    #[must_use]
    pub fn widened(&self, factor: f64) -> Self {
        let (below, above) = (self.value - self.low, self.high - self.value);
        Self { value: self.value, low: self.value - factor * below, high: self.value + factor * above }
    }

    /// Whether the interval holds `truth`.
    #[must_use]
    pub fn holds(&self, truth: f64) -> bool {
        (self.low..=self.high).contains(&truth)
    }
}

/// The points of which both coordinates are finite.
fn finite_points(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// A line y = intercept + slope * x.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Line {
    /// Value at x = 0.
    pub intercept: f64,
    /// Rise per unit of x.
    pub slope: f64,
}

impl Line {
    /// The line's value at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}
