//! The shortest of each interval.

use super::super::{Endpoint, FlowHash, Half};
use super::places::Places;
use super::{By, End, Sample};
use crate::unit::Nanos;

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

/// What one interval has of one direction of a flow, by one sign.
#[derive(Debug)]
struct Window {
    hash: u32,
    to: Endpoint,
    other: Endpoint,
    by: By,
    end: Option<End>,
    is_bound: bool,
    least: Nanos,
    /// For three hundred years, if all are as long as that interval.
    sum: i64,
    samples: u64,
}

impl Window {
    fn of(sample: &Sample, hash: u32, value: Nanos) -> Self {
        let Sample { to, other, by, end, .. } = *sample;
        Self { hash, to, other, by, end, is_bound: false, least: value, sum: 0, samples: 0 }
    }

    fn is_of(&self, sample: &Sample, hash: u32) -> bool {
        (self.hash, self.by, self.to, self.other) == (hash, sample.by, sample.to, sample.other)
    }

    fn add(&mut self, sample: &Sample, value: Nanos) {
        self.end = self.end.or(sample.end);
        self.least = self.least.min(value);
        self.sum = self.sum.saturating_add(value.0);
        self.samples += 1;
        self.is_bound |= sample.value.exact().is_none();
    }

    fn told(&self, from: Nanos, until: Nanos) -> RoundTrips {
        RoundTrips {
            from,
            until,
            to: self.to,
            end: self.end,
            other: self.other,
            by: self.by,
            least: if self.is_bound { Half::AtMost(self.least) } else { Half::Exact(self.least) },
            mean: Nanos(self.sum / self.samples as i64),
            samples: self.samples,
        }
    }
}

/// An interval.
#[derive(Debug, Default)]
struct Interval {
    /// Which one it is, counted from the epoch.
    number: i64,
    windows: Vec<Window>,
}

/// The interval that is not over, and what is over and not taken yet.
#[derive(Debug)]
pub(super) struct Intervals {
    every: Nanos,
    open: Interval,
    /// Where in the interval the windows of each hash are.
    places: Places,
    /// Of how many directions one interval tells.
    most: usize,
    over: Vec<Interval>,
    taken: u64,
    crowded: u64,
}

impl Intervals {
    /// # Panics
    /// If an interval is no time at all.
    pub(super) fn new(every: Nanos, most: usize) -> Self {
        assert!(every > Nanos::ZERO, "an interval takes time");
        let open = Interval { number: i64::MIN, windows: Vec::new() };
        Self { every, open, places: Places::default(), most, over: Vec::new(), taken: 0, crowded: 0 }
    }

    /// Samples that are told of, and those that had no place.
    pub(super) const fn counts(&self) -> [u64; 2] {
        [self.taken, self.crowded]
    }

    /// One of this flow. One of another interval ends this one, also an earlier one: then a clock was set back, or packets are out of
    /// order, and an interval is told of in two parts, each true.
    pub(super) fn add(&mut self, flow: FlowHash, sample: &Sample) {
        let Some(value) = sample.value.value() else { return };
        let number = sample.at.0.div_euclid(self.every.0);
        if number != self.open.number {
            self.end();
            self.open.number = number;
        }
        // Where both ports are one, the two directions fall together, which takes a look more.
        let which = (sample.by as u32) << 1 | u32::from(sample.to.port < sample.other.port);
        let hash = flow.0 ^ which.wrapping_mul(0x9e37_79b9);
        let windows = &mut self.open.windows;
        match self.places.find(hash, |place| windows[place].is_of(sample, hash)) {
            Ok(place) => windows[place].add(sample, value),
            Err(_) if windows.len() >= self.most => {
                self.crowded += 1;
                return;
            }
            Err(slot) => {
                let mut window = Window::of(sample, hash, value);
                window.add(sample, value);
                windows.push(window);
                self.places.put(slot, windows.len() - 1, |place| windows[place].hash);
            }
        }
        self.taken += 1;
    }

    /// Nothing passed before this time.
    pub(super) fn pass(&mut self, now: Nanos) {
        // The first comparison spares most a division.
        if now.0 >= self.until().0 && now.0.div_euclid(self.every.0) > self.open.number {
            self.end();
        }
    }

    fn until(&self) -> Nanos {
        Nanos(self.open.number.saturating_add(1).saturating_mul(self.every.0))
    }

    /// The interval is over.
    pub(super) fn end(&mut self) {
        if self.open.windows.is_empty() {
            return;
        }
        let mut windows = std::mem::take(&mut self.open.windows);
        windows.sort_unstable_by_key(|window| (window.to, window.other, window.by));
        self.over.push(Interval { number: self.open.number, windows });
        self.places.clear();
    }

    /// Whether one is over that was not taken yet.
    #[inline]
    pub(super) const fn has_more(&self) -> bool {
        !self.over.is_empty()
    }

    /// What is over, each once.
    pub(super) fn take(&mut self) -> impl Iterator<Item = RoundTrips> {
        let every = self.every.0;
        self.over.drain(..).flat_map(move |Interval { number, windows }| {
            let from = Nanos(number.saturating_mul(every));
            let until = Nanos(from.0.saturating_add(every));
            windows.into_iter().map(move |window| window.told(from, until))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    /// All fall together.
    const FLOW: FlowHash = FlowHash(7);

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
            intervals.add(FLOW, &sample(at, port, us));
        }
        assert_eq!(told(&mut intervals), []);
        intervals.add(FLOW, &sample(2_000, 7, 99));
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
        intervals.add(FLOW, &sample(0, 7, 30));
        intervals.add(FLOW, &Sample { value: Half::AtMost(Nanos::from_micros(50)), ..sample(0, 7, 0) });
        intervals.end();
        assert_eq!(told(&mut intervals), [(0, 7, Half::AtMost(Nanos::from_micros(30)), 40, 2)]);
    }

    #[test]
    fn what_has_no_place_is_counted() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 2);
        (0..5).for_each(|port| intervals.add(FLOW, &sample(0, port, 30)));
        intervals.add(FLOW, &sample(0, 1, 20));
        assert_eq!(intervals.counts(), [3, 3]);
        intervals.end();
        assert_eq!(told(&mut intervals), [(0, 0, exact(30), 30, 1), (0, 1, exact(20), 25, 2)]);
    }

    #[test]
    fn a_clock_that_is_set_back_loses_nothing() {
        let mut intervals = Intervals::new(Nanos::from_secs(1), 8);
        [9_000, -500, 9_100].into_iter().for_each(|at| intervals.add(FLOW, &sample(at, 7, 30)));
        intervals.end();
        let from: Vec<i64> = told(&mut intervals).iter().map(|told| told.0).collect();
        assert_eq!(from, [9_000, -1_000, 9_000]);
    }
}
