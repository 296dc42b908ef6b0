//! Whether a link sets the pace, or a host that takes the same time for every packet: told by packets of two sizes.

use crate::stats::quantile::{quantile_of_sorted, sorted};
use crate::unit::Bytes;
use std::collections::BTreeMap;

/// Packets that are so many times as large take longer on a link, by most of that; so many gaps of each are compared.
const LARGER: f64 = 1.3;
const NO_LESS: f64 = 0.9;
const GAPS: usize = 20;

/// How far apart packets came that were sent back to back, nanoseconds, by their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct BySize(BTreeMap<Bytes, Vec<f64>>);

impl BySize {
    /// One came so long after the one before it.
    pub(crate) fn see(&mut self, size: Bytes, came: f64) {
        self.0.entry(size).or_default().push(came);
    }

    /// Whether packets back to back come as far apart whatever their size.
    pub(crate) fn is_of_hosts(&self) -> bool {
        let mut told = self.0.iter().filter(|(_, gaps)| gaps.len() >= GAPS);
        // What waited for others' packets is longer; the least times are the packets' own.
        let least = |(size, gaps): (&Bytes, &Vec<f64>)| {
            Some((size.0 as f64, quantile_of_sorted(&sorted(gaps), 0.1)?))
        };
        match (told.next().and_then(least), told.next_back().and_then(least)) {
            (Some((small, shorter)), Some((large, longer))) => {
                large >= small * LARGER && longer > 0.0 && shorter >= longer * NO_LESS
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(gap: impl Fn(u64) -> f64, count: usize) -> BySize {
        let mut seen = BySize::default();
        for size in [763, 1_526] {
            (0..count).for_each(|number| seen.see(Bytes(size), gap(size) + (number % 7) as f64));
        }
        seen
    }

    #[test]
    fn a_link_takes_longer_for_larger_packets_and_a_host_does_not() {
        assert!(!seen(|size| size as f64 * 80.0, 30).is_of_hosts());
        assert!(seen(|_| 200e3, 30).is_of_hosts());
        // Of a few nothing is said, nor of one size, nor where packets are handed over at once.
        assert!(!seen(|_| 200e3, 19).is_of_hosts() && !seen(|_| 0.0, 30).is_of_hosts());
        let mut one = BySize::default();
        (0..30).for_each(|_| one.see(Bytes(90), 200e3));
        assert!(!one.is_of_hosts());
    }
}
