//! Which section is to blame.

use super::{Course, Summary};
use crate::unit::Nanos;

/// How far 95 % of a section's times reach.
const REACH: f64 = 0.95;

/// The longest reach is so many times the next, or the section does not stand out: what differs less is not worth a
/// name, however sure it is.
const APART: f64 = 1.25;

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

/// Why no section is to blame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NoBlame {
    /// This one is without a figure.
    Unmeasured(usize),
    /// This one has a median below zero: the places contradict each other.
    Negative(usize),
    /// No time passes on any.
    NoTime,
    /// This one has so few times that they do not tell how far 95 % reach.
    TooFew(usize, u64),
    /// These two reach farthest, and either may be the one that does.
    Alike(Reach, Reach),
    /// The first of these reaches farther than the second, and not by a quarter.
    Close(Reach, Reach),
}

/// How far 95 % of a section's times reach.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Which, in the order that they were given in.
    pub section: usize,
    /// So far.
    pub value: Nanos,
    /// No farther than this, or nearer, in 95 % of such samples.
    pub interval: [Nanos; 2],
}

impl Blame {
    /// Of these sections, which are those of a whole path. The blame is that of the one whose 95 % reach farthest, which
    /// is its median and its spread together; where that is certain, and by a quarter of the next one's at least.
    ///
    /// # Errors
    /// Why none stands out.
    pub fn among(sections: &[(&Summary, &Course)]) -> Result<Self, NoBlame> {
        let each = || sections.iter().map(|(summary, _)| &summary.rtt).enumerate();
        let mut medians = Vec::with_capacity(sections.len());
        for (section, times) in each() {
            medians.push(times.quantile(0.5).ok_or(NoBlame::Unmeasured(section))?);
        }
        if let Some(section) = medians.iter().position(|median| *median < Nanos::ZERO) {
            return Err(NoBlame::Negative(section));
        }
        let mut reaches = Vec::with_capacity(sections.len());
        for (section, times) in each() {
            let value = times.quantile(REACH).ok_or(NoBlame::Unmeasured(section))?;
            let interval = times.interval(REACH).ok_or(NoBlame::TooFew(section, times.count()))?;
            reaches.push(Reach { section, value, interval });
        }
        let spreads: Nanos = reaches.iter().zip(&medians).map(|(reach, median)| reach.value - *median).sum();
        reaches.sort_by_key(|reach| std::cmp::Reverse(reach.value));
        let Some((most, others)) = reaches.split_first().filter(|(most, _)| most.value > Nanos::ZERO) else {
            return Err(NoBlame::NoTime);
        };
        if let Some(other) = others.iter().max_by_key(|other| other.interval[1])
            && most.interval[0] <= other.interval[1]
        {
            return Err(NoBlame::Alike(*most, *other));
        }
        if let Some(next) = others.first().filter(|next| most.value.as_f64() < APART * next.value.as_f64()) {
            return Err(NoBlame::Close(*most, *next));
        }
        let (section, median) = (most.section, medians[most.section]);
        Ok(Self {
            section,
            median,
            all_medians: medians.iter().copied().sum(),
            spread: most.value - median,
            all_spreads: spreads,
            now_and_normal: sections[section].1.now_and_normal(),
        })
    }

    /// Its share of the medians of all; `None` where all are nothing.
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
#[path = "blame_tests.rs"]
mod tests;
