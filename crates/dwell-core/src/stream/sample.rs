//! The mean spacing of one train.

use super::Passed;
use crate::stats::quantile::{mean, standard_deviation};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Mean spacing of one train, nanoseconds a packet.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// As it was sent.
    pub(crate) input: f64,
    /// As it came.
    pub(crate) output: f64,
    /// Gaps of which these are the means.
    pub(crate) gaps: f64,
    /// How far the output may be off because packets were read in batches.
    pub(crate) blur: f64,
    /// Variance of the mean gap as it came, if its gaps had nothing to do with each other.
    pub(crate) scatter: f64,
}

/// Packets nearer to each other than this share of the mean were read in one batch.
const TOGETHER: f64 = 0.25;

impl Sample {
    /// Of the gaps of a train's packets that `busy` says count (one for each gap); `None` where too few do to tell how they
    /// scatter, or no time passed.
    pub(crate) fn of(passed: &[Passed], busy: &[bool]) -> Option<Self> {
        let span = |from: usize, to: usize| {
            (passed[to].sent - passed[from].sent, passed[to].came - passed[from].came)
        };
        let counting = || (0..passed.len().saturating_sub(1)).filter(|gap| busy[*gap]);
        let (sent, came) = counting()
            .map(|gap| span(gap, gap + 1))
            .fold((0.0, 0.0), |sum, gap| (sum.0 + gap.0, sum.1 + gap.1));
        // By how one gap differs from the next: what comes and goes for longer than that is not their scatter.
        let steps = || counting().filter(|gap| *gap > 0 && busy[gap - 1]);
        let step = |gap: usize| passed[gap + 1].came - 2.0 * passed[gap].came + passed[gap - 1].came;
        let (count, stepped) = (counting().count(), steps().count());
        let whole = count + 1 == passed.len();
        if count == 0 || came <= 0.0 || (stepped == 0 && !whole) {
            return None;
        }
        let gaps = count as f64;
        let scatter =
            steps().map(|gap| step(gap).powi(2)).sum::<f64>() / 2.0 / (stepped.max(1) as f64) / gaps;
        Some(Self { input: (sent / gaps).max(1.0), output: came / gaps, gaps, blur: 0.0, scatter })
    }

    /// Of the packets of a train that come in batches of the receiver's; `None` of fewer than three batches.
    ///
    /// The last packet of a batch came right before it was read, whichever way a NIC coalesces, but for the train's last
    /// batch, which waits for packets that do not come: the time between the last packets of two other batches is off by
    /// a gap at most.
    pub(crate) fn of_batches(passed: &[Passed]) -> Option<Self> {
        let [first, .., last] = passed else { return None };
        let together = TOGETHER * (last.came - first.came) / (passed.len() - 1) as f64;
        let mut ends =
            (1..passed.len()).filter(|i| passed[*i].came - passed[i - 1].came > together).map(|i| i - 1);
        let from = ends.next()?;
        let to = ends.next_back()?;
        let between = &passed[from..=to];
        let sample = Self::of(between, &vec![true; between.len()])?;
        Some(Self { blur: sample.output / sample.gaps, ..sample })
    }
}

/// All packets were read at once.
pub(crate) fn at_once(passed: &[Passed]) -> bool {
    passed.iter().all(|packet| packet.came == 0.0)
}

/// So many times the scatter of single gaps, and more than what so few trains differ by in this share of looks: what lies beyond is of
/// traffic that comes and goes for longer than a train.
const BURSTY: f64 = 3.0;
const BY_CHANCE: f64 = 0.9995;

/// Slower trains must have met so much more load, as a share of the link and in standard errors of their single gaps, before
/// it is worth a look.
const MORE: f64 = 0.05;
const ERRORS: f64 = 1.5;

/// Whether trains kept the link busy: at the mean they came further apart than they were sent.
pub(crate) fn busy(samples: &[Sample]) -> bool {
    samples.iter().map(|sample| sample.output - sample.input).sum::<f64>() > 0.0
}

/// How much more load `slower` trains met than those at the pace, on a link that takes `own` a packet, and the standard error of
/// that. Of traffic that holds still they never meet more: the more packets come at once, the more every loaded link parts them.
fn more(slower: &[Sample], paced: &[Sample], own: f64) -> Option<(f64, f64)> {
    let load = |samples: &[Sample]| {
        let loads: Vec<f64> = samples.iter().map(|sample| (sample.output - own) / sample.input).collect();
        let scatter: Vec<f64> = samples.iter().map(|sample| sample.scatter / sample.input.powi(2)).collect();
        Some((mean(&loads)?, mean(&scatter)? / samples.len() as f64))
    };
    let ((more, doubt), (less, other)) = (load(slower)?, load(paced)?);
    Some((more - less, (doubt + other).sqrt()))
}

/// Whether they met so much more.
pub(crate) fn heavier(slower: &[Sample], paced: &[Sample], own: f64) -> bool {
    more(slower, paced, own).is_some_and(|(more, error)| more > MORE.max(ERRORS * error))
}

/// By how many standard errors they met more.
pub(crate) fn surplus(slower: &[Sample], paced: &[Sample], own: f64) -> Option<f64> {
    more(slower, paced, own).filter(|(_, error)| *error > 0.0).map(|(more, error)| more / error)
}

/// Whether trains of one spacing differ by more than their single gaps do, over all spacings.
pub(crate) fn differ<'a>(spacings: impl IntoIterator<Item = &'a [Sample]>) -> bool {
    let (mut between, mut within, mut all) = (0.0, 0.0, 0.0);
    for samples in spacings {
        let outputs: Vec<f64> = samples.iter().map(|sample| sample.output).collect();
        let scatter: Vec<f64> = samples.iter().map(|sample| sample.scatter).collect();
        let (Some(apart), Some(scatter)) = (standard_deviation(&outputs), mean(&scatter)) else { continue };
        let freedom = (samples.len() - 1) as f64;
        between += samples.len() as f64 * apart.powi(2);
        within += freedom * scatter;
        all += freedom;
    }
    between > by_chance(all).max(BURSTY) * within
}

/// What the variance of so many, less one a group, is at most over what it should be.
fn by_chance(freedom: f64) -> f64 {
    ChiSquared::new(freedom).map_or(f64::INFINITY, |squares| squares.inverse_cdf(BY_CHANCE) / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(stamps: &[f64]) -> Vec<Passed> {
        let passed = |(i, came): (usize, &f64)| Passed { number: i, sent: 10.0 * i as f64, came: *came };
        stamps.iter().enumerate().map(passed).collect()
    }

    fn met(own: f64, load: f64, input: f64) -> Sample {
        Sample { input, output: own + load * input, gaps: 15.0, blur: 0.0, scatter: 100.0 }
    }

    #[test]
    fn slower_trains_never_meet_more_of_what_holds_still() {
        let (own, paced) = (120.0, [met(120.0, 0.3, 100.0); 3]);
        assert!(!heavier(&[met(own, 0.34, 150.0); 3], &paced, own));
        assert!(heavier(&[met(own, 0.9, 150.0); 3], &paced, own));
        assert!(!heavier(&[met(own, 0.1, 150.0); 3], &paced, own));
        assert!(!heavier(&[met(own, 0.9, 150.0)], &[], own));
    }

    #[test]
    fn two_trains_differ_by_more_than_many_by_chance() {
        assert!((by_chance(1.0) - 12.12).abs() < 0.01 && by_chance(30.0) < BURSTY, "{}", by_chance(1.0));
        // Their gaps have a scatter of 100, and so have these trains at the mean where they are 14 apart.
        let two = |apart: f64| [met(120.0, 0.0, 100.0), met(120.0 + apart, 0.0, 100.0)];
        assert!(differ([two(60.0).as_slice()]) && !differ([two(45.0).as_slice()]));
        assert!(differ([two(30.0).as_slice(); 8]) && !differ([two(20.0).as_slice(); 8]));
    }

    #[test]
    fn a_link_is_busy_while_trains_grow() {
        assert!(busy(&[met(120.0, 0.5, 200.0); 2]) && !busy(&[met(120.0, 0.5, 300.0); 2]) && !busy(&[]));
    }

    #[test]
    fn gaps_that_do_not_count_are_left_out() {
        let passed = train(&[0.0, 12.0, 24.0, 90.0, 102.0, 116.0]);
        let busy = [true, true, false, true, true];
        let sample = Sample::of(&passed, &busy).unwrap();
        assert_eq!((sample.input, sample.output, sample.gaps), (10.0, 12.5, 4.0));
        // Steps of 0 and 2.
        assert_eq!(sample.scatter, (0.0 + 4.0) / 2.0 / 2.0 / 4.0);
        assert_eq!(Sample::of(&passed, &[true, false, true, false, true]), None);
        assert_eq!(Sample::of(&passed[..2], &[true]).unwrap().gaps, 1.0);
    }

    #[test]
    fn batches_are_taken_end_to_end() {
        // Packets every 12, read every 30 or so; the last waits.
        let stamps = [30.0, 30.0, 60.0, 60.0, 60.0, 90.0, 90.0, 120.0].map(|came| came - 30.0);
        let sample = Sample::of_batches(&train(&stamps)).unwrap();
        assert_eq!((sample.input, sample.output, sample.gaps), (10.0, 12.0, 5.0));
        assert_eq!(Sample::of_batches(&train(&stamps[..4])), None);
        assert_eq!(Sample::of(&train(&stamps), &[true; 7]).unwrap().gaps, 7.0);
    }
}
