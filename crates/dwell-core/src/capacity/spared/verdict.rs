//! What the crowds say of the path.

use super::SparedRuns;
use super::crowd::{Crowd, crowd};
use super::train::{Runs, Seen};
use crate::capacity::end_link::dispersion::{Dispersion, Trend, trend};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};

impl SparedRuns {
    /// Of the larger and of the smaller packets.
    pub(super) fn crowds(&self) -> (Option<Crowd>, Option<Crowd>) {
        let of = |trains: &[Seen]| crowd(&Runs::of(trains)?, self.facts.resolution.as_f64(), self.config.seed);
        (of(&self.large), of(&self.small))
    }

    pub(super) fn verdict(&self) -> Report {
        let all = || self.large.iter().chain(&self.small);
        let captured = all().all(|train| train.vantage == Vantage::Capture);
        let stamps = if captured { Vantage::Capture } else { Vantage::Application };
        let report = Report::new(Self::NAME, stamps);
        let (large, small) = self.crowds();
        let Some(found) = large else {
            return report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable("no train came through"));
        };
        let dispersion = Dispersion { size: self.facts.max_size, gap: found.gap };
        let rate = dispersion.rate();
        let _ = small.map(|small| trend(&Dispersion { size: self.smaller(), gap: small.gap }, &dispersion) == Trend::Rising);
        report.with(Quantity::NarrowLinkCapacity, Finding::value(rate.value, rate.low, rate.high, Unit::Bps))
    }
}
