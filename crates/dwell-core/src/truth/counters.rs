//! What links carried, as their counters tell, and what of them was free between two readings.

use crate::report::Quantity;
use crate::unit::{BitRate, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters of one link since they began. Bytes are those that packets take of the link, with whatever surrounds
/// them there, and a packet counts when it begins to be sent.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LinkCount {
    /// Which link of the path, from 0; parallel links have the same number.
    pub link: usize,
    /// What it carries in the long run; `None`: as much as comes.
    pub rate: Option<BitRate>,
    /// Of the packets under test, the share that takes this one of parallel links; 1 where there is one alone.
    pub share: f64,
    /// Bytes of the packets under test.
    pub own: f64,
    /// Bytes of the traffic of others.
    pub cross: f64,
    /// Bytes of the traffic of others that came and were dropped.
    pub cross_dropped: f64,
}

/// The counters of all links of one way, read at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When, on a clock that all readings share.
    pub at: Nanos,
    /// Link by link.
    pub links: Vec<LinkCount>,
}

/// What one link carried between two readings.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Which link of the path, from 0.
    pub link: usize,
    /// What it carries.
    pub capacity: Option<BitRate>,
    /// Of the packets under test, the share that takes it.
    pub share: f64,
    /// Bits per second of the packets under test.
    pub own: f64,
    /// Bits per second of others that it carried.
    pub cross: f64,
    /// Bits per second that others offered: carried and dropped.
    pub offered: f64,
}

/// What the links of a way carried between two readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// From the one reading to the other: the averaging time of all that is told here.
    pub span: Nanos,
    /// Link by link.
    pub links: Vec<LinkUse>,
}

/// What a link of this rate carries of the packets under test where there is nobody else and this share of them takes it.
fn alone(rate: Option<BitRate>, share: f64) -> Option<f64> {
    (share > 0.0).then(|| rate.map(|rate| rate.0 as f64 / share))?
}

impl Reading {
    /// What the narrowest link carries, by its token bucket where that is slower; `None`: no link is limited.
    #[must_use]
    pub fn narrow_link(&self) -> Option<BitRate> {
        let least = self.links.iter().filter_map(|link| alone(link.rate, link.share)).min_by(f64::total_cmp);
        least.map(|bps| BitRate(bps.round() as u64))
    }

    /// What was carried from this reading to `later`; `None` where no time passed, or these are not the same links.
    #[must_use]
    pub fn until(&self, later: &Self) -> Option<Usage> {
        let span = later.at - self.at;
        if span <= Nanos::ZERO || self.links.len() != later.links.len() {
            return None;
        }
        let rate = |from: f64, to: f64| (to - from).max(0.0) * 8.0 / span.as_secs_f64();
        let between = |(from, to): (&LinkCount, &LinkCount)| LinkUse {
            link: to.link,
            capacity: to.rate,
            share: to.share,
            own: rate(from.own, to.own),
            cross: rate(from.cross, to.cross),
            offered: rate(from.cross + from.cross_dropped, to.cross + to.cross_dropped),
        };
        Some(Usage { span, links: self.links.iter().zip(&later.links).map(between).collect() })
    }
}

impl LinkUse {
    /// Bits per second that the others left, in the packets under test that take this link. The packets under test are
    /// not taken off (papers/004, section 5.4): a tool that loads the path does not change what it is asked about.
    #[must_use]
    pub fn free(&self) -> Option<f64> {
        let capacity = self.capacity?.0 as f64;
        (self.share > 0.0).then(|| (capacity - self.cross).max(0.0) / self.share)
    }

    /// What it carries of the packets under test where there is nobody else: of parallel links as much as all of them, where packets take
    /// them in turn.
    #[must_use]
    pub fn alone(&self) -> Option<f64> {
        alone(self.capacity, self.share)
    }
}

impl Usage {
    /// The link that has the least free; `None`: no link is limited.
    #[must_use]
    pub fn tight(&self) -> Option<&LinkUse> {
        self.least(LinkUse::free)
    }

    /// The link that carries the least.
    #[must_use]
    pub fn narrow(&self) -> Option<&LinkUse> {
        self.least(LinkUse::alone)
    }

    fn least(&self, of: impl Fn(&LinkUse) -> Option<f64>) -> Option<&LinkUse> {
        let limited = self.links.iter().filter_map(|link| Some((of(link)?, link)));
        limited.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, link)| link)
    }

    /// What a method for available bandwidth or capacity is held against.
    #[must_use]
    pub fn truths(&self) -> BTreeMap<Quantity, f64> {
        let told = [
            (Quantity::AvailableBandwidth, self.tight().and_then(LinkUse::free)),
            (Quantity::TightLinkCapacity, self.tight().and_then(LinkUse::alone)),
            (Quantity::NarrowLinkCapacity, self.narrow().and_then(LinkUse::alone)),
        ];
        told.into_iter().filter_map(|(quantity, bps)| Some((quantity, bps?))).collect()
    }
}

/// The document of `--json`.
impl Serialize for Usage {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Link {
            link: usize,
            capacity_bps: Option<u64>,
            share: f64,
            own_bps: i64,
            cross_bps: i64,
            offered_bps: i64,
            free_bps: Option<i64>,
        }
        #[derive(Serialize)]
        struct Told {
            available_bandwidth_bps: Option<i64>,
            averaged_over_ns: i64,
            tight_link: Option<usize>,
            tight_link_capacity_bps: Option<i64>,
            narrow_link: Option<usize>,
            narrow_link_capacity_bps: Option<i64>,
            links: Vec<Link>,
        }
        let whole = |bps: f64| bps.round() as i64;
        let truths = self.truths();
        let of = |quantity| truths.get(&quantity).copied().map(whole);
        let link = |link: &LinkUse| Link {
            link: link.link,
            capacity_bps: link.capacity.map(|rate| rate.0),
            share: link.share,
            own_bps: whole(link.own),
            cross_bps: whole(link.cross),
            offered_bps: whole(link.offered),
            free_bps: link.free().map(whole),
        };
        let told = Told {
            available_bandwidth_bps: of(Quantity::AvailableBandwidth),
            averaged_over_ns: self.span.0,
            tight_link: self.tight().map(|link| link.link),
            tight_link_capacity_bps: of(Quantity::TightLinkCapacity),
            narrow_link: self.narrow().map(|link| link.link),
            narrow_link_capacity_bps: of(Quantity::NarrowLinkCapacity),
            links: self.links.iter().map(link).collect(),
        };
        told.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(link: usize, mbps: u64, cross: f64) -> LinkCount {
        let rate = Some(BitRate::from_mbps(mbps));
        LinkCount { link, rate, share: 1.0, own: 0.0, cross, cross_dropped: 0.0 }
    }

    fn reading(at: i64, links: Vec<LinkCount>) -> Reading {
        Reading { at: Nanos::from_secs(at), links }
    }

    #[test]
    fn the_tight_link_need_not_be_the_narrow_one() {
        let before = reading(1, vec![count(0, 1_000, 5.0), count(1, 100, 7.0)]);
        // 950 of 1,000 Mb/s and 20 of 100 Mb/s are taken for two seconds.
        let mut after = reading(3, vec![count(0, 1_000, 5.0 + 237.5e6), count(1, 100, 7.0 + 5e6)]);
        after.links[0].own = 1e6;
        let usage = before.until(&after).unwrap();
        assert_eq!((usage.tight().unwrap().link, usage.narrow().unwrap().link), (0, 1));
        let truths = usage.truths();
        assert_eq!(truths[&Quantity::AvailableBandwidth].round(), 50e6, "own traffic is not taken off");
        assert_eq!(truths[&Quantity::TightLinkCapacity], 1e9);
        assert_eq!(truths[&Quantity::NarrowLinkCapacity], 100e6);
        assert_eq!(before.narrow_link(), Some(BitRate::from_mbps(100)));
        assert_eq!(usage.links[0].own.round(), 4e6);
        let told = serde_json::to_value(&usage).unwrap();
        assert_eq!(told["available_bandwidth_bps"], 50_000_000);
        assert_eq!((&told["averaged_over_ns"], &told["tight_link"]), (&2_000_000_000i64.into(), &0.into()));
    }

    #[test]
    fn half_the_packets_on_a_link_find_twice_its_room() {
        let half = |cross| LinkCount { share: 0.5, ..count(1, 100, cross) };
        let before = reading(0, vec![count(0, 1_000, 0.0), half(0.0), half(0.0)]);
        let after = reading(1, vec![count(0, 1_000, 0.0), half(2.5e6), half(0.0)]);
        let usage = before.until(&after).unwrap();
        assert_eq!(usage.truths()[&Quantity::AvailableBandwidth], 160e6);
        assert_eq!(usage.truths()[&Quantity::NarrowLinkCapacity], 200e6);
        assert_eq!(before.narrow_link(), Some(BitRate::from_mbps(200)));
    }

    #[test]
    fn nothing_is_told_of_no_time_and_of_other_links() {
        let one = reading(1, vec![count(0, 100, 0.0)]);
        assert_eq!(one.until(&one), None);
        assert_eq!(one.until(&reading(2, Vec::new())), None);
        let open = LinkCount { rate: None, ..count(0, 1, 0.0) };
        let usage = reading(1, vec![open]).until(&reading(2, vec![open])).unwrap();
        assert!(usage.tight().is_none() && usage.truths().is_empty());
        assert_eq!(reading(1, vec![open]).narrow_link(), None);
    }
}
