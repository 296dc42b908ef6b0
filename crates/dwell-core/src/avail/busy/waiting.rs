//! How long packets that come at random wait on the path.

use crate::stats::Line as Straight;
use crate::stats::hull::line_under;
use crate::stats::quantile::{mean, quantile, sorted};
use crate::stream::line::Line;

/// No two clocks go apart faster: a delay that grows by more is a queue's.
const CLOCKS: f64 = 1e-3;

/// The delay without a queue: the line under all packets, of departure and apparent delay each, which is what two clocks make of it.
pub(super) fn unqueued(points: &[(f64, f64)]) -> Option<Straight> {
    let least = || points.iter().map(|(_, delay)| *delay).reduce(f64::min);
    line_under(points)
        .filter(|line| line.slope.abs() < CLOCKS)
        .or_else(|| Some(Straight { intercept: least()?, slope: 0.0 }))
}

/// The mean wait of single packets above that, of which the longest counts as long as the second longest: one that a host held up is no
/// queue. `None` of fewer than three.
pub(super) fn waited(points: &[(f64, f64)]) -> Option<f64> {
    let mut waits = sorted(&waits(points)?);
    if let [.., second, longest] = &mut waits[..] {
        *longest = *second;
    }
    mean(&waits)
}

/// What a quarter of the packets wait, or longer.
pub(super) fn often_waited(points: &[(f64, f64)]) -> Option<f64> {
    quantile(&waits(points)?, 0.75)
}

pub(super) fn waits(points: &[(f64, f64)]) -> Option<Vec<f64>> {
    let line = unqueued(points).filter(|_| points.len() > 2)?;
    Some(points.iter().map(|(sent, delay)| delay - line.at(*sent)).collect())
}

/// Waits so many times what the load explains are another link's.
const BEYOND: f64 = 3.0;

/// No link is taken for loaded by less, where waits are told.
const LEAST: f64 = 0.02;

/// Nothing is made of waits up to this many nanoseconds: hosts make packets wait as long.
pub(super) const HOST: f64 = 20e3;

/// The longest mean wait that the link of a `line` explains: of a queue whose work grows and shrinks by chance, and has
/// `1 - share` to shrink (Pollaczek and Khinchine's formula), where its packets are as large as ours or as lumpy as the
/// samples show.
/// None of it where another link is known to be loaded. `ours` is the share of the link that the trains themselves take, over the
/// pauses between them: what is left of one may still wait when the next comes.
///
/// `cold` is how long the sender's own core is busy with the first of packets that it was given at once, before it comes to the
/// second: a host that needs long for it does so now more and now less.
pub(super) fn allowed(line: &Line, ours: f64, cold: f64, other: bool) -> f64 {
    let host = HOST.max(cold);
    if other {
        return host;
    }
    host + BEYOND * explained(line, line.share.value, ours)
}

/// The mean wait by that formula.
fn explained(line: &Line, share: f64, ours: f64) -> f64 {
    let lumps = line.noise.max(share * line.own.value);
    lumps / (2.0 * (1.0 - share - ours).max(1e-2))
}

/// By how many standard errors `waits` packets waited longer than the load and a host explain. Of packets of one size that
/// come at random the waits have a variance of 1 + 4 (1 - share) / (3 share) times their mean squared.
pub(super) fn longer(line: &Line, share: f64, ours: f64, cold: f64, waited: f64, waits: usize) -> f64 {
    let share = share.max(LEAST);
    let mean = explained(line, share, ours);
    let deviation = mean * (1.0 + 4.0 * (1.0 - share) / (3.0 * share)).sqrt();
    (waited - HOST.max(cold) - mean) / (deviation / (waits as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Estimate;
    use crate::stream::line::Unshown;

    #[test]
    fn waits_are_longer_by_so_many_errors() {
        let of = |value: f64| Estimate { value, low: value, high: value };
        let line = Line {
            own: of(1e5),
            share: of(0.5),
            free: of(0.5e-5),
            noise: 0.0,
            begins: None,
            unshown: Unshown::default(),
        };
        // Half loaded by packets of 100 us: 50 us, with a deviation of 50 sqrt(7 / 3), and 20 us of the host's.
        assert!(longer(&line, 0.5, 0.0, 0.0, 70e3, 25).abs() < 1e-9);
        assert!((longer(&line, 0.5, 0.0, 0.0, 100e3, 25) - 30.0 / 15.275).abs() < 1e-3);
        assert!(longer(&line, 0.5, 0.0, 60e3, 100e3, 25) < 0.0);
    }

    #[test]
    fn waits_are_what_lies_above_two_clocks() {
        // Half of a thousandth of skew; every third packet waits 90.
        let points: Vec<(f64, f64)> = (0..30)
            .map(|i| (f64::from(i), 7.0 + 5e-4 * f64::from(i) + if i % 3 == 1 { 90.0 } else { 0.0 }))
            .collect();
        assert!((waited(&points).unwrap() - 30.0).abs() < 1e-6);
        // One that a host held up counts as one of them.
        let held = |(sent, delay): (f64, f64)| (sent, if sent == 4.0 { delay + 5e6 } else { delay });
        assert!((waited(&points.iter().copied().map(held).collect::<Vec<_>>()).unwrap() - 30.0).abs() < 1e-6);
        assert!((often_waited(&points).unwrap() - 90.0).abs() < 1e-6);
        assert_eq!(waited(&points[..2]), None);
    }
}
