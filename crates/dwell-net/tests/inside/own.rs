//! Dwell's own probes, by socket stamps alone: on their own, and held against what the tracepoints tell of them.

use super::{loopback, told};
use dwell_core::Nanos;
use dwell_core::inside::{Event, Journey, Point, Stage, Way};
use dwell_net::inside::{ObserverError, OwnProbes, Watching};
use std::time::Duration;

/// Journeys of probes, until there are so many.
fn journeys(probes: &mut OwnProbes, most: usize) -> Vec<Journey> {
    let mut journeys = Vec::new();
    while journeys.len() < most {
        let mut tell = |event| match event {
            Event::Journey(journey) => journeys.push(*journey),
            Event::Dropped(dropped) => panic!("{dropped:?}"),
        };
        probes.wait(Duration::from_secs(1), &mut tell).expect("probes");
    }
    journeys
}

#[test]
fn both_ways_are_told_without_a_hole() {
    for address in loopback().map(|end| end.ip()) {
        let watching = Watching::default();
        let mut probes = OwnProbes::open(address, &watching, &ObserverError::NoBtf).expect("a loopback");
        let journeys = journeys(&mut probes, 200);
        assert_eq!(probes.losses().sum(), 0);
        for way in [Way::Receive, Way::Send] {
            let stages: &[Stage] = match way {
                Way::Receive => &[Stage::Driver],
                _ => &[Stage::Call, Stage::Discipline],
            };
            let its: Vec<&Journey> = journeys.iter().filter(|journey| journey.way == way).collect();
            assert!(its.len() >= 99, "{way:?}: {}", its.len());
            for journey in its {
                assert!(journey.stages().map(|(stage, _)| stage).eq(stages.iter().copied()), "{journey:?}");
                let times: Vec<Nanos> = journey.times.seen().map(|(_, time)| time).collect();
                // Nothing was pushed into order: each stamp came after the one before.
                assert!(times.is_sorted() && journey.total() == times[times.len() - 1] - times[0]);
                assert!(journey.total() > Nanos::ZERO && journey.flow.local.ip() == address);
            }
        }
        // It arrives after it left.
        let (sent, came) = (&journeys[1], &journeys[0]);
        assert!(sent.times.at(Point::Xmit) <= came.times.at(Point::Driver), "{sent:?} {came:?}");
        let missing: Vec<Point> = probes.missing().iter().map(|missing| missing.point).collect();
        let unseen = |point: &Point| !journeys.iter().any(|journey| journey.times.at(*point).is_some());
        assert_eq!(missing, Point::ALL.into_iter().filter(unseen).collect::<Vec<_>>());
        assert!(probes.missing().iter().any(|missing| missing.reason.contains("no BTF")));
    }
}

#[test]
fn only_the_way_that_was_asked_for() {
    let watching = Watching { ways: vec![Way::Send], ..Watching::default() };
    let address = loopback()[0].ip();
    let mut probes = OwnProbes::open(address, &watching, &ObserverError::NoBtf).expect("a loopback");
    assert!(journeys(&mut probes, 50).iter().all(|journey| journey.way == Way::Send));
    let missing: Vec<Point> = probes.missing().iter().map(|missing| missing.point).collect();
    assert_eq!(missing, [Point::Handed, Point::Completed]);
}

#[test]
fn an_address_of_somebody_else_is_none() {
    let address = [203, 0, 113, 9].into();
    let error = OwnProbes::open(address, &Watching::default(), &ObserverError::NoBtf).err();
    assert!(error.is_some_and(|error| error.to_string().contains("open two sockets")));
}

/// The median of what `b` is later than `a` at `point`, of probes that left nearest in time.
fn later(a: &[&Journey], b: &[&Journey], point: Point, key: Point) -> f64 {
    let mut differences: Vec<i64> = a
        .iter()
        .filter_map(|one| {
            let at = one.times.at(key)?;
            let nearest = b
                .iter()
                .min_by_key(|other| other.times.at(key).map_or(i64::MAX, |time| (time - at).abs().0))?;
            Some((nearest.times.at(point)? - one.times.at(point)?).0)
        })
        .collect();
    assert!(differences.len() > 100, "{point:?}: {}", differences.len());
    differences.sort_unstable();
    differences[differences.len() / 2] as f64
}

/// How long before and after `point` the points next to it were, at the median, in ns; of one that is the first or the
/// last of its journey, as far as on its other side.
fn stages_about(traced: &[&Journey], point: Point) -> (f64, f64) {
    let median = |mut times: Vec<i64>| {
        times.sort_unstable();
        times.get(times.len() / 2).map(|time| *time as f64)
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for journey in traced {
        let seen: Vec<(Point, Nanos)> = journey.times.seen().collect();
        let Some(at) = seen.iter().position(|(its, _)| *its == point) else { continue };
        before.extend(at.checked_sub(1).map(|other| (seen[at].1 - seen[other].1).0));
        after.extend(seen.get(at + 1).map(|other| (other.1 - seen[at].1).0));
    }
    let (before, after) = (median(before), median(after));
    (before.or(after).expect("a neighbour"), after.or(before).expect("a neighbour"))
}

#[test]
fn the_stamps_agree_with_the_tracepoints() {
    let address = loopback()[0].ip();
    let mut probes =
        OwnProbes::open(address, &Watching::default(), &ObserverError::NoBtf).expect("a loopback");
    let flow = journeys(&mut probes, 1)[0].flow;
    let watching = Watching { ports: vec![flow.local.port()], ..Watching::default() };
    let Some(mut observer) = super::observer(&watching) else { return };
    let stamped = journeys(&mut probes, 600);
    let (traced, _) = told(&mut observer);
    for (way, key, points) in [
        (Way::Receive, Point::Stamped, &[Point::Driver][..]),
        (Way::Send, Point::Called, &[Point::Discipline, Point::Xmit]),
    ] {
        let of = |all: &[Journey]| all.iter().filter(|one| one.way == way).cloned().collect::<Vec<_>>();
        let (stamped, traced) = (of(&stamped), of(&traced));
        let (stamped, traced): (Vec<_>, Vec<_>) = (stamped.iter().collect(), traced.iter().collect());
        for point in points {
            let later = later(&traced, &stamped, *point, key);
            // Between a stamp and its tracepoint the kernel queues the stamp and wakes who waits for it: how long that
            // takes is the machine's. But the stamp falls into the stages that its tracepoint parts.
            let (before, after) = stages_about(&traced, *point);
            eprintln!(
                "{point:?}: the stamp is {later} ns after the tracepoint, at the median; {before} ns and {after} ns to the others"
            );
            assert!(-before < later && later < after, "{point:?}: {later} ns of -{before} to {after}");
        }
    }
}
