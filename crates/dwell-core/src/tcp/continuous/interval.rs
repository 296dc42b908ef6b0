//! The shortest of each interval.

use super::super::{Endpoint, FlowSeed, Half};
use super::{By, End, Sample};
use crate::unit::Nanos;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The round trips to one end of a connection in one interval, by what tells them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// When the interval began, since the epoch of the probe's clock: a multiple of its length.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// From the probe to this end and back.
    pub to: Endpoint,
    /// Which end that is; `None` where the opening was not seen.
    pub end: Option<End>,
    /// The other end of the connection.
    pub other: Endpoint,
    /// What tells them.
    pub by: By,
    /// The shortest: exact if all of them are.
    pub least: Half,
    /// Their mean; where not all are exact, they are that long at most.
    pub mean: Nanos,
    /// How many there were.
    pub samples: u64,
}

/// What one interval has of one direction.
#[derive(Debug)]
struct Window {
    end: Option<End>,
    least: Nanos,
    sum: i128,
    samples: u64,
    is_bound: bool,
}

impl Window {
    fn add(&mut self, sample: &Sample, value: Nanos) {
        self.end = self.end.or(sample.end);
        self.least = self.least.min(value);
        self.sum += i128::from(value.0);
        self.samples += 1;
        self.is_bound |= sample.value.exact().is_none();
    }
}

/// One direction of a flow, and what tells of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Key {
    hash: u64,
    to: Endpoint,
    other: Endpoint,
    by: By,
}

impl Key {
    fn of(sample: &Sample, seed: &FlowSeed) -> Self {
        let Sample { to, other, by, .. } = *sample;
        let which = (by as u64) << 1 | u64::from(to < other);
        // All of its bits differ between flows, and between one flow's directions.
        let hash = (u64::from(seed.of(&to, &other).0) << 4 | which).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { hash, to, other, by }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Takes a key's own hash.
#[derive(Default)]
struct Own(u64);

impl Hasher for Own {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The interval that is not over, and what is over and not taken yet.
#[derive(Debug)]
pub(super) struct Intervals {
    every: Nanos,
    /// Which one it is, counted from the epoch.
    number: i64,
    open: HashMap<Key, Window, BuildHasherDefault<Own>>,
    seed: FlowSeed,
    /// Of how many directions one interval tells.
    most: usize,
    over: Vec<RoundTrips>,
    taken: u64,
    crowded: u64,
}

impl Intervals {
    /// # Panics
    /// If an interval is no time at all.
    pub(super) fn new(every: Nanos, most: usize) -> Self {
        assert!(every > Nanos::ZERO, "an interval takes time");
        let (open, seed) = (HashMap::default(), FlowSeed::random());
        Self { every, number: i64::MIN, open, seed, most, over: Vec::new(), taken: 0, crowded: 0 }
    }

    /// Samples that are told of, and those that had no place.
    pub(super) const fn counts(&self) -> [u64; 2] {
        [self.taken, self.crowded]
    }

    /// One of another interval ends this one, also an earlier one: then a clock was set back, or packets are out of
    /// order, and an interval is told of in two parts, each true.
    pub(super) fn add(&mut self, sample: &Sample) {
        let Some(value) = sample.value.value() else { return };
        let number = sample.at.0.div_euclid(self.every.0);
        if number != self.number {
            self.end();
            self.number = number;
        }
        let is_full = self.open.len() >= self.most;
        match self.open.entry(Key::of(sample, &self.seed)) {
            Entry::Occupied(window) => window.into_mut().add(sample, value),
            Entry::Vacant(_) if is_full => {
                self.crowded += 1;
                return;
            }
            Entry::Vacant(place) => {
                let none = Window { end: sample.end, least: value, sum: 0, samples: 0, is_bound: false };
                place.insert(none).add(sample, value);
            }
        }
        self.taken += 1;
    }

    /// Nothing passed before this time.
    pub(super) fn pass(&mut self, now: Nanos) {
        if now.0.div_euclid(self.every.0) > self.number {
            self.end();
        }
    }

    /// The interval is over.
    pub(super) fn end(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let from = Nanos(self.number.saturating_mul(self.every.0));
        let until = Nanos(from.0.saturating_add(self.every.0));
        let first = self.over.len();
        self.over.extend(self.open.drain().map(|(Key { to, other, by, .. }, window)| RoundTrips {
            from,
            until,
            to,
            end: window.end,
            other,
            by,
            least: if window.is_bound { Half::AtMost(window.least) } else { Half::Exact(window.least) },
            mean: Nanos((window.sum / i128::from(window.samples)) as i64),
            samples: window.samples,
        }));
        self.over[first..].sort_unstable_by_key(|told| (told.to, told.other, told.by));
    }

    /// What is over, each once.
    pub(super) fn take(&mut self) -> impl Iterator<Item = RoundTrips> {
        self.over.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn sample(at_ms: i64, port: u16, us: i64) -> Sample {
        let end = |last, port| Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port };
        Sample {
            at: Nanos::from_millis(at_ms),
            to: end(1, 443),
            end: Some(End::Server),
            other: end(2, port),
            value: Half::Exact(Nanos::from_micros(us)),
            by: By::Timestamps,
        }
    }

    fn told(intervals: &mut Intervals) -> Vec<(i64, u16, Half, i64, u64)> {
        let short = |told: RoundTrips| {
            let from = told.from.0 / 1_000_000;
            (from, told.other.port, told.least, told.mean.0 / 1_000, told.samples)
        };
        intervals.take().map(short).collect()
    }

    fn exact(us: i64) -> Half {
        Half::Exact(Nanos::from_micros(us))
    }

    #[test]
    fn the_shortest_of_each_interval_and_connection_is_told_once() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 8);
        for (at, port, us) in [(1_200, 7, 30), (1_300, 6, 50), (1_999, 7, 10), (1_400, 7, 20)] {
            intervals.add(&sample(at, port, us));
        }
        assert_eq!(told(&mut intervals), []);
        intervals.add(&sample(2_000, 7, 99));
        assert_eq!(told(&mut intervals), [(1_000, 6, exact(50), 50, 1), (1_000, 7, exact(10), 20, 3)]);
        intervals.pass(Nanos::from_millis(2_999));
        assert_eq!(told(&mut intervals), []);
        intervals.pass(Nanos::from_millis(3_000));
        assert_eq!(told(&mut intervals), [(2_000, 7, exact(99), 99, 1)]);
        intervals.end();
        assert_eq!(told(&mut intervals), []);
    }

    #[test]
    fn one_bound_makes_the_shortest_a_bound() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 8);
        intervals.add(&sample(0, 7, 30));
        intervals.add(&Sample { value: Half::AtMost(Nanos::from_micros(50)), ..sample(0, 7, 0) });
        intervals.end();
        assert_eq!(told(&mut intervals), [(0, 7, Half::AtMost(Nanos::from_micros(30)), 40, 2)]);
    }

    #[test]
    fn what_has_no_place_is_counted() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 2);
        (0..5).for_each(|port| intervals.add(&sample(0, port, 30)));
        intervals.add(&sample(0, 1, 20));
        assert_eq!(intervals.counts(), [3, 3]);
        intervals.end();
        assert_eq!(told(&mut intervals), [(0, 0, exact(30), 30, 1), (0, 1, exact(20), 25, 2)]);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 8);
        [9_000, -500, 9_100].into_iter().for_each(|at| intervals.add(&sample(at, 7, 30)));
        intervals.end();
        let from: Vec<i64> = told(&mut intervals).iter().map(|told| told.0).collect();
        assert_eq!(from, [9_000, -1_000, 9_000]);
    }
}
