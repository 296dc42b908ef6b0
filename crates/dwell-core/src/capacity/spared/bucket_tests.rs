//! A kernel's token bucket: small packets pass several at a time, and nothing leaves but when its timer comes.

use super::{Config, SparedRuns};
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report};
use crate::stats::bootstrap::Indices;
use crate::stats::chance::share;
use crate::stream::occupied;
use crate::train::{Arrival, Departure, Fate, Observation, PathFacts, Stamps};
use crate::unit::{Bytes, Nanos};

/// Nanoseconds that a host needs for a packet, by which its timer is late at most, and by which the last packet of a train,
/// for which there is no timer to set again, is stamped sooner.
const HOST: f64 = 3_100.0;
const LATE: f64 = 50_000.0;
const SOONER: f64 = 7_000.0;

/// Of a path of which nothing else is known.
pub(super) fn facts() -> PathFacts {
    PathFacts {
        max_size: Bytes(1_526),
        min_size: Bytes(84),
        resolution: Nanos(1),
        end_link: None,
        coalescence: None,
        narrow_link: None,
    }
}

/// Two hosts and a bucket between them, full before each train.
struct Bucket {
    rate: f64,
    depth: f64,
    now: f64,
    chance: Indices,
}

impl Bucket {
    fn carry(&mut self, departure: &Departure) -> Observation {
        self.now += departure.pause.as_f64();
        let (begun, mut tokens, mut since, mut free) = (self.now, self.depth, self.now, self.now);
        let last = departure.train.packets.len() - 1;
        let mut fates = Vec::new();
        for (order, packet) in departure.train.packets.iter().enumerate() {
            let sent = begun + HOST * order as f64;
            let mut at = sent.max(free);
            tokens = (tokens + (at - since) * self.rate / 1e9).min(self.depth);
            let wanting = occupied(packet.size) - tokens;
            since = at;
            if wanting > 0.0 {
                at += wanting / self.rate * 1e9 + LATE * share(&mut self.chance).powi(3);
                tokens = (tokens + (at - since) * self.rate / 1e9).min(self.depth);
                since = at;
            }
            tokens -= occupied(packet.size);
            free = at + HOST;
            let came = if order == last { at } else { at + SOONER };
            let stamps = |at: f64| {
                let at = Nanos::from_f64(at);
                Stamps { application: at, kernel: Some(at), hardware: None }
            };
            let arrival = Arrival { stamps: stamps(came + 20_000.0), order: order as u32, copies: 1 };
            fates.push(Fate { packet: *packet, sent: stamps(sent), arrival: Some(arrival) });
        }
        self.now = free;
        Observation { fates, ..Observation::default() }
    }
}

/// What a bucket of this rate is told as, by one that is asked after so many trains each, or at the end alone.
fn measured(rate: f64, seed: u64, asked: Option<usize>) -> Report {
    let mut bucket =
        Bucket { rate, depth: 2.2 * occupied(Bytes(1_526)), now: 1e9, chance: Indices::new(seed) };
    let mut method = SparedRuns::new(Config { seed, ..Config::default() }, &facts());
    while let Step::Send(fleet) = method.next() {
        for (place, departure) in fleet.iter().enumerate() {
            method.see(&bucket.carry(departure));
            if asked.is_some_and(|asked| place % asked == 0) {
                method.report();
            }
        }
    }
    method.report()
}

#[test]
fn whoever_is_asked_before_the_end_says_no_other_at_the_end() {
    assert_eq!(measured(100e6, 3, Some(5)), measured(100e6, 3, None));
}

#[test]
fn a_kernels_token_bucket_is_measured_by_large_packets_behind_what_it_lets_pass() {
    for (rate, seed) in [(10e6, 1), (50e6, 2), (100e6, 3), (100e6, 4)] {
        let report = measured(rate, seed, None);
        let Finding::Value { value, low, high, .. } = report.finding(Quantity::NarrowLinkCapacity) else {
            panic!("{rate}: {report:?}")
        };
        assert!((value / rate - 1.0).abs() < 0.01, "{rate}: {report:?}");
        assert!(low <= rate && rate <= high, "{rate}: {report:?}");
        assert!(report.warnings.iter().any(|warning| warning.contains("token bucket")), "{rate}: {report:?}");
    }
}
