//! What the path as a whole was found to carry and to have free, beside what its hops show.

use super::Joined;
use super::narrow::NARROWER;
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Side};

impl Joined {
    /// What the hops tell where the path's capacity and what is free of it are known from end to end: no link is narrower than the path, nor
    /// has more free. Single packets and short trains, which hops are told by, pass a token bucket as if it were not there.
    #[must_use]
    pub fn within(mut self, capacity: &Report, free: &Report) -> Self {
        let has_bucket = capacity.verdict.as_ref().is_some_and(|verdict| verdict.limit == Limit::TokenBucket);
        let whole = match has_bucket {
            true => capacity.finding(Quantity::TokenRate),
            false => capacity.finding(Quantity::NarrowLinkCapacity),
        };
        let is_narrower = match (&whole, &self.narrow_link_capacity) {
            (Finding::Unmeasurable { .. }, _) => false,
            (Finding::Value { high, .. }, Finding::Value { low, .. }) => *low > high * (1.0 + NARROWER),
            _ => has_bucket,
        };
        if is_narrower || has_bucket {
            self.narrow_hop = None;
            self.narrow_link_capacity = whole;
            // Who saw that the path is as narrow has seen what by.
            self.verdict = capacity.verdict.clone().unwrap_or(self.verdict);
        }
        if is_narrower {
            let why = match has_bucket {
                true => {
                    "a token bucket passes single packets and short trains, by which hops are told: which link it stands at is not known"
                }
                false => {
                    "no link is as narrow as the path by what its routers say: which one it is is not known"
                }
            };
            self.warnings.push(why.to_owned());
        }
        if has_bucket {
            self.tight = None;
            self.no_tight =
                Some("a token bucket limits the path, and passes the trains that would show it".to_owned());
        }
        if let Some(tight) = &mut self.tight {
            let found = free.finding(Quantity::AvailableBandwidth);
            let most = match &found {
                Finding::Value { high, .. } => Some(*high),
                Finding::Bound { bound, side: Side::Upper, .. } => Some(*bound),
                _ => None,
            };
            if let (Finding::Bound { bound, .. }, Some(most)) = (&tight.free, most)
                && most < *bound
            {
                tight.free = found;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Tight;
    use crate::hop::limit::limit;
    use crate::report::{Unit, Vantage};

    fn mbps(value: f64) -> Finding {
        Finding::value(value * 1e6, 0.99e6 * value, 1.01e6 * value, Unit::Bps)
    }

    fn joined(narrow: Finding) -> Joined {
        let free = Finding::at_most(991e6, Unit::Bps, "");
        Joined {
            hops: Vec::new(),
            narrow_hop: Some(1),
            verdict: limit(Some(1), &narrow, false),
            narrow_link_capacity: narrow,
            tight: Some(Tight { hop: 2, trains: 1.0, free }),
            no_tight: None,
            warnings: Vec::new(),
        }
    }

    fn report(quantity: Quantity, finding: Finding) -> Report {
        Report::new("test", Vantage::Capture).with(quantity, finding)
    }

    #[test]
    fn a_bucket_is_at_no_hop_that_is_known() {
        let capacity = report(Quantity::TokenRate, mbps(50.0)).limited(Limit::TokenBucket, "");
        let free = report(Quantity::AvailableBandwidth, mbps(40.0));
        let told = joined(mbps(1_000.0)).within(&capacity, &free);
        assert_eq!((told.narrow_hop, told.narrow_link_capacity, told.tight), (None, mbps(50.0), None));
        assert_eq!((told.no_tight.is_some(), told.warnings.len()), (true, 1));
        assert_eq!(told.verdict.limit, Limit::TokenBucket);
        let policer = report(Quantity::TokenRate, Finding::at_least(49e6, Unit::Bps, ""));
        let told = joined(mbps(1_000.0)).within(&policer.limited(Limit::TokenBucket, ""), &free);
        assert_eq!((told.narrow_hop, told.narrow_link_capacity.holds(50e6)), (None, Some(true)));
    }

    #[test]
    fn a_link_stays_where_both_agree() {
        let capacity = report(Quantity::NarrowLinkCapacity, mbps(100.0)).limited(Limit::Link, "");
        let free = report(Quantity::AvailableBandwidth, mbps(40.0));
        let told = joined(mbps(102.0)).within(&capacity, &free);
        assert_eq!((told.narrow_hop, told.narrow_link_capacity), (Some(1), mbps(102.0)));
        assert_eq!(told.tight.map(|tight| tight.free), Some(mbps(40.0)));
        let told = joined(mbps(1_000.0)).within(&capacity, &free);
        assert_eq!((told.narrow_hop, told.narrow_link_capacity), (None, mbps(100.0)));
        let nothing = report(Quantity::NarrowLinkCapacity, Finding::unmeasurable(""));
        let told = joined(mbps(1_000.0)).within(&nothing, &nothing);
        assert_eq!((told.narrow_hop, told.warnings.len()), (Some(1), 0));
    }
}
