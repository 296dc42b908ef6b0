//! Many connections' figures of one section.

use super::{Section, SectionQuality};
use crate::inside::Differences;
use std::collections::BTreeMap;

/// What many connections say of one section.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Round trips, where they are values; those below zero too, as they are.
    pub rtt: Differences,
    /// Exact estimates by the halves towards the server.
    pub server_side: Differences,
    /// Exact estimates by the halves towards the client.
    pub client_side: Differences,
    /// The first less the second, of the same connection.
    pub consistency: Differences,
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
