//! The narrowest link of a path, by what round trips and dispersion tell hop by hop.

use super::HopFound;
use crate::report::{Finding, Side, Unit};

/// Narrower than the links before it by more than this, by dispersion, is a link.
pub(super) const NARROWER: f64 = 0.05;

/// Trains that came through at less than all links carry, by more than this share of the least that they may carry or of what they seem
/// to, had others' packets in them.
const CONTRADICTED: f64 = 0.02;
const SEEMINGLY: f64 = 0.1;

/// What a finding says that the link carries at least.
const fn least(finding: &Finding) -> Option<f64> {
    match finding {
        Finding::Value { low, .. } => Some(*low),
        Finding::Bound { bound, side: Side::Lower, .. } => Some(*bound),
        _ => None,
    }
}

/// Where by round trips each link up to a hop carries more than trains that expire there came through at, dispersion is but a lower
/// bound: others' packets stood in all of these. (Or a token bucket passes single packets, and no trains: then it is the truth.)
/// Tells the least such bound.
pub(super) fn contradicted(hops: &mut [HopFound]) -> Option<f64> {
    let (mut carries, mut bounds) = (Some(f64::INFINITY), Vec::new());
    for hop in hops {
        let link = least(&hop.capacity).map(|least| {
            let seems = hop.capacity.estimate().unwrap_or(least);
            (least * (1.0 - CONTRADICTED)).max(seems * (1.0 - SEEMINGLY))
        });
        carries = carries.zip(link).map(|(so_far, link)| so_far.min(link));
        if let (Some(carries), Finding::Value { low, high, .. }) = (carries, &hop.segment_capacity)
            && *high < carries
        {
            bounds.push(*low);
            let why = "by round trips each link up to here carries more: others' packets stood in all trains, or a token bucket \
                       passes a packet or two";
            hop.segment_capacity = Finding::at_least(*low, Unit::Bps, why);
        }
    }
    bounds.into_iter().reduce(f64::min)
}

/// The narrowest link, and the first hop behind a link that is as narrow: by dispersion as far as that reaches, and by round trips
/// behind there. `contradicted` is what trains came through at that agree with no link.
pub(super) fn narrow(hops: &[HopFound], contradicted: Option<f64>) -> (Option<u8>, Finding) {
    let by_segment = |hop: &HopFound| hop.segment_capacity.estimate();
    let by_pathchar = |hop: &HopFound| hop.capacity.estimate();
    let least_of = |hops: &[HopFound], rate: &dyn Fn(&HopFound) -> Option<f64>| {
        hops.iter().filter_map(rate).reduce(f64::min)
    };
    let reached = hops.iter().rposition(|hop| by_segment(hop).is_some()).map_or(0, |last| last + 1);
    let (near, far) = hops.split_at(reached);
    let of_near = least_of(near, &by_segment);
    let of_far =
        least_of(far, &by_pathchar).filter(|far| of_near.is_none_or(|near| *far < near * (1.0 - NARROWER)));
    let (hop, found) = match (of_far, of_near) {
        (Some(rate), _) => {
            let Some(hop) = far.iter().find(|hop| by_pathchar(hop) == Some(rate)) else { return unknown() };
            (hop, hop.capacity.clone())
        }
        (None, Some(rate)) => {
            let Some(told) = near.iter().find(|hop| by_segment(hop) == Some(rate)) else { return unknown() };
            // Dispersion may not reach the link itself, where a train that went further tells of it.
            let is_it = |hop: &&HopFound| {
                let so_far = by_segment(hop).or_else(|| by_pathchar(hop));
                so_far.is_some_and(|carries| carries <= rate * (1.0 + NARROWER))
            };
            (near.iter().find(is_it).unwrap_or(told), told.segment_capacity.clone())
        }
        (None, None) => return unknown(),
    };
    let found = match (found, contradicted) {
        (Finding::Value { value, low, high, unit }, Some(came)) => {
            Finding::value(value, low.min(came), high, unit)
        }
        (found, _) => found,
    };
    let last = hops.iter().rposition(|hop| by_segment(hop).or_else(|| least(&hop.capacity)).is_some());
    match (last.and_then(|last| hops.get(last + 1)), &found) {
        (Some(beyond), Finding::Value { high, .. }) => {
            let why = format!("what the links from hop {} on carry is not known", beyond.hop);
            (Some(hop.hop), Finding::at_most(*high, Unit::Bps, why))
        }
        _ => (Some(hop.hop), found),
    }
}

fn unknown() -> (Option<u8>, Finding) {
    (None, Finding::unmeasurable("no link's capacity is known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(rate: f64) -> Finding {
        Finding::value(rate, 0.99 * rate, 1.01 * rate, Unit::Bps)
    }

    fn unmeasured() -> Finding {
        Finding::unmeasurable("nothing came")
    }

    /// Hops by what pathchar and segment say of each.
    fn hops<const N: usize>(found: [(Finding, Finding); N]) -> Vec<HopFound> {
        let hop = |(hop, (capacity, segment_capacity))| HopFound {
            hop,
            address: None,
            says: None,
            round_trip: unmeasured(),
            capacity,
            segment_capacity,
            hidden: None,
            asked: 0,
            answered: 0,
            limit: None,
            addresses: 1,
        };
        (1..).zip(found).map(hop).collect()
    }

    #[test]
    fn round_trips_tell_of_what_dispersion_does_not_reach() {
        let hops = hops([(value(1e9), value(1e9)), (value(50e6), unmeasured())]);
        assert_eq!(narrow(&hops, None), (Some(2), value(50e6)));
        // Dispersion reached the hop behind it.
        let hops =
            self::hops([(value(1e9), value(1e9)), (value(100e6), unmeasured()), (value(1e9), value(99e6))]);
        assert_eq!(narrow(&hops, None), (Some(2), value(99e6)));
    }

    #[test]
    fn what_nobody_measured_may_be_narrower() {
        let hops = hops([(value(1e9), value(1e9)), (unmeasured(), unmeasured())]);
        let (hop, found) = narrow(&hops, None);
        assert_eq!((hop, found.holds(50e6), found.holds(2e9)), (Some(1), Some(true), Some(false)));
        assert_eq!(narrow(&[], None).0, None);
    }

    #[test]
    fn trains_slower_than_every_link_are_a_bound() {
        let mut hops =
            hops([(value(1e9), value(1e9)), (value(2.4e9), value(1e9)), (value(1e9), value(667e6))]);
        let came = contradicted(&mut hops);
        assert!(came.is_some_and(|came| came < 667e6));
        assert!(matches!(hops[2].segment_capacity, Finding::Bound { side: Side::Lower, .. }));
        let (hop, found) = narrow(&hops, came);
        assert_eq!((hop, found.estimate(), found.holds(667e6)), (Some(1), Some(1e9), Some(true)));
        // A link that nobody measured may be that slow.
        let mut hops = self::hops([(unmeasured(), unmeasured()), (value(1e9), value(667e6))]);
        assert_eq!(contradicted(&mut hops), None);
    }
}
