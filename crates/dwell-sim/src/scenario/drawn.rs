//! Scenarios drawn at random, to judge methods on paths that nobody chose.

use super::drawn_traffic;
use super::ranges::{Ranges, even_log};
use super::{ClockSpec, HostSpec, LabSpec, Scenario, ethernet_mtu};
use crate::link::LinkSpec;
use crate::nic::NicSpec;
use crate::random::{Stream, stream};
use crate::times::{Mode, Times};
use dwell_core::{BitRate, Nanos};
use rand::RngExt;
use std::ops::RangeInclusive;

fn times_log(rng: &mut Stream, range: &RangeInclusive<Nanos>) -> Nanos {
    Nanos::from_f64(even_log(rng, range.start().as_f64().max(1.0), range.end().as_f64()))
}

impl Scenario {
    /// A path drawn from `ranges`, the same one for the same seed.
    #[must_use]
    pub fn random(seed: u64, ranges: &Ranges) -> Self {
        let mut rng = stream(seed, &[]);
        let source = HostSpec {
            clock: clock(&mut rng, ranges, Nanos(1)),
            nic: nic(&mut rng, ranges),
            ..HostSpec::default()
        };
        let resolution = times_log(&mut rng, &ranges.resolution);
        let destination = HostSpec {
            clock: clock(&mut rng, ranges, resolution),
            nic: nic(&mut rng, ranges),
            kernel_stamps: rng.random_bool(ranges.with_kernel_stamps),
            ..receiver(&mut rng, ranges)
        };
        let mut links: Vec<_> =
            (0..rng.random_range(ranges.hops.clone())).map(|_| link(&mut rng, ranges)).collect();
        drawn_traffic::load(&mut rng, ranges, &mut links);
        Self {
            name: format!("random-{seed}"),
            description: "Drawn at random.".to_owned(),
            mtu: ethernet_mtu(),
            source,
            destination,
            lab: LabSpec::default(),
            links,
            reverse: None,
        }
    }
}

fn clock(rng: &mut Stream, ranges: &Ranges, resolution: Nanos) -> ClockSpec {
    ClockSpec {
        resolution,
        offset: Nanos(rng.random_range(-ranges.offset.0..=ranges.offset.0)),
        skew_ppm: rng.random_range(-ranges.skew_ppm..=ranges.skew_ppm),
        step: None,
    }
}

fn nic(rng: &mut Stream, ranges: &Ranges) -> NicSpec {
    if rng.random_bool(ranges.without_coalescence) {
        return NicSpec::None;
    }
    let period = times_log(rng, &ranges.period);
    // One NIC in three counts packets besides, up to what a NIC's ring holds with ease.
    let frames = rng.random_bool(1.0 / 3.0).then(|| rng.random_range(4..=64));
    match rng.random_range(0..4) {
        0 => NicSpec::Hold { period, frames },
        1 => NicSpec::Throttle { period, frames },
        2 => NicSpec::Adaptive {
            least: Nanos::from_f64(period.as_f64() * rng.random_range(0.1..=0.5)).max(Nanos(1)),
            most: period,
            slow: even_log(rng, 1e3, 5e3).round(),
            fast: even_log(rng, 2e4, 1e5).round(),
            window: Nanos::from_micros(rng.random_range(200..=2_000)),
        },
        _ => NicSpec::Deferred { period, polls: rng.random_range(2..=5) },
    }
}

fn receiver(rng: &mut Stream, ranges: &Ranges) -> HostSpec {
    let application = times_log(rng, &ranges.application).as_f64();
    let read = rng.random_range(0.3..=1.0f64).min(application / 1e4) * 1e3;
    // Half of the programs work before they stamp, for up to half of their stage.
    let spin = if rng.random() { rng.random_range(0.0..=0.5) * application } else { 0.0 };
    let wake_up = application - read - spin;
    let service = rng.random_range(500.0..=2_000.0);
    let cold = rng.random_bool(0.3).then(|| {
        let slower = rng.random_range(1.2..=2.0);
        spread_around(rng, wake_up * slower)
    });
    HostSpec {
        kernel: spread_around(rng, 2_500.0),
        wake_up: spread_around(rng, wake_up),
        wake_up_cold: cold,
        cold_after: Nanos::from_f64(even_log(rng, 1e6, 1e8)),
        read: Times::Fixed(Nanos::from_f64(read)),
        spin: Times::Fixed(Nanos::from_f64(spin)),
        service: Times::Fixed(Nanos::from_f64(service)),
        turn_round: Times::Fixed(Nanos::from_f64(service * rng.random_range(0.1..=0.6))),
        ..HostSpec::default()
    }
}

/// Some distribution around `middle` nanoseconds.
fn spread_around(rng: &mut Stream, middle: f64) -> Times {
    let part = |share: f64| Nanos::from_f64(middle * share);
    match rng.random_range(0..6) {
        0 => Times::Fixed(part(1.0)),
        1 => {
            let half = rng.random_range(0.05..=0.25);
            Times::Uniform { low: part(1.0 - half), high: part(1.0 + half) }
        }
        2 => Times::Normal { mean: part(1.0), deviation: part(rng.random_range(0.02..=0.15)) },
        3 => Times::Exponential { least: part(0.9), mean: part(rng.random_range(0.05..=0.2)) },
        4 => Times::Lognormal { least: part(0.7), median: part(0.3), spread: rng.random_range(0.1..=0.6) },
        _ => {
            let slow = rng.random_range(1.2..=1.7);
            let mode = |weight, at: f64| Mode {
                weight,
                of: Times::Normal { mean: part(at), deviation: part(0.03 * at) },
            };
            let often = rng.random_range(0.5..=0.85);
            Times::Mixture(vec![mode(often, 1.0), mode(1.0 - often, slow)])
        }
    }
}

fn link(rng: &mut Stream, ranges: &Ranges) -> LinkSpec {
    let (low, high) = (ranges.rate.start().0 as f64, ranges.rate.end().0 as f64);
    // To the kilobit, as somebody might write it.
    let rate = (even_log(rng, low, high) / 1e3).round() as u64 * 1_000;
    LinkSpec {
        propagation: times_log(rng, &ranges.propagation),
        ..LinkSpec::new(Some(BitRate(rate.clamp(ranges.rate.start().0, ranges.rate.end().0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::nic::Kind;

    #[test]
    fn every_drawn_scenario_is_a_valid_file_and_comes_again() {
        for seed in 0..300 {
            let scenario = Scenario::random(seed, &Ranges::default());
            let again = Scenario::parse("drawn", &scenario.to_toml()).unwrap();
            assert_eq!(again, scenario);
            assert_eq!(Scenario::random(seed, &Ranges::default()), scenario);
        }
    }

    #[test]
    fn draws_stay_in_their_ranges_and_fill_them() {
        let drawn: Vec<_> = (0..300).map(|seed| Scenario::random(seed, &Ranges::default())).collect();
        let stages: Vec<_> = drawn
            .iter()
            .map(|scenario| {
                let host = &scenario.destination;
                host.wake_up.median() + host.read.median() + host.spin.median()
            })
            .collect();
        // Two modes and tails put the median a little above the typical stage.
        let ends = (*stages.iter().min().unwrap(), *stages.iter().max().unwrap());
        assert!(ends.0 >= Nanos(4_700) && ends.1 <= Nanos(280_000), "stages from {} to {}", ends.0, ends.1);
        assert!(stages.iter().any(|stage| *stage < Nanos(10_000)));
        assert!(stages.iter().any(|stage| *stage > Nanos(150_000)));
        for hops in 1..=30 {
            assert!(drawn.iter().any(|scenario| scenario.links.len() == hops), "no path of {hops} links");
        }
        assert!(drawn.iter().any(|scenario| matches!(scenario.destination.wake_up, Times::Mixture(_))));
        let rates: Vec<_> =
            drawn.iter().flat_map(|path| &path.links).map(|link| link.rate.unwrap()).collect();
        assert!(rates.iter().all(|rate| Ranges::default().rate.contains(rate)));
        assert!(*rates.iter().min().unwrap() < BitRate::from_mbps(12));
        assert!(*rates.iter().max().unwrap() > BitRate::from_mbps(80_000));
    }

    #[test]
    fn nics_of_all_kinds_are_drawn_and_a_third_of_the_hosts_has_none() {
        let drawn: Vec<_> = (0..1_000).map(|seed| Scenario::random(seed, &Ranges::default())).collect();
        for host in [|path: &Scenario| path.source.clone(), |path: &Scenario| path.destination.clone()] {
            let share = |is: &dyn Fn(&HostSpec) -> bool| {
                drawn.iter().filter(|path| is(&host(path))).count() as f64 / drawn.len() as f64
            };
            let kinds = [Kind::Hold, Kind::Throttle, Kind::Adaptive, Kind::Deferred];
            for (kind, expected) in kinds.map(|kind| (kind, 0.175)).into_iter().chain([(Kind::None, 0.3)]) {
                let got = share(&|host| host.nic.kind() == kind);
                assert!((got - expected).abs() < 0.06, "{kind:?}: {got}");
            }
            let short = share(&|host| host.nic.period().is_some_and(|period| period < Nanos(54_772)));
            assert!((short - 0.35).abs() < 0.06, "{short} below the middle of the logarithms");
            let counting = share(&|host| {
                matches!(
                    host.nic,
                    NicSpec::Hold { frames: Some(_), .. } | NicSpec::Throttle { frames: Some(_), .. }
                )
            });
            assert!((counting - 0.117).abs() < 0.05, "{counting} count frames");
        }
        let stamped = drawn.iter().filter(|path| path.destination.kernel_stamps).count();
        assert!((750..850).contains(&stamped), "{stamped} of 1000");
    }
}
