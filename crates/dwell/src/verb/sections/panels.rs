//! The picture of `dwell sections --plot`: the median of each section, one after the other.

use super::outcome::Outcome;
use crate::picture::Panel;
use crate::waterfall::{Bar, Bars, Extent};
use dwell_core::inside::Differences;

/// The waterfall; bars reach to the median, their whiskers from the quarter to three quarters.
pub(super) fn panels(outcome: &Outcome) -> Vec<Box<dyn Panel>> {
    let mut start = 0.0;
    let bars: Vec<Bar> = outcome
        .path()
        .into_iter()
        .map(|(from, to)| {
            let name = format!("{} to {}", outcome.name(from), outcome.name(to));
            let extent =
                outcome.sections.get(&(from, to)).map_or(Extent::Unknown, |(summary, _)| of(&summary.rtt));
            let bar = Bar { name, start, extent };
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
    vec![Box::new(Bars { bars, whole, axis: "Round trip, medians with quartiles" })]
}

fn of(times: &Differences) -> Extent {
    let at = |share| times.quantile(share).map(dwell_core::Nanos::as_micros_f64);
    match (at(0.25), at(0.5), at(0.75)) {
        (Some(low), Some(value), Some(high)) => Extent::Value { value, low, high },
        _ => Extent::Unknown,
    }
}
