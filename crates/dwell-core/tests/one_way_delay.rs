//! One-way delay between clocks that do not agree.

use dwell_core::delay::{Correction, OneWayDelay, OneWayDelayConfig};
use dwell_core::stats::Estimate;
use dwell_core::{
    Arrival, BitRate, Bytes, Departure, Direction, Fate, Finding, Fleet, Method, Nanos, Observation, Passage,
    Path, PathFacts, Quantity, Report, Stamps, run,
};
use proptest::prelude::*;
use std::convert::Infallible;

/// Two hosts and a path, in nanoseconds.
#[derive(Clone, Debug)]
struct Link {
    there: f64,
    back: f64,
    sender: f64,
    receiver: f64,
    offset: f64,
    skew: f64,
    kernel_stamps: bool,
    step: Option<(f64, f64)>,
    loss: bool,
    now: f64,
    /// Packets so far, forward and in reverse.
    counts: [u32; 2],
}

impl Default for Link {
    fn default() -> Self {
        Self {
            there: 200e3,
            back: 200e3,
            sender: 5e3,
            receiver: 40e3,
            offset: 3.2e9,
            skew: 100e-6,
            kernel_stamps: true,
            step: None,
            loss: false,
            now: 0.0,
            counts: [0; 2],
        }
    }
}

impl Link {
    /// The other host's clock.
    fn there(&self, at: f64) -> Nanos {
        let stepped = self.step.map_or(0.0, |(when, by)| if at > when { by } else { 0.0 });
        Nanos::from_f64(at * (1.0 + self.skew) + self.offset + stepped)
    }

    /// A wait of up to 100 us for every second packet of either way.
    fn wait(&mut self, forward: bool) -> f64 {
        let count = &mut self.counts[usize::from(forward)];
        *count += 1;
        if count.is_multiple_of(2) { f64::from(*count * 7919 % 100) * 1e3 } else { 0.0 }
    }
}

impl Path for Link {
    type Error = Infallible;

    fn facts(&self) -> PathFacts {
        PathFacts {
            max_size: Bytes(1526),
            min_size: Bytes(72),
            resolution: Nanos(1),
            end_link: Some(BitRate::from_mbps(100)),
            narrow_link: None,
            coalescence: None,
        }
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, Infallible> {
        let mut carry = |departure: &Departure| {
            self.now += departure.pause.as_f64();
            let direction = departure.train.direction;
            let forward = direction == Direction::Forward;
            let delay = if forward { self.there } else { self.back } + self.wait(forward);
            let times = [0.0, self.sender, self.sender + delay, self.sender + delay + self.receiver];
            let [handed, left, reached, stamped] = times.map(|t| self.now + t);
            let read = |at, there| if there { self.there(at) } else { Nanos::from_f64(at) };
            let stamps = |application, kernel, there| Stamps {
                application: read(application, there),
                kernel: self.kernel_stamps.then(|| read(kernel, there)),
                hardware: None,
            };
            let fate = Fate {
                packet: departure.train.packets[0],
                sent: stamps(handed, left, !forward),
                arrival: (!self.loss).then(|| Arrival {
                    stamps: stamps(stamped, reached, forward),
                    order: 0,
                    copies: 1,
                }),
            };
            Passage { observation: Observation { direction, fates: vec![fate], overflowed: 0 }, truth: None }
        };
        Ok(fleet.iter().map(&mut carry).collect())
    }
}

fn measure(mut link: Link, correction: Correction) -> Report {
    let config = OneWayDelayConfig { correction, ..OneWayDelayConfig::default() };
    let mut method = OneWayDelay::new(config, &link.facts());
    run(&mut method, &mut link, None, |_| {}).unwrap();
    method.report()
}

fn value(report: &Report, quantity: Quantity) -> f64 {
    let finding = report.finding(quantity);
    finding.estimate().unwrap_or_else(|| panic!("{quantity:?}: {finding:?}"))
}

/// Half of the packets wait for 0 to 100 us, so the median is that of the others, nearly.
const MEDIAN_WAIT: f64 = 3e3;

#[test]
fn clocks_seconds_apart_and_100_ppm_skewed() {
    let report = measure(Link::default(), Correction::Stamps);
    assert!((value(&report, Quantity::OneWayDelay) - 200e3).abs() < MEDIAN_WAIT);
    assert!((value(&report, Quantity::ReverseOneWayDelay) - 200e3).abs() < MEDIAN_WAIT);
    assert!((value(&report, Quantity::ApparentOneWayDelay) - 245e3).abs() < MEDIAN_WAIT);
    assert!((value(&report, Quantity::RoundTrip) - 400e3).abs() < 2.0 * MEDIAN_WAIT);
    assert!((value(&report, Quantity::ClockSkew) - 100.0).abs() < 0.5);
    assert_eq!(value(&report, Quantity::SenderHost), 5e3);
    let offset = report.finding(Quantity::ClockOffset);
    assert_eq!(offset.holds(3.2e9), Some(true), "{offset:?}");
    assert!((offset.estimate().unwrap() - 3.2e9).abs() < 1e3, "{offset:?}");
}

#[test]
fn an_asymmetric_path_stays_inside_the_interval() {
    let report = measure(Link { there: 350e3, back: 50e3, ..Link::default() }, Correction::Stamps);
    for (quantity, truth) in [(Quantity::OneWayDelay, 350e3), (Quantity::ReverseOneWayDelay, 50e3)] {
        let finding = report.finding(quantity);
        assert_eq!(finding.holds(truth), Some(true), "{finding:?}");
    }
}

#[test]
fn the_stage_takes_the_place_of_kernel_stamps() {
    // Without kernel stamps of its own the clocks are compared application to application, on both ways alike.
    let stage = Estimate { value: 40e3, low: 39e3, high: 41e3 };
    let report = measure(Link::default(), Correction::Stage(stage));
    assert!((value(&report, Quantity::OneWayDelay) - 200e3).abs() < MEDIAN_WAIT);
}

#[test]
fn the_kernel_stage_that_is_not_seen_from_afar_is_within_the_intervals() {
    let stage = Estimate { value: 30e3, low: 29.9e3, high: 30.1e3 };
    let report = measure(Link::default(), Correction::Stage(stage));
    for (quantity, truth) in [(Quantity::OneWayDelay, 200e3), (Quantity::RoundTrip, 400e3)] {
        let finding = report.finding(quantity);
        assert_eq!(finding.holds(truth), Some(true), "{finding:?}");
    }
}

#[test]
fn no_delay_is_less_than_nothing() {
    let stage = Estimate { value: 600e3, low: 590e3, high: 610e3 };
    let report = measure(Link::default(), Correction::Stage(stage));
    let finding = report.finding(Quantity::OneWayDelay);
    assert!(matches!(finding, Finding::Unmeasurable { .. }), "{finding:?}");
    let stage = Estimate { value: 250e3, low: 100e3, high: 400e3 };
    let finding = measure(Link::default(), Correction::Stage(stage)).finding(Quantity::OneWayDelay);
    assert!(matches!(finding, Finding::Bound { bound, .. } if bound > 100e3), "{finding:?}");
}

#[test]
fn that_there_was_no_stage_to_take_off_is_told() {
    let report = measure(Link::default(), Correction::Unknown("it is too short".to_owned()));
    assert!((value(&report, Quantity::OneWayDelay) - 200e3).abs() < MEDIAN_WAIT);
    let told = "no application stage was found to take off (it is too short)";
    assert!(report.warnings.iter().any(|warning| warning.starts_with(told)), "{:?}", report.warnings);
}

#[test]
fn a_step_in_the_middle_is_noticed() {
    let link = Link { step: Some((300e6, 1.5e9)), ..Link::default() };
    let report = measure(link, Correction::Stamps);
    assert!(report.warnings.iter().any(|w| w.contains("clock stepped by 1.5 s")), "{:?}", report.warnings);
    assert!((value(&report, Quantity::OneWayDelay) - 200e3).abs() < 3.0 * MEDIAN_WAIT);
}

#[test]
fn a_path_that_loses_everything() {
    let report = measure(Link { loss: true, ..Link::default() }, Correction::Stamps);
    let Finding::Unmeasurable { reason } = report.finding(Quantity::OneWayDelay) else {
        panic!("{report:?}")
    };
    assert!(reason.contains("only 0 of 100"), "{reason}");
    assert_eq!(value(&report, Quantity::Loss), 1.0);
}

#[test]
fn section_7_3_of_papers_000() {
    // 2 hops: OWD' = 56 us with PPT of 14 (D3000) and 7 (I531S) us at the ends; 5 hops: 216 us with 14 and 16 us.
    for (apparent, source, destination, corrected, error) in
        [(56e3, 14e3, 7e3, 35e3, 60.0), (216e3, 14e3, 16e3, 186e3, 16.0)]
    {
        let wire: f64 = apparent - source - destination;
        let link = Link { there: wire, back: wire, sender: source, receiver: destination, ..Link::default() };
        let report = measure(link, Correction::Stamps);
        let (seen, found) =
            (value(&report, Quantity::ApparentOneWayDelay), value(&report, Quantity::OneWayDelay));
        // The queueing of the model lengthens both alike.
        let waited = found - wire;
        assert!((found - waited - corrected).abs() < 1.0);
        let share = ((seen - waited) / (found - waited) - 1.0) * 100.0;
        assert!((share - error).abs() < 0.6, "{share}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_offset_and_skew(offset in -1e12..1e12f64, skew in -2e-4..2e-4f64, there in 1e3..5e7f64) {
        let link = Link { offset, skew, there, back: there, ..Link::default() };
        let report = measure(link, Correction::Stamps);
        prop_assert!((value(&report, Quantity::OneWayDelay) - there).abs() < 2.0 * MEDIAN_WAIT);
        prop_assert!((value(&report, Quantity::ClockSkew) - skew * 1e6).abs() < 1.0);
    }

    #[test]
    fn garbage_never_panics(raw in prop::collection::vec(any::<(i64, i64, i64, Option<i64>, bool, bool)>(), 0..100)) {
        let link = Link::default();
        let mut method = OneWayDelay::new(OneWayDelayConfig::default(), &link.facts());
        for (a, b, c, d, kept, reverse) in raw {
            let stamps = |application, kernel: Option<i64>| Stamps {
                application: Nanos(application), kernel: kernel.map(Nanos), hardware: None,
            };
            let direction = if reverse { Direction::Reverse } else { Direction::Forward };
            let fate = Fate {
                packet: dwell_core::Packet { size: Bytes(72), hold: Nanos::ZERO },
                sent: stamps(a, Some(b)),
                arrival: kept.then(|| Arrival { stamps: stamps(c, d), order: 0, copies: 1 }),
            };
            method.see(&Observation { direction, fates: vec![fate], overflowed: 0 });
        }
        let _ = method.report();
    }
}
