//! Which section is to blame.

use super::{Course, Summary};
use crate::unit::Nanos;

/// The section that makes a path slow, with the figures that say so.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Blame {
    /// Which, in the order that they were given in.
    pub section: usize,
    /// Its median.
    pub median: Nanos,
    /// The medians of all sections together.
    pub all_medians: Nanos,
    /// Its spread, from the median to what 95 % do not exceed.
    pub spread: Nanos,
    /// The spreads of all sections together.
    pub all_spreads: Nanos,
    /// Its median of late, and its normal one, where there was time enough to know.
    pub now_and_normal: Option<(Nanos, Nanos)>,
}

impl Blame {
    /// Of these sections, which are those of a whole path. The blame is that of the one whose 95 % reach farthest: its
    /// median and its spread together. `None` while a section is without a figure or has a median below zero (then the
    /// places contradict each other, and no share means anything), or no time passes on any.
    #[must_use]
    pub fn among(sections: &[(&Summary, &Course)]) -> Option<Self> {
        let figures: Vec<(Nanos, Nanos)> = sections
            .iter()
            .map(|(summary, _)| {
                let median = summary.rtt.quantile(0.5)?;
                Some((median, summary.rtt.quantile(0.95)? - median))
            })
            .collect::<Option<_>>()?;
        if figures.iter().any(|(median, _)| *median < Nanos::ZERO) {
            return None;
        }
        let (section, (median, spread)) =
            figures.iter().copied().enumerate().max_by_key(|(_, (median, spread))| *median + *spread)?;
        if median + spread <= Nanos::ZERO {
            return None;
        }
        Some(Self {
            section,
            median,
            all_medians: figures.iter().fold(Nanos::ZERO, |sum, (median, _)| sum + *median),
            spread,
            all_spreads: figures.iter().fold(Nanos::ZERO, |sum, (_, spread)| sum + *spread),
            now_and_normal: sections[section].1.now_and_normal(),
        })
    }

    /// Its share of the medians of all; `None` where all are zero: most took no time that the stamps resolve.
    #[must_use]
    pub fn median_share(&self) -> Option<f64> {
        (self.all_medians > Nanos::ZERO).then(|| self.median.as_f64() / self.all_medians.as_f64())
    }

    /// Its share of the spreads of all; `None` where nothing spreads.
    #[must_use]
    pub fn spread_share(&self) -> Option<f64> {
        (self.all_spreads > Nanos::ZERO).then(|| self.spread.as_f64() / self.all_spreads.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::{Blame, Course, Nanos, Summary};

    fn of(times: &[i64]) -> Summary {
        let mut summary = Summary::default();
        times.iter().for_each(|time| summary.rtt.add(Nanos(*time)));
        summary
    }

    #[test]
    fn the_section_that_reaches_farthest_is_to_blame() {
        let course = Course::default();
        let (steady, jumpy) = (of(&[500; 20]), of(&[100, 100, 100, 100, 100, 100, 100, 900, 900, 900]));
        let blame = Blame::among(&[(&steady, &course), (&jumpy, &course)]).expect("a blame");
        assert_eq!((blame.section, blame.median, blame.spread), (1, Nanos(100), Nanos(800)));
        assert!(blame.median_share().is_some_and(|share| (share - 100.0 / 600.0).abs() < 1e-9));
        assert_eq!(blame.spread_share(), Some(1.0));
        let sudden = of(&[0, 0, 0, 0, 0, 0, 0, 0, 900, 900]);
        let blame = Blame::among(&[(&sudden, &course)]).expect("a blame");
        assert_eq!((blame.median_share(), blame.spread_share()), (None, Some(1.0)));
        assert_eq!(Blame::among(&[(&steady, &course), (&of(&[-100; 20]), &course)]), None);
        assert_eq!(Blame::among(&[(&steady, &course), (&of(&[]), &course)]), None);
    }
}
