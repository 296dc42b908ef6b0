//! What is free where another measurement has found a token bucket.

use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Side, Unit};

/// What is free behind a token bucket that a report on capacity tells of: no more than the bucket gets, though trains that it passes
/// show what its link has free. Left as it is where there is none, or where it says no more.
#[must_use]
pub fn behind_bucket(report: Report, capacity: &Report) -> Report {
    let is_bucket = capacity.verdict.as_ref().is_some_and(|verdict| verdict.limit == Limit::TokenBucket);
    let token = match capacity.finding(Quantity::TokenRate) {
        Finding::Value { high, .. } if is_bucket => high,
        _ => return report,
    };
    let told = match report.finding(Quantity::AvailableBandwidth) {
        Finding::Value { high, .. } => high,
        Finding::Bound { bound, side: Side::Upper, .. } => bound,
        // Of what is free at the least nothing says how long it is.
        Finding::Bound { .. } => f64::INFINITY,
        Finding::Unmeasurable { .. } => return report,
    };
    if told <= token {
        return report;
    }
    let why = "a token bucket passes the trains by which this is measured, and gets no more than that";
    report
        .with(Quantity::AvailableBandwidth, Finding::at_most(token, Unit::Bps, why))
        .limited(Limit::TokenBucket, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Vantage;

    fn report(quantity: Quantity, finding: Finding) -> Report {
        Report::new("test", Vantage::Capture).with(quantity, finding)
    }

    fn free(finding: Finding, limit: Limit, token: Finding) -> (Finding, Option<Limit>) {
        let capacity = report(Quantity::TokenRate, token).limited(limit, "");
        let told = behind_bucket(report(Quantity::AvailableBandwidth, finding), &capacity);
        (told.finding(Quantity::AvailableBandwidth), told.verdict.map(|verdict| verdict.limit))
    }

    #[test]
    fn no_more_is_free_than_a_bucket_gets() {
        let mbps = |value, low, high| Finding::value(value, low, high, Unit::Bps);
        let (token, link) = (mbps(50.0, 49.0, 51.0), mbps(100.0, 94.0, 101.0));
        for finding in [
            link.clone(),
            Finding::at_most(90.0, Unit::Bps, ""),
            Finding::at_least(60.0, Unit::Bps, ""),
            Finding::at_least(40.0, Unit::Bps, ""),
        ] {
            let (told, limit) = free(finding, Limit::TokenBucket, token.clone());
            assert!(
                matches!(told, Finding::Bound { bound, side: Side::Upper, .. } if bound == 51.0),
                "{told:?}"
            );
            assert_eq!(limit, Some(Limit::TokenBucket));
        }
        // What says as much already, or nothing; and where no bucket is known, or no rate of it but a bound.
        let less = mbps(40.0, 38.0, 42.0);
        let bound = Finding::at_least(50.0, Unit::Bps, "");
        for (finding, limit, token) in [
            (less, Limit::TokenBucket, token.clone()),
            (Finding::unmeasurable(""), Limit::TokenBucket, token.clone()),
            (link.clone(), Limit::Link, token),
            (link, Limit::TokenBucket, bound),
        ] {
            assert_eq!(free(finding.clone(), limit, token), (finding, None));
        }
    }
}
