//! The picture of `dwell sections --plot`: the median of each section, one after the other.

use super::outcome::Outcome;
use crate::picture::Panel;
use crate::waterfall::{Bar, Bars, Extent};
use dwell_core::inside::Differences;
use dwell_core::tcp::section::Way;

/// The waterfall, and another one of connections that run the other way; bars reach to the median, their whiskers from the
/// quarter to three quarters.
pub(super) fn panels(outcome: &Outcome) -> Vec<Box<dyn Panel>> {
    let along = bars(outcome, Way::Along, "Round trip, medians with quartiles");
    let against = (outcome.running(Way::Against) > 0)
        .then(|| bars(outcome, Way::Against, "The other way: round trip, medians with quartiles"));
    std::iter::once(along).chain(against).map(|bars| -> Box<dyn Panel> { Box::new(bars) }).collect()
}

fn bars(outcome: &Outcome, way: Way, axis: &'static str) -> Bars {
    let mut start = 0.0;
    let bars: Vec<Bar> = outcome
        .path(way)
        .into_iter()
        .map(|leg| {
            let extent = outcome.sections.get(&leg).map_or(Extent::Unknown, |(summary, _)| of(&summary.rtt));
            let bar = Bar { name: outcome.name(leg), start, extent };
            start += extent.length();
            bar
        })
        .collect();
    let known = bars.iter().all(|bar| bar.extent != Extent::Unknown);
    let whole = Extent::Value { value: start, low: start, high: start };
    let whole = Bar {
        name: "sum of medians".to_owned(),
        start: 0.0,
        extent: if known { whole } else { Extent::AtLeast(start) },
    };
    Bars { bars, whole, axis }
}

fn of(times: &Differences) -> Extent {
    let at = |share| times.quantile(share).map(dwell_core::Nanos::as_micros_f64);
    match (at(0.25), at(0.5), at(0.75)) {
        (Some(low), Some(value), Some(high)) => Extent::Value { value, low, high },
        _ => Extent::Unknown,
    }
}
