//! Trains over the loopback.

use crate::bench::{Bench, pairs};
use dwell_core::{Bytes, Departure, Nanos, Path, Train};

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

#[test]
fn the_circumstances_tell_of_both_hosts() {
    let bench = Bench::with("127.0.0.1:0", |config| config.core = Some(0));
    let mut path = bench.connect();
    path.carry(&pairs(9, Nanos::from_micros(100))).unwrap();
    let told = path.circumstances();
    assert_eq!(told.world, "live");
    for host in [&told.sender, &told.receiver] {
        assert!(host.kernel.is_some() && host.cores.unwrap() > 0 && host.clock_source.is_some(), "{host:?}");
        assert_eq!(host.interface.as_deref(), Some("lo"));
        assert!(host.offloads.contains_key("rx-gro"));
        assert_eq!(host.stamps, ["application", "kernel"]);
    }
    assert_eq!((told.sender.pinned_core, told.receiver.pinned_core), (None, Some(0)));
    let idle = told.idle_before_probe.unwrap();
    assert!(idle >= Nanos::from_micros(990), "{idle}");
}

#[test]
fn the_agent_is_busy_before_its_stamp() {
    let spin = Nanos::from_micros(300);
    let bench = Bench::with("127.0.0.1:0", |config| config.before_stamp = spin);
    for passage in bench.connect().carry(&pairs(10, Nanos::ZERO)).unwrap() {
        for fate in passage.observation.fates {
            let stamps = fate.arrival.unwrap().stamps;
            assert!(stamps.application - stamps.kernel.unwrap() >= spin);
        }
    }
}

#[test]
fn holds_are_kept_by_transmit_stamps() {
    let hold = Nanos::from_micros(200);
    let mut path = Bench::listening("127.0.0.1:0").connect_owned();
    let passages = path.1.carry(&pairs(200, hold)).unwrap();
    let error = |passage: &dwell_core::Passage| {
        let [heading, trailing] = passage.observation.fates[..] else { panic!("a pair is two packets") };
        (trailing.sent.kernel.unwrap() - heading.sent.kernel.unwrap() - hold).abs()
    };
    let mut errors: Vec<Nanos> = passages.iter().map(error).collect();
    errors.sort_unstable();
    // On a quiet machine the median is near 0.1 us; a loaded one may take the core away in half of the holds.
    assert!(errors[errors.len() / 4] < Nanos::from_micros(5), "{errors:?}");
}

#[test]
fn several_sessions_do_not_mix() {
    let bench = Bench::listening("127.0.0.1:0");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut path = bench.connect();
                for _ in 0..5 {
                    let mut fleet = pairs(20, Nanos::from_micros(50));
                    fleet.extend(
                        pairs(5, Nanos::ZERO)
                            .into_iter()
                            .map(|one| Departure { train: one.train.reversed(), ..one }),
                    );
                    for passage in path.carry(&fleet).unwrap() {
                        assert!(
                            passage.observation.fates.iter().all(|fate| fate.arrival.unwrap().copies == 1)
                        );
                    }
                }
            });
        }
    });
}

#[test]
fn an_agent_on_all_addresses_answers_from_the_one_that_was_asked() {
    let bench = Bench::with("[::]:0", |_| {});
    for host in ["127.0.0.1", "127.0.0.2", "::1"] {
        let mut config = bench.config();
        config.host = host.to_owned();
        let mut path = dwell_net::LivePath::connect(config).unwrap();
        let mut fleet = pairs(3, Nanos::ZERO);
        fleet.iter_mut().for_each(|departure| departure.train.direction = dwell_core::Direction::Reverse);
        for passage in path.carry(&fleet).unwrap() {
            assert!(passage.observation.fates.iter().all(|fate| fate.arrival.is_some()), "{host}");
        }
    }
}

#[test]
fn a_burst_may_be_longer_than_one_call_takes() {
    let bench = Bench::listening("127.0.0.1:0");
    let mut path = bench.connect();
    let fleet = vec![Departure { pause: Nanos::ZERO, train: Train::burst(Bytes(72), 2_500) }];
    let fates = path.carry(&fleet).unwrap().remove(0).observation.fates;
    assert_eq!(fates.len(), 2_500);
    assert!(fates.iter().all(|fate| fate.sent.kernel.is_some() && fate.arrival.is_some()));
}
