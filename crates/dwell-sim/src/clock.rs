//! What a host's clock reads.

use crate::scenario::ClockSpec;
use dwell_core::Nanos;

/// A host's clock.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Clock(ClockSpec);

impl Clock {
    /// The clock of `spec`.
    #[must_use]
    pub fn new(spec: ClockSpec) -> Self {
        Self(spec)
    }

    /// The reading at true time `at`.
    #[must_use]
    pub fn read(&self, at: Nanos) -> Nanos {
        let resolution = self.0.resolution.0.max(1);
        Nanos(self.exact(at).0.div_euclid(resolution) * resolution)
    }

    /// The reading at true time `at`, were the resolution perfect.
    pub(crate) fn exact(&self, at: Nanos) -> Nanos {
        let gained = Nanos::from_f64(at.as_f64() * self.0.skew_ppm * 1e-6);
        let stepped = self.0.step.filter(|step| at >= step.at).map_or(Nanos::ZERO, |step| step.by);
        at + gained + self.0.offset + stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ClockStep;

    #[test]
    fn resolution_floors_on_either_side_of_zero() {
        let clock = |offset| {
            Clock::new(ClockSpec { resolution: Nanos(1_000), offset: Nanos(offset), ..ClockSpec::default() })
        };
        assert_eq!(clock(0).read(Nanos(1_999)), Nanos(1_000));
        assert_eq!(clock(0).read(Nanos(2_000)), Nanos(2_000));
        assert_eq!(clock(-2_500).read(Nanos(1_999)), Nanos(-1_000));
    }

    #[test]
    fn skew_offset_and_step_add_up() {
        let step = ClockStep { at: Nanos::from_secs(5), by: Nanos::from_millis(-10) };
        let spec = ClockSpec {
            offset: Nanos::from_secs(3),
            skew_ppm: 100.0,
            step: Some(step),
            ..Default::default()
        };
        let clock = Clock::new(spec);
        assert_eq!(clock.read(Nanos::ZERO), Nanos::from_secs(3));
        // 100 ppm of 4 s is 400 us.
        assert_eq!(clock.read(Nanos::from_secs(4)), Nanos(7_000_400_000));
        assert_eq!(clock.read(Nanos::from_secs(5) - Nanos(1)), Nanos(8_000_499_999));
        assert_eq!(clock.read(Nanos::from_secs(5)), Nanos(7_990_500_000));
    }

    #[test]
    fn without_a_step_back_a_clock_never_runs_back() {
        let clock = Clock::new(ClockSpec { resolution: Nanos(7), skew_ppm: -100.0, ..ClockSpec::default() });
        let readings: Vec<_> = (0..20_000).map(|at| clock.read(Nanos(at))).collect();
        assert!(readings.is_sorted());
    }
}
