use super::super::{Estimate, Place, Section, SectionQuality, Way};
use super::Summary;
use crate::unit::Nanos;

#[test]
fn values_below_zero_are_in_the_percentiles_and_bounds_are_not() {
    let mut summary = Summary::default();
    let section = |ns: i64, quality| Section {
        way: Way::Along,
        from: Place::Client,
        to: Place::Probe(0),
        rtt: Some(Nanos(ns)),
        server_side: Estimate::Unknown,
        client_side: Estimate::Exact(Nanos(ns)),
        consistency: None,
        quality,
    };
    for ns in [-30, -20, -10, 10, 20] {
        let quality = if ns < 0 { SectionQuality::Inconsistent } else { SectionQuality::Exact };
        summary.add(&section(ns, quality));
    }
    summary.add(&section(1_000_000, SectionQuality::UpperBound));
    assert_eq!(summary.rtt.quantile(0.0), Some(Nanos(-30)));
    assert_eq!(summary.rtt.quantile(0.5), Some(Nanos(-10)));
    assert_eq!(summary.rtt.quantile(1.0), Some(Nanos(20)));
    assert_eq!((summary.rtt.count(), summary.connections()), (5, 6));
    assert_eq!(summary.count(SectionQuality::UpperBound), 1);
}
