//! A plan as people and programs read it.

mod document;
mod panels;
mod table;

pub(super) use document::json;
pub(super) use panels::panels;
pub(super) use table::text;

use super::Plan;
use super::cost::Cost;
use dwell_core::sizing::{Crossing, LinkGap, clock, disperse, ratio, smallest_stage};
use dwell_core::{BitRate, Bytes, Effort, Nanos, Unit};

/// One estimate's error by the clock.
struct ClockError {
    method: &'static str,
    quantity: &'static str,
    error: clock::Error,
    unit: Unit,
    why: &'static str,
}

impl Plan {
    fn cost(&self, method: &str) -> Option<&Cost> {
        self.costs.iter().find(|cost| cost.method == method)
    }

    fn gaps(&self, trailing: Bytes, crossings: &[Crossing]) -> Vec<LinkGap> {
        disperse(&self.path, self.heading, trailing, crossings)
    }

    /// Whether a pair reaches the end link together.
    fn together(&self, trailing: Bytes, crossings: &[Crossing]) -> bool {
        ratio::largest_trailing(&self.path, self.heading, crossings)
            .is_some_and(|largest| trailing.0 as f64 <= largest + 1e-6)
    }

    fn alpha(&self, trailing: f64) -> f64 {
        self.heading.0 as f64 / trailing
    }

    fn stage(&self) -> f64 {
        smallest_stage(&self.path, self.given.least)
    }

    /// What the clock's resolution does to each method.
    fn clock_errors(&self) -> Vec<ClockError> {
        let mut errors = Vec::new();
        let mut add = |method, quantity, error, unit, why| {
            errors.push(ClockError { method, quantity, error, unit, why });
        };
        add(
            "knee",
            "application stage",
            clock::knee(self.resolution),
            Unit::Ns,
            "one stamp against the border D",
        );
        if let Some([one, two]) = self.trailing {
            let difference = self.end().nanos_for(two - one);
            let off = clock::salehin2015(self.resolution, [one, two], difference, self.probes);
            add("salehin2015", "PPT_t", off.trailing, Unit::Ns, "(15): the difference of two average gaps");
            add("salehin2015", "PPT_h", off.heading, Unit::Ns, "(16): PPT_t less dPPT");
            add("salehin2015", "PPT_avg", off.average, Unit::Ns, "the mean of both");
            add("salehin2015", "dPPT", off.differential, Unit::Ns, "(8): a gap less the one expected by (5)");
            add("salehin2015", "1 / c_n", off.slope, Unit::Ratio, "(5): 2 R over the time of s_2 - s_1");
        }
        let flat = clock::salehin2017(self.resolution, self.probes);
        add("salehin2017", "flat gap", flat, Unit::Ns, "(6): one average gap");
        if let Some(cost) = self.cost("end-link").filter(|cost| cost.burst > Nanos::ZERO) {
            let off = clock::end_link(self.resolution, cost.burst.as_f64(), &cost.trailing, self.end());
            add("end-link", "capacity", off, Unit::Ratio, "slopes over bursts and over sizes");
        }
        errors
    }
}

/// Bits over time.
fn rate(effort: &Effort) -> BitRate {
    let seconds = effort.span.as_secs_f64();
    BitRate(if seconds > 0.0 { (effort.bytes.bits() as f64 / seconds).round() as u64 } else { 0 })
}
