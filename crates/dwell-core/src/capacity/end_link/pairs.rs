//! Compound probes of several heading and trailing sizes: the gap that each pair of sizes keeps when nothing else is
//! in the way.

use super::PairSizes;
use crate::report::Vantage;
use crate::stats::bootstrap::small_sample_factor;
use crate::stats::quantile::{densest, mean, median, sorted, standard_deviation};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// One probe's gap by application stamps and by capture stamps, with the number of its train.
type Gap = (u32, Option<f64>, Option<f64>);

/// The gaps of each pair of sizes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    gaps: BTreeMap<PairSizes, Vec<Gap>>,
    trains: u32,
}

/// The gap of undisturbed probes, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Floor {
    pub(super) gap: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// Whether the same gap came again and again, so that jitter hides nothing.
    pub(super) repeats: bool,
    /// Standard deviation of one probe.
    scatter: f64,
    /// Probes that showed it.
    count: usize,
}

/// Fewer undisturbed probes than this tell no gap.
const LEAST: usize = 3;

impl Pairs {
    /// Keeps a train of such pairs, by what each shows at either vantage.
    pub(super) fn see(&mut self, sizes: PairSizes, gaps: impl Iterator<Item = [Option<f64>; 2]>) {
        self.trains += 1;
        let gaps = gaps.map(|[application, capture]| (self.trains, application, capture));
        self.gaps.entry(sizes).or_default().extend(gaps);
    }

    fn gaps(&self, sizes: PairSizes, vantage: Vantage) -> Vec<(u32, f64)> {
        let read = |&(train, application, capture): &Gap| {
            let gap = match vantage {
                Vantage::Application => application,
                Vantage::Capture => capture,
            };
            Some((train, gap?))
        };
        self.gaps.get(&sizes).map_or(Vec::new(), |gaps| gaps.iter().filter_map(read).collect())
    }

    /// The typical gap of a pair of sizes.
    pub(super) fn typical(&self, sizes: PairSizes, vantage: Vantage) -> Option<f64> {
        median(&self.gaps(sizes, vantage).iter().map(|(_, gap)| *gap).collect::<Vec<_>>())
    }

    /// The gap that each of these pairs of sizes keeps where cross traffic spared it; those are left out of which too few
    /// probes show it. A few probes may agree by accident; what they scatter by is the host's, the same for all sizes.
    pub(super) fn floors(
        &self,
        sizes: impl IntoIterator<Item = PairSizes>,
        vantage: Vantage,
        tick: Nanos,
    ) -> BTreeMap<PairSizes, Floor> {
        let floor = |sizes| Some((sizes, floor(&self.gaps(sizes, vantage), tick.as_f64().max(1.0))?));
        let mut floors: BTreeMap<PairSizes, Floor> = sizes.into_iter().filter_map(floor).collect();
        let common = median(&floors.values().map(|floor| floor.scatter).collect::<Vec<_>>()).unwrap_or(0.0);
        for floor in floors.values_mut() {
            floor.error = floor.error.max(common / (floor.count as f64).sqrt());
        }
        floors
    }
}

/// The lowest gaps that agree, and what their mean may be off.
///
/// Stamps without jitter of their own show the same gap again and again, over two readings next to each other where the
/// clock's tick spreads it; an eighth of the gaps there is no accident. Otherwise what lies around the densest half of
/// them, four times as far as that half reaches: 2.7 standard deviations, were they normal.
fn floor(seen: &[(u32, f64)], tick: f64) -> Option<Floor> {
    let gaps = sorted(&seen.iter().map(|(_, gap)| *gap).collect::<Vec<_>>());
    let share = gaps.len().div_ceil(8).max(LEAST);
    // Half a tick more, for the rounding of a skewed clock.
    let again = gaps.windows(share).find(|same| same[share - 1] - same[0] <= 1.5 * tick).map(|same| same[0]);
    let within =
        |low: f64, ticks: f64| gaps.iter().filter(|gap| (low..=low + ticks * tick).contains(*gap)).count();
    // A third reading would be jitter's.
    let again = again.filter(|low| within(*low, 2.5) * 4 <= within(*low, 1.5) * 5);
    let limits = match again {
        Some(low) => low..=low + 1.5 * tick,
        None => {
            let dense = densest(&gaps, 0.5 + (gaps.len() as f64).recip())?;
            let (low, high) = (*dense.first()?, *dense.last()?);
            let reach = 2.0 * (high - low) + tick;
            low.midpoint(high) - reach..=low.midpoint(high) + reach
        }
    };
    let kept: Vec<(u32, f64)> = seen.iter().filter(|(_, gap)| limits.contains(gap)).copied().collect();
    if kept.len() < LEAST {
        return None;
    }
    let gaps: Vec<f64> = kept.iter().map(|(_, gap)| *gap).collect();
    let gap = mean(&gaps)?;
    // What a reading may be off although all of them agree.
    let count = kept.len();
    let scatter = standard_deviation(&gaps)? * small_sample_factor(count);
    let each = scatter.powi(2) + tick * tick / 12.0;
    // A train's probes come at a steady pace, which a few ticks may divide: then they are off together.
    let mut trains: BTreeMap<u32, f64> = BTreeMap::new();
    kept.iter().for_each(|(train, one)| *trains.entry(*train).or_default() += one - gap);
    let together: f64 = trains.values().map(|off| off * off).sum::<f64>() / (count as f64).powi(2);
    let fewest = (tick * SAME_PHASE).powi(2) / trains.len() as f64;
    let error = (each / count as f64 + fewest).max(together).sqrt();
    Some(Floor { gap, error, repeats: again.is_some(), scatter, count })
}

/// What the mean of a train may be off because its probes meet the clock's ticks in the same few phases, as a share of
/// the tick.
const SAME_PHASE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Three in each train.
    fn trains(gaps: impl Iterator<Item = f64>) -> Vec<(u32, f64)> {
        gaps.zip(0..).map(|(gap, i)| (i / 3, gap)).collect()
    }

    #[test]
    fn a_coarse_clock_spreads_a_gap_over_two_readings() {
        // 3.4 us, and two probes that something got in between.
        let gaps = (0..50).map(|i| if i % 5 < 2 { 4e3 } else { 3e3 }).chain([9e3, 14e3]);
        let floor = floor(&trains(gaps), 1e3).unwrap();
        assert!((floor.gap - 3.4e3).abs() < 1e-6, "{floor:?}");
        assert!((60.0..110.0).contains(&floor.error), "{floor:?}");
    }

    #[test]
    fn probes_that_meet_the_same_phase_count_once() {
        let gaps = (0..60).map(|i| if i < 30 { 4e3 } else { 3e3 });
        let together: Vec<(u32, f64)> = gaps.zip(0..).map(|(gap, i)| (i / 30, gap)).collect();
        let floor = floor(&together, 1e3).unwrap();
        assert!(floor.error > 300.0, "{floor:?}");
    }

    #[test]
    fn disturbed_gaps_do_not_count() {
        // Three in four, though they are more often a packet's time longer.
        let gaps = (0..40).map(|i| if i % 4 == 0 { 5e3 } else { 5e3 + 700.0 * f64::from(i % 4) });
        let floor = floor(&trains(gaps), 1.0).unwrap();
        assert!((floor.gap - 5e3).abs() < 1.0, "{floor:?}");
    }

    #[test]
    fn a_stamp_with_jitter_shows_the_densest_part() {
        let gaps = (0..60)
            .map(|i| 5e3 + f64::from((i * 37) % 60 - 30) * 8.0)
            .chain((1..9).map(|i| 5e3 * f64::from(i)));
        let floor = floor(&trains(gaps), 1.0).unwrap();
        assert!((floor.gap - 5e3).abs() < 100.0, "{floor:?}");
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(floor(&[], 1.0), None);
        assert_eq!(floor(&[(0, 1.0), (1, 1.0)], 1.0), None);
        assert_eq!(floor(&[(0, f64::NAN); 5], 1.0), None);
    }
}
