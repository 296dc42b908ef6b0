//! An agent and a live path on the loopback.

mod bench;

use bench::Bench;
use dwell_core::{Bytes, Departure, Nanos, Path, Train};

fn pairs(count: usize, hold: Nanos) -> Vec<Departure> {
    let pair =
        || Departure { pause: Nanos::from_millis(1), train: Train::pair(Bytes(200), Bytes(200), hold) };
    std::iter::repeat_with(pair).take(count).collect()
}

fn carries_both_ways(listen: &str) {
    let bench = Bench::listening(listen);
    let mut path = bench.connect();
    let facts = path.facts();
    assert_eq!(facts.min_size, if listen.starts_with('[') { Bytes(90) } else { Bytes(72) });
    assert!(facts.max_size >= Bytes(60_000), "{facts:?}");

    let mut fleet = pairs(20, Nanos::from_micros(100));
    fleet.push(Departure { pause: Nanos::from_millis(1), train: Train::burst(facts.min_size, 50) });
    fleet.extend(
        pairs(20, Nanos::from_micros(50))
            .into_iter()
            .map(|Departure { pause, train }| Departure { pause, train: train.reversed() }),
    );
    let passages = path.carry(&fleet).unwrap();
    assert_eq!(passages.len(), fleet.len());
    for (passage, departure) in passages.iter().zip(&fleet) {
        let observation = &passage.observation;
        assert_eq!(observation.direction, departure.train.direction);
        assert_eq!(observation.bytes(), departure.train.bytes());
        for (index, fate) in observation.fates.iter().enumerate() {
            let arrival = fate.arrival.expect("the loopback loses nothing");
            let (left, queued) = (fate.sent.kernel.unwrap(), arrival.stamps.kernel.unwrap());
            assert!(fate.sent.application <= left, "{fate:?}");
            assert!(left <= queued + Nanos::from_micros(1), "{fate:?}");
            assert!(queued <= arrival.stamps.application, "{fate:?}");
            assert_eq!((arrival.order as usize, arrival.copies), (index, 1));
        }
    }
}

#[test]
fn carries_both_ways_over_ipv4() {
    carries_both_ways("127.0.0.1:0");
}

#[test]
fn carries_both_ways_over_ipv6() {
    carries_both_ways("[::1]:0");
}
