//! Long bursts, which look for a token bucket.

use crate::bucket::fall::{Fall, fall};
use crate::bucket::{drained, fell_alike};
use crate::stream::{Passed, passed};
use crate::train::Observation;
use crate::unit::Nanos;

/// Of a burst that is slow enough for a policer, each so-many-th packet passes.
const PASSES: f64 = 4.0;

/// What they showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Deep {
    /// Packets of the longest that was sent.
    pub(super) packets: usize,
    /// Where its rate fell, and where something waits, that of another as well.
    pub(super) fall: Option<Fall>,
    /// Where the rate of one fell, before another was sent.
    doubted: Option<Fall>,
    /// How far apart packets must be of which more pass, where most were lost and too few passed to tell at what rate.
    slower: Option<f64>,
    /// Whether one was sent that slow.
    slowed: bool,
    /// Packets of the longest that was sent all at once.
    at_once: usize,
    /// How far apart packets of the last were to be, if not all at once.
    pub(super) pace: Option<f64>,
}

impl Deep {
    pub(super) fn see(&mut self, observation: &Observation) {
        let passed = passed(observation);
        self.told(fall(&passed));
        self.slower = slower(&passed, observation.fates.len()).filter(|_| self.fall.is_none());
    }

    /// The pause before another, if one fell: what others send in a burst makes one fall as well, but no two alike.
    pub(super) fn doubt(&self) -> Option<Nanos> {
        self.doubted.map(|fall| drained(&fall, self.packets))
    }

    /// Where the last one's rate fell, if it did.
    fn told(&mut self, fall: Option<Fall>) {
        let before = self.doubted.take();
        (self.fall, self.doubted) = match (fall, before) {
            (Some(fall), None) if !fall.drops => (None, Some(fall)),
            (Some(fall), Some(before)) => (Some(fall).filter(|fall| fell_alike(&[before, *fall])), None),
            (fall, _) => (fall, None),
        };
    }

    /// Whether most of the last one's packets were lost, and nothing shows what drops them.
    pub(super) const fn unexplained(&self) -> bool {
        self.slower.is_some()
    }

    /// The spacing of another that would show it, if none was sent at such a spacing yet.
    pub(super) fn another(&self) -> Option<f64> {
        self.slower.filter(|_| !self.slowed)
    }

    /// Whether one of so many packets could still show what drops some.
    pub(super) fn further(&self, packets: usize) -> bool {
        let little_was_lost = self.slower.is_none() && !self.slowed;
        self.packets < packets || self.another().is_some() || (little_was_lost && self.at_once < packets)
    }

    /// A burst of so many packets is sent, all at once or at a pace, which is the spacing of `another` if there is one.
    pub(super) fn sent(&mut self, packets: usize, pace: Option<f64>) {
        (self.packets, self.pace) = (packets, pace);
        if pace.is_none() {
            self.at_once = packets;
        }
        self.slowed |= self.slower.is_some();
    }
}

fn slower(passed: &[Passed], sent: usize) -> Option<f64> {
    let first = passed.iter().enumerate().position(|(place, packet)| packet.number != place)?;
    let (from, to) = (passed[first], passed.last()?);
    let steps = (passed.len() - 1 - first) as f64;
    (steps > 0.0 && passed.len() * 2 < sent).then(|| (to.came - from.came) / steps / PASSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(numbers: impl Iterator<Item = usize>) -> Vec<Passed> {
        let one = |number: usize| Passed { number, sent: 5.0 * number as f64, came: 5.0 * number as f64 };
        numbers.map(one).collect()
    }

    #[test]
    fn a_burst_that_is_too_fast_for_a_policer_is_followed_by_a_slower_one() {
        // 21 pass, then each 120th: one in 600 ns.
        let few = passed((0..21).chain([59, 179, 299]));
        assert_eq!(slower(&few, 300), Some(150.0));
        let mut deep = Deep { slower: Some(150.0), ..Deep::default() };
        assert_eq!(deep.another(), Some(150.0));
        deep.sent(300, Some(150.0));
        assert_eq!((deep.another(), deep.unexplained()), (None, true));
    }

    #[test]
    fn a_burst_that_falls_is_followed_by_another_that_must_fall_alike() {
        let fall = |passed: f64| Fall { before: 12.0, sent: 12.0, after: 120.0, passed, drops: false };
        let seen = |first: Fall, second: Option<Fall>| {
            let mut deep = Deep { packets: 100, ..Deep::default() };
            deep.told(Some(first));
            let asked = deep.doubt();
            if asked.is_some() {
                deep.told(second);
            }
            (asked, deep.fall, deep.doubt())
        };
        // (100 + 5 * 50) packets of 120 ns.
        let again = Some(Nanos::from_f64(42_000.0));
        assert_eq!(seen(fall(50.0), Some(fall(60.0))), (again, Some(fall(60.0)), None));
        assert_eq!(seen(fall(50.0), Some(fall(200.0))), (again, None, None));
        assert_eq!(seen(fall(50.0), None), (again, None, None));
        // No burst of others drops at regular steps.
        let policed = Fall { drops: true, ..fall(50.0) };
        assert_eq!(seen(policed, None), (None, Some(policed), None));
    }

    #[test]
    fn a_burst_that_loses_little_at_the_link_s_pace_is_followed_by_one_at_once() {
        let mut deep = Deep::default();
        assert!(deep.further(300));
        deep.sent(300, Some(150.0));
        assert!(deep.further(300));
        deep.sent(300, None);
        assert!(!deep.further(300));
        // Of one that lost most a slower one, and no other.
        let mut deep = Deep { packets: 300, slower: Some(150.0), ..Deep::default() };
        assert!(deep.further(300));
        deep.sent(300, Some(150.0));
        deep.slower = None;
        assert!(!deep.further(300));
    }

    #[test]
    fn what_loses_little_or_all_needs_none() {
        assert_eq!(slower(&passed(0..300), 300), None);
        assert_eq!(slower(&passed((0..300).filter(|number| number % 3 > 0)), 300), None);
        assert_eq!(slower(&passed(0..21), 300), None);
        assert_eq!(slower(&[], 300), None);
    }
}
