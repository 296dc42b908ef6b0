//! How many TCP connections fill a path: one more than enough is one too many, so they are doubled while that pays.

use crate::unit::BitRate;

/// Doubling that gains less than this share does not pay.
const PAYS: f64 = 0.05;
/// More than this many together test the hosts, not the path.
const MOST: u32 = 16;

/// The search.
#[derive(Clone, Debug)]
pub struct Fill {
    asked: u32,
    best: Option<(u32, BitRate)>,
    done: bool,
}

impl Default for Fill {
    fn default() -> Self {
        Self { asked: 1, best: None, done: false }
    }
}

impl Fill {
    /// How many connections to try next; `None`: enough is known.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        (!self.done).then_some(self.asked)
    }

    /// What they reached, and whether it was the path that ended it: more connections do nothing for a host that is the
    /// limit.
    pub fn see(&mut self, reached: BitRate, host_is_limit: bool) {
        let pays = self.best.is_none_or(|(_, best)| reached.0 as f64 > best.0 as f64 * (1.0 + PAYS));
        if pays {
            self.best = Some((self.asked, reached));
        }
        self.done = !pays || host_is_limit || self.asked >= MOST;
        self.asked = self.asked.saturating_mul(2);
    }

    /// The fewest that reached what could be reached.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.best.map_or(1, |(connections, _)| connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(rate: impl Fn(u32) -> u64) -> (u32, u32) {
        let (mut fill, mut tried) = (Fill::default(), 0);
        while let Some(connections) = fill.next() {
            tried += 1;
            fill.see(BitRate(rate(connections)), false);
        }
        (fill.connections(), tried)
    }

    #[test]
    fn one_connection_that_fills_the_path_is_enough() {
        assert_eq!(filled(|_| 95_000_000), (1, 2));
        assert_eq!(filled(|n| 95_000_000 + u64::from(n) * 1_000_000), (1, 2));
    }

    #[test]
    fn windows_that_are_too_small_add_up_until_the_path_is_full() {
        assert_eq!(filled(|n| (u64::from(n) * 30).min(100)), (4, 4));
        assert_eq!(filled(u64::from), (MOST, 5));
    }

    #[test]
    fn nothing_is_gained_where_a_host_is_the_limit() {
        let mut fill = Fill::default();
        fill.see(BitRate(1_000), true);
        assert_eq!((fill.next(), fill.connections()), (None, 1));
    }
}
