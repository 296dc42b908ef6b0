//! Local modes of measured rates, as `pathrate` finds them (Dovrolis, Ramanathan, Moore, IEEE/ACM ToN 12(6), 2004,
//! and their program, version 2.4.1).
//!
//! The fullest window of one bin's width is the middle of a mode. Its bell goes on to either side for as long as the
//! windows there hold no more than the one before, but for a little noise. What lies in a bell is taken out, and the
//! fullest window of the rest is the next mode. A stretch as wide as a window in which nothing lies ends a bell too: without
//! that, which the program lacks, a bell leaps to a far mode that happens to be as full as its own flank.

use crate::stats::quantile::{mean, sorted};

/// So much more may the next window of a bell hold, as a share of the one before.
const TOLERANCE: f64 = 0.05;

/// Modes that are told at most.
const MOST: usize = 100;

/// One local mode.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Mode {
    /// Lowest value of its fullest window.
    pub low: f64,
    /// Highest value of its fullest window.
    pub high: f64,
    /// Values in that window.
    pub count: usize,
    /// Lowest and highest value of its bell.
    pub bell: (f64, f64),
    /// How narrow the bell is: its fourth moment over the square of its second.
    pub kurtosis: f64,
}

impl Mode {
    /// Its middle.
    #[must_use]
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// The local modes of `values` with windows `width` wide, the fullest first; those that hold no more than `noise` values
/// are none.
#[must_use]
pub fn modes(values: &[f64], width: f64, noise: usize) -> Vec<Mode> {
    let ascending = sorted(values);
    let descending: Vec<f64> = ascending.iter().rev().map(|value| -value).collect();
    let mut free = vec![true; ascending.len()];
    let mut found = Vec::new();
    while found.len() < MOST {
        let Some((first, last)) = fullest(&ascending, &free, width) else { break };
        let count = last - first + 1;
        if count <= noise {
            break;
        }
        let low = bell_end(&ascending, (first, last), width);
        let mirrored = ascending.len() - 1;
        let high = mirrored - bell_end(&descending, (mirrored - last, mirrored - first), width);
        free[low..=high].fill(false);
        let bell = &ascending[low..=high];
        found.push(Mode {
            low: ascending[first],
            high: ascending[last],
            count,
            bell: (ascending[low], ascending[high]),
            kurtosis: kurtosis(bell),
        });
    }
    found
}

/// First and last place of the fullest window of values that are still free.
fn fullest(ascending: &[f64], free: &[bool], width: f64) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    let mut first = 0;
    for last in 0..ascending.len() {
        if !free[last] {
            first = last + 1;
            continue;
        }
        while ascending[last] - ascending[first] > width {
            first += 1;
        }
        if best.is_none_or(|(from, to)| last - first > to - from) {
            best = Some((first, last));
        }
    }
    best
}

/// How far down the bell of the window reaches: the place of its lowest value.
fn bell_end(ascending: &[f64], window: (usize, usize), width: f64) -> usize {
    let (mut first, mut last) = window;
    while first > 0 {
        let from = |end: usize| ascending.partition_point(|value| *value < ascending[end] - width);
        // The fullest of the windows that end a little lower; of several the lowest.
        let near = (first - 1..last).filter(|end| ascending[first] - ascending[*end] <= width);
        let below = near.map(|end| (from(end), end));
        let next = below.rev().max_by_key(|(from, end)| end - from);
        let Some((from, end)) = next else { break };
        let (count, before) = ((end - from + 1) as f64, (last - first + 1) as f64);
        if count >= before * (1.0 + TOLERANCE) {
            break;
        }
        (first, last) = (from, end);
    }
    first
}

/// The kurtosis; of equal values the most that so many can have.
fn kurtosis(values: &[f64]) -> f64 {
    let centre = mean(values).unwrap_or(0.0);
    let moment =
        |power: i32| mean(&values.iter().map(|value| (value - centre).powi(power)).collect::<Vec<_>>());
    match (moment(2), moment(4)) {
        (Some(second), Some(fourth)) if second > 0.0 && fourth.is_finite() => {
            (fourth / second.powi(2)).min(values.len() as f64)
        }
        _ => values.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_bells_are_two_modes() {
        let bell = |middle: f64, count: i32| {
            (0..count).map(move |i| middle + f64::from(i - count / 2).powi(3) / f64::from(count).powi(2))
        };
        let values: Vec<f64> = bell(50.0, 40).chain(bell(100.0, 80)).collect();
        let found = modes(&values, 1.0, 3);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].middle() - 100.0).abs() < 1.0 && (found[1].middle() - 50.0).abs() < 1.0);
        assert!(found[0].bell.0 > 60.0);
    }

    #[test]
    fn noise_is_no_mode() {
        assert!(modes(&[1.0, 10.0, 20.0], 1.0, 1).is_empty());
        assert!(modes(&[], 1.0, 0).is_empty());
    }

    proptest! {
        #[test]
        fn the_first_mode_is_the_fullest_window(
            values in prop::collection::vec(prop_oneof![any::<f64>(), 0.0..100.0f64], 0..60), width in 0.0..20.0f64,
        ) {
            let found = modes(&values, width, 0);
            let kept = sorted(&values);
            let fullest = kept.iter().map(|from| {
                kept.iter().filter(|value| **value >= *from && **value - *from <= width).count()
            }).max().unwrap_or(0);
            prop_assert_eq!(found.first().map_or(0, |mode| mode.count), fullest);
            prop_assert!(found.windows(2).all(|two| two[0].count >= two[1].count));
        }
    }
}
