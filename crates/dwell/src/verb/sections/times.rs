//! The round trips of a group: a list while they are few, a histogram once they are many.

use dwell_core::Nanos;
use dwell_core::inside::Differences;

/// So many are kept as they are: such a list takes 16 KiB, half of what an empty histogram of differences does.
const FEW: usize = 2_048;

/// The round trips of a group.
pub(super) enum Times {
    Few(Vec<Nanos>),
    Many(Box<Differences>),
}

impl Default for Times {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Times {
    pub(super) fn add(&mut self, time: Nanos) {
        match self {
            Self::Few(all) if all.len() < FEW => all.push(time),
            Self::Few(all) => {
                let mut many = Box::<Differences>::default();
                all.drain(..).chain([time]).for_each(|time| many.add(time));
                *self = Self::Many(many);
            }
            Self::Many(all) => all.add(time),
        }
    }

    /// Adds all of another's.
    pub(super) fn merge(&mut self, mut other: Self) {
        // The fewer go to the more.
        if self.count() < other.count() {
            std::mem::swap(self, &mut other);
        }
        match (self, other) {
            (this, Self::Few(all)) => all.into_iter().for_each(|time| this.add(time)),
            (Self::Many(this), Self::Many(all)) => this.merge(&all),
            // More than FEW are no list.
            (Self::Few(_), Self::Many(_)) => {}
        }
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Few(all) => all.len() as u64,
            Self::Many(all) => all.count(),
        }
    }

    /// The quantiles of these shares; each `None` of no round trips.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<Nanos>; N] {
        match self {
            Self::Few(all) => {
                let mut all = all.clone();
                all.sort_unstable();
                shares.map(|share| all.get(((share * all.len() as f64).ceil() as usize).max(1) - 1).copied())
            }
            Self::Many(all) => shares.map(|share| all.quantile(share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.95, 1.0];

    /// So many from -2,000 us on, 7 us from one to the next.
    fn of(count: usize) -> Times {
        let mut times = Times::default();
        (0..count as i64).rev().for_each(|n| times.add(Nanos(n * 7_000 - 2_000_000)));
        times
    }

    #[test]
    fn a_list_and_a_histogram_tell_the_same() {
        assert_eq!(Times::default().quantiles(SHARES), [None; 5]);
        for count in [1, 2, 100, FEW, FEW + 1, 3 * FEW] {
            let times = of(count);
            assert_eq!((times.count(), matches!(times, Times::Few(_))), (count as u64, count <= FEW));
            let mut all = Differences::default();
            (0..count as i64).for_each(|n| all.add(Nanos(n * 7_000 - 2_000_000)));
            for (told, share) in times.quantiles(SHARES).into_iter().zip(SHARES) {
                let [told, same] = [told, all.quantile(share)].map(|time| time.unwrap().as_f64());
                assert!((told - same).abs() <= same.abs() * 1e-3, "{count}, {share}: {told} for {same}");
            }
        }
    }

    #[test]
    fn none_is_lost_where_groups_become_one() {
        for counts in [[0, 5], [5, 0], [FEW - 1, 2], [2, 2 * FEW], [2 * FEW, 2], [2 * FEW, 3 * FEW]] {
            let [mut one, other] = counts.map(of);
            one.merge(other);
            assert_eq!(one.count(), (counts[0] + counts[1]) as u64, "{counts:?}");
        }
    }
}
