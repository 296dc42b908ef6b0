//! Two equal packets, one right behind the other.

use crate::report::Vantage;
use crate::stats::bootstrap::Indices;
use crate::stats::chance::exponential;
use crate::stats::hull::line_under;
use crate::stream::{occupied, shape, vantage};
use crate::train::{Departure, Fate, Fleet, Observation, Train};
use crate::unit::{Bytes, Nanos};

/// A pair that arrived whole and in order.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) size: Bytes,
    /// When its first packet left, nanoseconds on the sender's clock.
    pub(super) at: f64,
    /// Between the two when they left, nanoseconds; zero where the sender's stamps do not tell.
    pub(super) sent: f64,
    /// Between the two when they came.
    pub(super) gap: f64,
    /// Delay of the first, but for the clocks' offset.
    pub(super) delay: f64,
    pub(super) vantage: Vantage,
}

impl Pair {
    /// Bits per second that it came at; `None` where both came at once.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.gap > 0.0).then(|| occupied(self.size) * 1e9 / self.gap)
    }

    /// The sum of both packets' delays.
    pub(super) fn sum(&self) -> f64 {
        self.delay + self.second()
    }

    /// Delay of the second.
    pub(super) fn second(&self) -> f64 {
        self.delay + self.gap - self.sent
    }
}

/// So many pairs of packets of `size`, at random times of this mean distance.
pub(super) fn pairs_at_random(count: usize, size: Bytes, mean: Nanos, seed: u64) -> Fleet {
    let mut indices = Indices::new(seed);
    let train = Train::burst(size, 2);
    (0..count).map(|_| Departure { pause: exponential(&mut indices, mean), train: train.clone() }).collect()
}

/// The pair that was sent, if it was one.
pub(super) fn pair(observation: &Observation) -> Option<Pair> {
    let ([first, second], Some((size, Nanos::ZERO))) = (observation.fates.as_slice(), shape(observation))
    else {
        return None;
    };
    let vantage = vantage(observation);
    let read = |fate: &Fate| {
        let arrival = fate.arrival.as_ref()?;
        Some((fate.sent.nearest_wire(), vantage.read(&arrival.stamps)?, arrival.order))
    };
    let ((left, came, order), (left_too, came_too, order_too)) = (read(first)?, read(second)?);
    let gap = (came_too - came).as_f64();
    (order < order_too && gap >= 0.0).then_some(Pair {
        size,
        at: left.as_f64(),
        sent: (left_too - left).as_f64().max(0.0),
        gap,
        delay: (came - left).as_f64(),
        vantage,
    })
}

/// The worse of the stamps that the pairs were read by.
pub(super) fn stamps(pairs: &[Pair]) -> Vantage {
    let all = pairs.iter().all(|pair| pair.vantage == Vantage::Capture);
    if all { Vantage::Capture } else { Vantage::Application }
}

/// Takes the clocks' skew out of the delays: the line under them all is the path's own (Moon, Skelly, Towsley 1999).
pub(super) fn unskewed(pairs: &[Pair]) -> Vec<Pair> {
    let Some(from) = pairs.first().map(|pair| pair.at) else { return Vec::new() };
    let points: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.at - from, pair.delay)).collect();
    let line = line_under(&points);
    let straight = |pair: &Pair| {
        let drift = line.map_or(0.0, |line| line.slope * (pair.at - from));
        Pair { delay: pair.delay - drift, ..*pair }
    };
    pairs.iter().map(straight).collect()
}

/// Why pairs tell nothing, where that is so: most came at once.
pub(super) fn merged(pairs: &[Pair]) -> Option<String> {
    let together = pairs.iter().filter(|pair| pair.gap <= 0.0).count();
    (together * 2 > pairs.len()).then(|| {
        format!(
            "{together} of {} pairs came at once: the receiver's NIC or kernel hands on several packets at a time",
            pairs.len()
        )
    })
}
