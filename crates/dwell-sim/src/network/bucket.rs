//! A token bucket.

use super::{Picos, Tempo};
use crate::link::{Policer, Shaper};
use dwell_core::Bytes;

/// A bucket of tokens, one for each byte. What is in it is told by when it will be full again if nobody takes any.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    fills: Tempo,
    /// `None`: only the link's own rate spaces packets.
    peak: Option<Tempo>,
    /// How long the empty bucket takes to be full.
    depth: Picos,
    full_at: Picos,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(spec: &Shaper) -> Self {
        let fills = Tempo::of(Some(spec.rate));
        let peak = spec.peak.map(|peak| Tempo::of(Some(peak)));
        Self { depth: fills.time_for(spec.burst), fills, peak, full_at: Picos::MIN }
    }

    /// A full one that lets nothing wait.
    pub(super) fn policing(spec: &Policer) -> Self {
        Self::new(&Shaper { rate: spec.rate, burst: spec.burst, peak: None })
    }

    /// Whether there are tokens for a packet of `size` at `at`. If so, they are taken.
    pub(super) fn admits(&mut self, at: Picos, size: Bytes) -> bool {
        let price = self.fills.time_for(size);
        let missing = self.full_at.max(at) - at;
        let admitted = missing.saturating_add(price) <= self.depth;
        if admitted {
            self.full_at = at.saturating_add(missing).saturating_add(price);
        }
        admitted
    }

    /// The first time from `at` on at which there are tokens for a packet of `size`. They are taken.
    pub(super) fn take(&mut self, at: Picos, size: Bytes) -> Picos {
        let price = self.fills.time_for(size);
        // The bucket holds enough when what is missing then is no more than its depth less the price. What never fits
        // goes when the bucket is full, and leaves a debt.
        let start = at.max(self.full_at.saturating_add((price - self.depth).min(0)));
        self.full_at = self.full_at.max(start).saturating_add(price);
        start
    }

    /// How long after a packet of `size` began the next one may begin at the earliest.
    pub(super) fn spacing(&self, size: Bytes) -> Picos {
        self.peak.map_or(0, |peak| peak.time_for(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::BitRate;

    /// 8 Mb/s: one byte a microsecond.
    const US: Picos = 1_000_000;

    fn bucket(burst: u64) -> Bucket {
        Bucket::new(&Shaper { rate: BitRate::from_mbps(8), burst: Bytes(burst), peak: None })
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut bucket = bucket(3_000);
        let starts: Vec<_> = (0..5).map(|_| bucket.take(0, Bytes(1_000)) / US).collect();
        assert_eq!(starts, [0, 0, 0, 1_000, 2_000]);
        // Half a packet's worth has come by then, and the other half takes 500 us.
        assert_eq!(bucket.take(2_500 * US, Bytes(1_000)), 3_000 * US);
    }

    #[test]
    fn what_lets_nothing_wait_admits_as_much_as_it_has_tokens_for() {
        let mut bucket = bucket(3_000);
        let admitted: Vec<bool> = (0..5).map(|_| bucket.admits(0, Bytes(1_000))).collect();
        assert_eq!(admitted, [true, true, true, false, false]);
        // What was refused took none.
        assert!(!bucket.admits(999 * US, Bytes(1_000)));
        assert!(bucket.admits(1_000 * US, Bytes(1_000)));
        assert!(!bucket.admits(1_000 * US, Bytes(1)));
    }

    #[test]
    fn a_bucket_never_holds_more_than_its_burst() {
        let mut bucket = bucket(2_000);
        bucket.take(0, Bytes(2_000));
        let starts: Vec<_> = (0..3).map(|_| bucket.take(1_000_000 * US, Bytes(1_000)) / US).collect();
        assert_eq!(starts, [1_000_000, 1_000_000, 1_001_000]);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_passes_and_the_rate_holds() {
        let mut bucket = bucket(1_000);
        bucket.take(0, Bytes(1_000));
        assert_eq!(bucket.take(0, Bytes(1_500)), 1_000 * US);
        assert_eq!(bucket.take(0, Bytes(1_000)), 2_500 * US);
    }
}
