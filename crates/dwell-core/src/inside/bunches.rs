//! Whether packets come to the driver in bunches, and at what pace the bunches.

use super::distribution::Distribution;
use super::journey::Journey;
use super::stage::Point;
use crate::unit::Nanos;
use std::collections::HashMap;

/// Packets closer than this came together: a driver's poll takes some microseconds a packet.
const TOGETHER: Nanos = Nanos::from_micros(20);
/// Interfaces and cores that are told apart; packets of others are not looked at.
const STREAMS: usize = 256;
/// Bunches that must be seen before they are spoken of.
const ENOUGH: u64 = 30;

/// The bunches of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Bunches {
    streams: HashMap<(u32, u32), Bunch>,
    packets: u64,
    together: u64,
    bunches: u64,
    apart: Distribution,
}

/// The bunch that a core's packets of one interface belong to just now.
#[derive(Copy, Clone, Debug)]
struct Bunch {
    began: Nanos,
    last: Nanos,
    size: u64,
}

/// Packets that came in bunches at an even pace.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Time between the beginnings of two bunches, at the median.
    pub spacing: Nanos,
    /// Packets in a bunch, on average.
    pub size: f64,
    /// How many bunches were seen.
    pub bunches: u64,
}

impl Bunches {
    pub(super) fn add(&mut self, journey: &Journey) {
        let Some(at) = journey.times.at(Point::Driver) else { return };
        let key = (journey.interface, journey.core);
        let room = self.streams.len() < STREAMS;
        let Some(bunch) = self.streams.get_mut(&key) else {
            if room {
                self.streams.insert(key, Bunch { began: at, last: at, size: 1 });
                self.packets += 1;
                self.bunches += 1;
            }
            return;
        };
        self.packets += 1;
        if at - bunch.last <= TOGETHER {
            // A bunch of two: its first packet was not alone after all.
            self.together += if bunch.size == 1 { 2 } else { 1 };
            *bunch = Bunch { last: bunch.last.max(at), size: bunch.size + 1, ..*bunch };
        } else {
            self.apart.add(at - bunch.began);
            self.bunches += 1;
            *bunch = Bunch { began: at, last: at, size: 1 };
        }
    }

    /// The pace, where most packets come in bunches and the bunches keep one: of bunches at random the tenth part
    /// would follow within a sixth of the median.
    pub(super) fn pace(&self) -> Option<Pace> {
        let spacing = self.apart.quantile(0.5)?;
        let even = self.apart.quantile(0.1)? * 2 >= spacing;
        let most = self.together * 2 > self.packets;
        let size = self.packets as f64 / self.bunches as f64;
        (even && most && self.bunches >= ENOUGH).then_some(Pace { spacing, size, bunches: self.bunches })
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{received, sleeper};
    use super::*;
    use proptest::prelude::*;

    fn bunches(times: impl IntoIterator<Item = i64>) -> Bunches {
        let mut bunches = Bunches::default();
        times.into_iter().for_each(|at| bunches.add(&received(Nanos(at), sleeper(2_000))));
        bunches
    }

    #[test]
    fn ten_at_a_time_each_half_millisecond() {
        let polls = (0..100).flat_map(|poll| (0..10).map(move |packet| poll * 500_000 + packet * 900));
        let pace = bunches(polls).pace().unwrap();
        assert!((pace.spacing.0 - 500_000).abs() < 1_000 && pace.bunches == 100, "{pace:?}");
        assert!((pace.size - 10.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn packets_one_by_one_are_no_bunches(every in 25_000_i64..5_000_000, count in 2_i64..400) {
            prop_assert_eq!(bunches((0..count).map(|packet| packet * every)).pace(), None);
        }

        #[test]
        fn bunches_at_random_keep_no_pace(seed in any::<u64>()) {
            // Exponential waits from a linear congruence: pairs of packets, a Poisson process of them.
            let (mut state, mut at) = (seed | 1, 0);
            let pairs = (0..400).flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let uniform = ((state >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
                at += 30_000 + (-uniform.ln() * 1e6) as i64;
                [at, at + 1_000]
            });
            prop_assert_eq!(bunches(pairs.collect::<Vec<_>>()).pace(), None);
        }
    }
}
