//! Many connections' figures of one section.

use super::{Section, SectionQuality};
use crate::unit::Nanos;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Values told apart to one part in a thousand.
const DIGITS: u8 = 3;

/// How many times which time was seen, negative ones too: a section that seems shorter than nothing is not clamped.
#[derive(Clone, Debug)]
pub struct Distribution {
    above: Histogram<u64>,
    /// Of what is below zero, without its sign.
    below: Histogram<u64>,
}

impl Default for Distribution {
    fn default() -> Self {
        // The number of digits is one of those that there can be.
        let empty = || Histogram::new(DIGITS).expect("a histogram of 3 digits");
        Self { above: empty(), below: empty() }
    }
}

impl Distribution {
    /// Adds one.
    pub fn add(&mut self, time: Nanos) {
        let side = if time < Nanos::ZERO { &mut self.below } else { &mut self.above };
        // The histograms grow with what they are given.
        side.saturating_record(time.0.unsigned_abs());
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        // Both grow as they must: nothing is too large for them.
        let grown = self.above.add(&other.above).and_then(|()| self.below.add(&other.below));
        debug_assert!(grown.is_ok());
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.above.len() + self.below.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The least value that this share of all do not exceed; `None` of none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        if self.is_empty() {
            return None;
        }
        let rank = ((share * self.len() as f64).ceil() as u64).clamp(1, self.len());
        let below = self.below.len();
        Some(if rank <= below {
            // The smallest of all is the largest without its sign.
            Nanos(-(at_rank(&self.below, below - rank + 1)))
        } else {
            Nanos(at_rank(&self.above, rank - below))
        })
    }
}

fn at_rank(histogram: &Histogram<u64>, rank: u64) -> i64 {
    // Half a step off, so that rounding cannot reach the next rank.
    histogram.value_at_quantile((rank as f64 - 0.5) / histogram.len() as f64) as i64
}

/// What many connections say of one section.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Round trips, where they are values.
    pub rtt: Distribution,
    /// Exact estimates by the halves towards the server.
    pub server_side: Distribution,
    /// Exact estimates by the halves towards the client.
    pub client_side: Distribution,
    /// The first less the second, of the same connection.
    pub consistency: Distribution,
    /// How many connections were of which quality.
    pub qualities: BTreeMap<SectionQuality, u64>,
}

impl Summary {
    /// Adds what one connection says.
    pub fn add(&mut self, section: &Section) {
        *self.qualities.entry(section.quality).or_default() += 1;
        let each = [
            (&mut self.rtt, section.measured()),
            (&mut self.server_side, section.server_side.exact()),
            (&mut self.client_side, section.client_side.exact()),
            (&mut self.consistency, section.consistency),
        ];
        for (distribution, time) in each {
            if let Some(time) = time {
                distribution.add(time);
            }
        }
    }

    /// How many connections were of this quality.
    #[must_use]
    pub fn count(&self, quality: SectionQuality) -> u64 {
        self.qualities.get(&quality).copied().unwrap_or(0)
    }

    /// How many connections said anything at all.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.qualities.values().sum()
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
