//! How long packets that come at random wait on the path.

use super::line::Line;
use crate::stats::hull::line_under;
use crate::stats::quantile::mean;

/// The mean wait of single packets, of departure and apparent delay each, above the line under all of them, which is
/// what two clocks make of a delay without a queue; `None` of fewer than three.
pub(super) fn waited(points: &[(f64, f64)]) -> Option<f64> {
    let line = line_under(points)?;
    let waits: Vec<f64> = points.iter().map(|(sent, delay)| delay - line.at(*sent)).collect();
    (points.len() > 2).then(|| mean(&waits)).flatten()
}

/// Waits so many times what the load explains are another link's.
const BEYOND: f64 = 3.0;

/// Nothing is made of waits up to this many nanoseconds: hosts make packets wait as long.
pub(super) const HOST: f64 = 20e3;

/// The longest mean wait that the link of a `line` explains: of a queue whose work grows and shrinks by chance, and has
/// `1 - share` to shrink (Pollaczek and Khinchine's formula), where its packets are as large as ours or as lumpy as the
/// samples show.
/// None of it where another link is known to be loaded. `ours` is the share of the link that the trains themselves take, over all the
/// time they were spread over: what is left of one may still wait when the next comes.
///
/// `cold` is how long the sender's own core is busy with the first of packets that it was given at once, before it comes to the
/// second: a host that needs long for it does so now more and now less.
pub(super) fn allowed(line: &Line, ours: f64, cold: f64, other: bool) -> f64 {
    let host = HOST.max(cold);
    if other {
        return host;
    }
    let lumps = line.noise.max(line.share.value * line.own.value);
    host + BEYOND * lumps / (2.0 * (1.0 - line.share.value - ours).max(1e-2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_what_lies_above_two_clocks() {
        // Half of a thousandth of skew; every third packet waits 90.
        let points: Vec<(f64, f64)> = (0..30)
            .map(|i| (f64::from(i), 7.0 + 5e-4 * f64::from(i) + if i % 3 == 1 { 90.0 } else { 0.0 }))
            .collect();
        assert!((waited(&points).unwrap() - 30.0).abs() < 1e-6);
        assert_eq!(waited(&points[..2]), None);
    }
}
