//! A core that sleeps between packets takes an interrupt late, and so stamps the first packet of a train late, and those that
//! come meanwhile with it. That looks as a NIC does that holds packets, and it is not known how long it takes the next time:
//! where it shows, no hold and no stage is claimed.

use crate::stats::quantile::median;
use crate::unit::Nanos;

/// Kernels that are awake are as late by cold caches alone.
const AWAKE: f64 = 2_000.0;
/// So large shares of the trains are asked, those of the largest dispersions: the second where a long period is in the way.
const FURTHER: [f64; 2] = [0.5, 0.2];
/// Packets that are stamped no further apart were taken together.
const TOGETHER: f64 = 3_000.0;
/// Trains that a statement needs, and the share of them that must be late: where hardly a packet crosses the path without
/// waiting, up to three quarters are.
const LEAST: usize = 8;
const MOST: f64 = 0.8;

/// By how much the kernel of the receiver stamps the first packet of a train late, in nanoseconds, at the median. `trains` are
/// dispersions and gaps by its stamps, of the first two packets. `None`: not at all, as far as they tell.
///
/// Packets far apart are taken one by one, so their gap is shorter than they were sent by the lateness of the first. Waits on
/// the path leave gaps as they were or scatter them to both sides, and what holds packets makes none of these shorter.
pub(crate) fn lateness(mut trains: Vec<(f64, f64)>) -> Option<f64> {
    trains.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    FURTHER.into_iter().find_map(|share| late_of(&trains[..(share * trains.len() as f64) as usize]))
}

fn late_of(trains: &[(f64, f64)]) -> Option<f64> {
    let alone = trains.iter().filter(|(_, gap)| *gap > TOGETHER);
    let missing: Vec<f64> = alone.map(|(dispersion, gap)| dispersion - gap).collect();
    let late = missing.iter().filter(|missing| **missing > AWAKE).count();
    let most = missing.len() >= LEAST && late as f64 >= MOST * missing.len() as f64;
    median(&missing).filter(|_| most)
}

/// Why nothing is claimed of a receiver that is so late.
pub(crate) fn reason(late: f64) -> String {
    format!(
        "the receiver's core sleeps between packets: its kernel stamps the first of a train some {} late, as if the NIC had \
         held it; keep it awake (a program that spins there, or /dev/cpu_dma_latency) and run again",
        Nanos::from_f64(late)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trains(late: f64, period: f64) -> Vec<(f64, f64)> {
        let dispersions = (0..80).map(|place: i32| 2e3 * 1.08_f64.powi(place));
        // A hold: what comes within the period comes together, what comes later is held by itself.
        dispersions.map(|x| (x, if x < period { 0.0 } else { (x - late).max(0.0) })).collect()
    }

    #[test]
    fn a_core_that_sleeps_brings_even_far_packets_closer() {
        for period in [0.0, 50e3, 150e3] {
            let late = lateness(trains(45e3, period)).unwrap();
            assert!((late - 45e3).abs() < 1.0, "{period}: {late:?}");
            assert_eq!(lateness(trains(0.0, period)), None, "{period}");
        }
        assert_eq!(lateness(trains(1e3, 0.0)), None, "caches that are cold");
        assert_eq!(lateness(Vec::new()), None);
    }

    #[test]
    fn waits_on_the_path_are_no_sleep() {
        // Seven of ten first packets waited for longer than the second ones, and the others for less.
        let waits = |(place, (x, gap)): (usize, (f64, f64))| {
            let wait = if place % 10 < 7 { -30e3 } else { 30e3 };
            (x, (gap + wait).max(0.0))
        };
        assert_eq!(lateness(trains(0.0, 0.0).into_iter().enumerate().map(waits).collect()), None);
    }
}
