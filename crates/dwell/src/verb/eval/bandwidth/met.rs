//! What a measurement met on the path, and what it added.

use super::offered::asked;
use dwell_core::limit::Limit;
use dwell_core::truth::Usage;
use dwell_core::{Nanos, Quantity};
use dwell_sim::Scenario;
use serde::{Deserialize, Serialize};

/// The tight link while a tool measured, by its counters; the tool's own traffic is counted apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::verb::eval) struct Met {
    /// What it carries.
    pub(in crate::verb::eval) capacity_bps: u64,
    /// What the others left of it (papers/004, section 5.4: the tool's own is not taken off).
    pub(in crate::verb::eval) free_bps: u64,
    /// What it carried of others.
    pub(in crate::verb::eval) cross_bps: u64,
    /// What of others came there, and what was asked for; `None` where that takes what it gets.
    #[serde(default)]
    pub(in crate::verb::eval) offered_bps: u64,
    #[serde(default)]
    pub(in crate::verb::eval) asked_bps: Option<u64>,
    /// What it carried of the tool's.
    pub(in crate::verb::eval) tool_bps: u64,
    /// When the measurement began, from the first one on the same path.
    pub(in crate::verb::eval) began_ns: i64,
    /// The time that all of this is averaged over.
    pub(in crate::verb::eval) span_ns: i64,
    /// Packets that the tool sent, where it is ours.
    pub(in crate::verb::eval) packets: Option<u64>,
    /// Doubts that its result told.
    pub(in crate::verb::eval) warnings: usize,
    /// What its result says limits it.
    #[serde(default)]
    pub(in crate::verb::eval) limit: Option<Limit>,
}

/// Less than this part of the tool's own rate is no cross traffic.
const STRAY: u64 = 1_000;

impl Met {
    /// Of a result of which nothing more is known; `None`: no link of the path is limited.
    pub(super) fn of(usage: &Usage, began: Nanos, packets: Option<u64>, scenario: &Scenario) -> Option<Self> {
        let tight = usage.tight()?;
        let whole = |bps: f64| bps.max(0.0).round() as u64;
        Some(Self {
            capacity_bps: whole(*usage.truths().get(&Quantity::TightLinkCapacity)?),
            free_bps: whole(tight.free()?),
            cross_bps: whole(tight.cross),
            offered_bps: whole(tight.offered),
            asked_bps: asked(scenario, tight.link).map(whole),
            tool_bps: whole(tight.own),
            began_ns: began.0,
            span_ns: usage.span.0,
            packets,
            warnings: 0,
            limit: None,
        })
    }

    /// Tool rate over available bandwidth (papers/004, section 5.3.2).
    pub(super) fn intrusiveness(&self) -> Option<f64> {
        (self.free_bps > 0).then(|| self.tool_bps as f64 / self.free_bps as f64)
    }

    /// Tool rate over cross-traffic rate, of the same place; of none where that is what hosts say by themselves.
    pub(super) fn overhead(&self) -> Option<f64> {
        (self.cross_bps > self.tool_bps / STRAY).then(|| self.tool_bps as f64 / self.cross_bps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::BitRate;
    use dwell_core::truth::{LinkCount, Reading};

    #[test]
    fn a_tools_own_traffic_is_none_of_the_others() {
        let text =
            "name = 'x'\n[[links]]\nrate = '100 Mb/s'\n[[links.cross]]\nkind = 'poisson'\nload = 0.5\n";
        let scenario = Scenario::parse("x", text).unwrap();
        let count = |own, cross| LinkCount {
            link: 0,
            rate: Some(BitRate::from_mbps(100)),
            share: 1.0,
            own,
            cross,
            cross_dropped: 0.0,
        };
        let reading = |at, count| Reading { at: Nanos::from_secs(at), links: vec![count] };
        // Two seconds at 60 Mb/s of others and 30 of the tool's.
        let usage = reading(1, count(0.0, 0.0)).until(&reading(3, count(7.5e6, 15e6))).unwrap();
        let met = Met::of(&usage, Nanos::ZERO, None, &scenario).unwrap();
        assert_eq!((met.asked_bps, met.offered_bps), (Some(50_000_000), 60_000_000));
        assert_eq!((met.capacity_bps, met.free_bps, met.tool_bps), (100_000_000, 40_000_000, 30_000_000));
        assert_eq!((met.intrusiveness(), met.overhead()), (Some(0.75), Some(0.5)));
        let idle = Met { cross_bps: 0, ..met };
        assert_eq!(idle.overhead(), None);
    }
}
