use super::*;
use crate::report::{Unit, Vantage};
use crate::train::{Arrival, Packet, Stamps};
use crate::unit::Nanos;
use proptest::prelude::*;

/// A train of packets of so many bytes, asked to be so far apart, that left and came so far apart, in nanoseconds.
fn train(size: u64, packets: usize, asked: i64, sent: i64, came: impl Fn(usize) -> i64) -> Observation {
    let stamps = |at: i64| Stamps { application: Nanos(at), kernel: Some(Nanos(at)), hardware: None };
    let mut at = 0;
    let mut fates = Vec::new();
    for number in 0..packets {
        at += if number > 0 { came(number) } else { 1_000_000 };
        let packet = Packet { size: Bytes(size), hold: Nanos(if number > 0 { asked } else { 0 }) };
        let arrival = Arrival { stamps: stamps(at), order: number as u32, copies: 1 };
        fates.push(Fate { packet, sent: stamps(sent * number as i64), arrival: Some(arrival) });
    }
    Observation { fates, ..Observation::default() }
}

/// A value of `mbps`, give or take `half`.
fn told(mbps: f64, half: f64) -> Report {
    let finding = Finding::value(mbps * 1e6, (mbps - half) * 1e6, (mbps + half) * 1e6, Unit::Bps);
    Report::new("some", Vantage::Capture).with(Quantity::AvailableBandwidth, finding)
}

fn told_none(why: &str) -> Report {
    Report::new("some", Vantage::Capture).with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
}

fn facts(narrow: Option<u64>) -> PathFacts {
    PathFacts {
        max_size: Bytes(1_518),
        min_size: Bytes(64),
        resolution: Nanos(1),
        end_link: None,
        coalescence: None,
        narrow_link: narrow.map(BitRate::from_mbps),
    }
}

fn judged(report: Report, trains: &[Observation], narrow: Option<u64>) -> Report {
    let mut by_trains = ByTrains::default();
    trains.iter().for_each(|train| by_trains.see(train));
    by_trains.judge(report, &facts(narrow))
}

fn limit(report: &Report) -> Option<Limit> {
    report.verdict.as_ref().map(|verdict| verdict.limit)
}

// 1,250 bytes with the gap between frames: at 100 Mb/s they are 100 us apart.
const SIZE: u64 = 1_238;

#[test]
fn what_comes_slower_than_it_left_is_held_up_by_a_link() {
    let trains = vec![train(SIZE, 20, 0, 10_000, |_| 200_000); 5];
    let report = judged(told(50.0, 2.0), &trains, None);
    assert_eq!(limit(&report), Some(Limit::Link), "{report:?}");
    let reason = &report.verdict.as_ref().unwrap().reason;
    assert!(reason.starts_with("packets that left at 1 Gb/s came at 50 Mb/s"), "{reason}");
    assert!(reason.contains("would not show"), "{reason}");
}

#[test]
fn a_sender_that_makes_no_faster_trains_is_the_limit() {
    let late = vec![train(SIZE, 20, 50_000, 100_000, |_| 100_000); 5];
    assert_eq!(limit(&judged(told(100.0, 2.0), &late, None)), Some(Limit::SenderLimited));
    let as_asked = vec![train(SIZE, 20, 100_000, 100_000, |_| 100_000); 5];
    let report = judged(told(100.0, 2.0), &as_asked, None);
    assert_eq!(limit(&report), Some(Limit::SenderLimited));
    // What is known to be all that the link carries needs no faster trains.
    let report = judged(told(100.0, 2.0), &as_asked, Some(100));
    assert_eq!(limit(&report), Some(Limit::Link), "{report:?}");
}

#[test]
fn what_came_as_it_left_contradicts_a_lower_rate() {
    let trains = vec![train(SIZE, 20, 50_000, 50_000, |_| 50_000); 5];
    assert_eq!(limit(&judged(told(100.0, 2.0), &trains, None)), Some(Limit::Unstable));
    let lost = |train: &Observation| {
        let mut train = train.clone();
        train.fates.iter_mut().skip(1).for_each(|fate| fate.arrival = None);
        train
    };
    let none: Vec<Observation> = trains.iter().map(lost).collect();
    assert_eq!(limit(&judged(told(100.0, 2.0), &none, None)), Some(Limit::Unstable));
}

/// A link with 100 Mb/s free brings what is sent faster at 100 Mb/s or more.
#[test]
fn what_came_slower_than_is_told_to_be_free_contradicts_it() {
    let trains = vec![train(SIZE, 20, 0, 10_000, |_| 200_000); 5];
    let free = judged(told(100.0, 2.0), &trains, None);
    assert_eq!(limit(&free), Some(Limit::Unstable), "{free:?}");
    assert!(free.verdict.unwrap().reason.ends_with("came at 50 Mb/s, slower than what is told to be free"));
    let at_most = Finding::Bound { bound: 100e6, side: Side::Upper, unit: Unit::Bps, reason: "some".into() };
    let at_most = Report::new("some", Vantage::Capture).with(Quantity::AvailableBandwidth, at_most);
    assert_eq!(limit(&judged(at_most, &trains, None)), Some(Limit::Link));
    // What is a link's whole rate may come slower, where others take of it.
    let capacity = told(100.0, 2.0).findings.into_values().next().unwrap();
    let capacity = Report::new("some", Vantage::Capture).with(Quantity::NarrowLinkCapacity, capacity);
    assert_eq!(limit(&judged(capacity, &trains, None)), Some(Limit::Link));
}

#[test]
fn packets_that_come_in_batches_are_of_the_hosts() {
    let came = |number: usize| if number.is_multiple_of(10) { 250_000 } else { 1_000 };
    let trains = vec![train(SIZE, 60, 10_000, 12_000, came); 3];
    let report = judged(told(400.0, 2.0), &trains, None);
    assert_eq!(limit(&report), Some(Limit::HostLimited), "{report:?}");
    let reason = &report.verdict.as_ref().unwrap().reason;
    assert!(reason.contains("batches of 10, 250.0 us apart"), "{reason}");
    assert!(report.warnings[0].contains("batches"), "{report:?}");
    // Also those whose packets all bear one time.
    let at_once = |number: usize| if number.is_multiple_of(10) { 250_000 } else { 0 };
    let trains = vec![train(SIZE, 60, 10_000, 12_000, at_once); 3];
    assert_eq!(limit(&judged(told(400.0, 2.0), &trains, None)), Some(Limit::HostLimited));
    // And pairs, of which none tells a rate: those of a path come apart, however near.
    let none = || told_none("no pair came apart");
    let pairs = |came: i64| vec![train(SIZE, 2, 0, 12_000, move |_| came); 20];
    let gathered = judged(none(), &pairs(0), None);
    assert_eq!((limit(&gathered), gathered.warnings.len()), (Some(Limit::HostLimited), 0), "{gathered:?}");
    let mixed = [pairs(0), pairs(12_000), pairs(12_000)].concat();
    for apart in [pairs(100), mixed] {
        assert_eq!(limit(&judged(none(), &apart, None)), Some(Limit::Unstable));
    }
    // But not those of a clock that ticks no sooner, nor packets in another order.
    let ticking = |resolution: i64| PathFacts { resolution: Nanos(resolution), ..facts(None) };
    let mut by_trains = ByTrains::default();
    trains.iter().for_each(|train| by_trains.see(train));
    let by = |resolution| limit(&by_trains.judge(told(400.0, 2.0), &ticking(resolution)));
    assert_eq!(by(100_000), Some(Limit::HostLimited));
    assert_ne!(by(250_000), Some(Limit::HostLimited));
    let turned = |number: usize| if number.is_multiple_of(10) { 900_000 } else { -50_000 };
    let trains = vec![train(SIZE, 60, 10_000, 12_000, turned); 3];
    assert_ne!(limit(&judged(told(400.0, 2.0), &trains, None)), Some(Limit::HostLimited));
    // Half of the packets of a busy link come as near to each other as it lets them: not nearer than it sends.
    let queued = |number: usize| if number.is_multiple_of(2) { 20_000 } else { 100_000 };
    let trains = vec![train(SIZE, 60, 10_000, 12_000, queued); 3];
    assert_eq!(limit(&judged(told(160.0, 2.0), &trains, None)), Some(Limit::Link));
    // What leaves closer and closer to each other comes so.
    let mut chirp = train(SIZE, 20, 10_000, 12_000, |number| 1 << (26 - number));
    for (number, fate) in chirp.fates.iter_mut().enumerate() {
        fate.sent.kernel = Some(Nanos(-(1 << (26 - number))));
    }
    let report = judged(told(400.0, 2.0), &[chirp], None);
    assert_ne!(limit(&report), Some(Limit::HostLimited), "{report:?}");
}

#[test]
fn a_range_wider_than_its_value_is_unstable() {
    let trains = vec![train(SIZE, 20, 0, 10_000, |_| 200_000); 5];
    assert_eq!(limit(&judged(told(50.0, 26.0), &trains, None)), Some(Limit::Unstable));
}

#[test]
fn trains_that_fall_alike_show_a_bucket_with_rate_and_depth() {
    let falls =
        |at: usize| train(SIZE, 100, 0, 10_000, move |number| if number < at { 20_000 } else { 200_000 });
    let report = judged(told(90.0, 2.0), &[falls(40), falls(41), falls(40)], None);
    assert_eq!(limit(&report), Some(Limit::TokenBucket), "{report:?}");
    let reason = &report.verdict.as_ref().unwrap().reason;
    assert!(reason.contains("50.000 Mb/s, 4"), "{reason}");
    assert_eq!(report.warnings.len(), 1);
    // Cross traffic does not come at the same place each time; one is no sign; and most must fall.
    for trains in [
        vec![falls(20), falls(40), falls(70)],
        vec![falls(40)],
        [vec![falls(40), falls(40)], vec![train(SIZE, 100, 0, 10_000, |_| 100_000); 4]].concat(),
    ] {
        assert_eq!(limit(&judged(told(40.0, 2.0), &trains, None)), Some(Limit::Link));
    }
}

#[test]
fn small_packets_that_take_as_long_as_large_ones_are_of_the_hosts() {
    let trains = |small: i64| {
        let of = |size, came| vec![train(size, 2, 0, 5_000, move |_| came); 30];
        [of(600, small), of(1_500, 30_000)].concat()
    };
    let report = || Report { findings: told(400.0, 2.0).findings, ..Report::new("some", Vantage::Capture) };
    assert_eq!(limit(&judged(report(), &trains(29_000), None)), Some(Limit::HostLimited));
    assert_eq!(limit(&judged(report(), &trains(13_000), None)), Some(Limit::Link));
}

#[test]
fn what_a_method_says_itself_stands_and_without_a_rate_no_link_is_told() {
    let trains = vec![train(SIZE, 20, 0, 10_000, |_| 200_000); 5];
    let own = told(50.0, 2.0).limited(Limit::SenderLimited, "of its own");
    assert_eq!(judged(own.clone(), &trains, None), own);
    let none = told_none("nothing came");
    let unstable = judged(none.clone(), &trains, None);
    assert_eq!(limit(&unstable), Some(Limit::Unstable));
    assert!(unstable.verdict.unwrap().reason.ends_with("nothing came"));
    assert_eq!(limit(&judged(none.clone(), &[], None)), Some(Limit::Unstable), "nothing was sent");
    // A train that left half as fast as it was to is its sender's.
    let late = vec![train(SIZE, 20, 50_000, 100_000, |_| 100_000); 5];
    assert_eq!(limit(&judged(none.clone(), &late, None)), Some(Limit::SenderLimited));
    let other = Report::new("some", Vantage::Capture);
    assert_eq!(judged(other.clone(), &trains, None), other);
    // A bucket, and hosts, show without a rate.
    let falls = train(SIZE, 100, 0, 10_000, |number| if number < 40 { 20_000 } else { 200_000 });
    let bucket = judged(none.clone(), &[falls.clone(), falls.clone()], None);
    assert_eq!(limit(&bucket), Some(Limit::TokenBucket), "{bucket:?}");
    assert_eq!(judged(other.clone(), &[falls.clone(), falls], None), other);
    let sizes = [600, 1_500].map(|size| vec![train(size, 2, 0, 5_000, |_| 30_000); 30]).concat();
    assert_eq!(limit(&judged(none, &sizes, None)), Some(Limit::HostLimited));
}

proptest! {
    #[test]
    fn never_panics(gaps in prop::collection::vec((any::<i32>(), any::<i32>()), 0..60), mbps in 0.0..1e6_f64) {
        let trains: Vec<Observation> = gaps
            .chunks(20)
            .map(|part| train(600, part.len(), i64::from(part[0].0), i64::from(part[0].1), |at| i64::from(part[at].1)))
            .collect();
        let _ = judged(told(mbps, 1.0), &trains, None);
    }
}
