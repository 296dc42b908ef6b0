//! How findings fare against the truth.

use crate::report::Finding;
use crate::stats::quantile::{median, quantile};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What kind of answer a finding is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A value with its interval.
    Value,
    /// A bound.
    Bound,
    /// None.
    Unmeasurable,
}

impl From<&Finding> for Verdict {
    fn from(finding: &Finding) -> Self {
        match finding {
            Finding::Value { .. } => Self::Value,
            Finding::Bound { .. } => Self::Bound,
            Finding::Unmeasurable { .. } => Self::Unmeasurable,
        }
    }
}

/// A finding beside the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What was so, where it is known.
    pub truth: Option<f64>,
    /// What was found.
    pub finding: Finding,
}

impl Judgement {
    /// Estimate minus truth, where there are both.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.finding.estimate()? - self.truth?)
    }

    /// The same as a share of the truth.
    #[must_use]
    pub fn relative_error(&self) -> Option<f64> {
        let truth = self.truth.filter(|truth| *truth != 0.0)?;
        Some(self.error()? / truth.abs())
    }
}

/// How a method fared over several runs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Runs.
    pub runs: usize,
    /// Runs that gave a value.
    pub values: usize,
    /// Runs that gave a bound.
    pub bounds: usize,
    /// Median of the true figures.
    pub truth: Option<f64>,
    /// Median of the size of the error.
    pub median_error: Option<f64>,
    /// Median of the size of the error as a share of the truth.
    pub median_relative_error: Option<f64>,
    /// What nineteen of twenty errors stay below.
    pub p95_error: Option<f64>,
    /// The same as a share of the truth.
    pub p95_relative_error: Option<f64>,
    /// The largest error as a share of the truth, with its sign.
    pub worst_relative_error: Option<f64>,
    /// Share of the values whose interval holds the truth; of answers from a list, the share that is right.
    pub coverage: Option<f64>,
    /// Share of the bounds that hold.
    pub bounds_hold: Option<f64>,
}

impl Score {
    /// Of these runs.
    #[must_use]
    pub fn of<'a>(judgements: impl IntoIterator<Item = &'a Judgement>) -> Self {
        let judgements: Vec<&Judgement> = judgements.into_iter().collect();
        let of = |verdict| judgements.iter().filter(move |j| Verdict::from(&j.finding) == verdict);
        let errors: Vec<f64> = judgements.iter().filter_map(|j| j.error()).map(f64::abs).collect();
        let relative: Vec<f64> = judgements.iter().filter_map(|j| j.relative_error()).collect();
        let sizes: Vec<f64> = relative.iter().copied().map(f64::abs).collect();
        let truths: Vec<f64> = judgements.iter().filter_map(|j| j.truth).collect();
        let held = |verdict| {
            let answers: Vec<bool> = of(verdict).filter_map(|j| j.finding.holds(j.truth?)).collect();
            let yes = answers.iter().filter(|answer| **answer).count();
            (!answers.is_empty()).then(|| yes as f64 / answers.len() as f64)
        };
        Self {
            runs: judgements.len(),
            values: of(Verdict::Value).count(),
            bounds: of(Verdict::Bound).count(),
            truth: median(&truths),
            median_error: median(&errors),
            median_relative_error: median(&sizes),
            p95_error: quantile(&errors, 0.95),
            p95_relative_error: quantile(&sizes, 0.95),
            worst_relative_error: relative.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())),
            coverage: held(Verdict::Value),
            bounds_hold: held(Verdict::Bound),
        }
    }
}

/// The mean of several runs' averages with its interval, as papers/000 draws it in Figures 9 and 10.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct MeanInterval {
    /// Averages that it is the mean of.
    pub runs: usize,
    /// Their mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The mean of `averages` with its interval by Student's t, `confidence` being 0.98 in papers/000; `None` for fewer
/// than two.
#[must_use]
pub fn mean_interval(averages: &[f64], confidence: f64) -> Option<MeanInterval> {
    let n = averages.len() as f64;
    let freedom = n - 1.0;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let mean = averages.iter().sum::<f64>() / n;
    let variance = averages.iter().map(|average| (average - mean).powi(2)).sum::<f64>() / freedom;
    let half = student.inverse_cdf((1.0 + confidence) / 2.0) * (variance / n).sqrt();
    Some(MeanInterval { runs: averages.len(), mean, low: mean - half, high: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unit;

    #[test]
    fn a_score_counts_what_it_says() {
        let judge = |finding| Judgement { truth: Some(100.0), finding };
        let runs = [
            judge(Finding::nanos(102.0, 95.0, 105.0)),
            judge(Finding::nanos(90.0, 88.0, 92.0)),
            judge(Finding::at_most(120.0, Unit::Ns, "dispersion")),
            judge(Finding::unmeasurable("all lost")),
        ];
        let score = Score::of(&runs);
        assert_eq!((score.runs, score.values, score.bounds), (4, 2, 1));
        assert_eq!(score.median_error, Some(6.0));
        assert_eq!(score.worst_relative_error, Some(-0.1));
        assert_eq!((score.coverage, score.bounds_hold), (Some(0.5), Some(1.0)));
        assert_eq!(Score::of(&[]), Score::default());
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        // t at 99 % with 9 degrees of freedom is 2.821.
        let averages: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = mean_interval(&averages, 0.98).unwrap();
        assert_eq!((found.runs, found.mean), (10, 5.5));
        let half = 2.821_438 * (55.0f64 / 6.0).sqrt() / 10f64.sqrt();
        assert!((found.high - 5.5 - half).abs() < 1e-4 && (5.5 - found.low - half).abs() < 1e-4, "{found:?}");
        assert_eq!(mean_interval(&[5.0], 0.98), None);
    }
}
