//! Echoes over a path of this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::Nanos;
use dwell_core::Quantity;
use dwell_core::echo::{Asked, Echo, Inside, join};
use dwell_core::host::salehin2013;
use dwell_core::inside::{Journey, Point, Way};
use dwell_core::stats::quantile::median;
use dwell_lab::{EchoHeard, EchoLab, LabError, LabOptions};
use dwell_net::echo::Asking;
use dwell_sim::Scenario;

/// A path with one link; `None` where the system refuses namespaces.
fn lab(spin: &str, asked: Asked, ipv6: bool) -> Option<EchoLab> {
    let text = format!("name = 'echo'\n[[links]]\nrate = 'unshaped'\n[destination]\nspin = '{spin}'\n");
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    match EchoLab::up(&scenario, LabOptions { ipv6, ..LabOptions::default() }, asked) {
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// What is heard of a round.
fn run(lab: &EchoLab) -> EchoHeard {
    let asking = Asking { count: 60, interval: Nanos::from_millis(2) };
    let heard = lab.run(asking, &mut |_| {}).unwrap();
    assert!(heard.tap.1.echoes >= 50, "{:?}", heard.tap.1);
    assert_eq!((heard.tap.1.duplicated, heard.tap.1.unasked, heard.tap.1.backwards), (0, 0, 0));
    heard
}

/// What is heard of a round, and what an observer at the destination saw of it.
fn watched(spin: &str, asked: Asked, ipv6: bool) -> Option<(EchoHeard, Vec<Journey>)> {
    let lab = lab(spin, asked, ipv6)?;
    let watch = match lab.watch() {
        Err(error @ LabError::Observer(_)) => {
            eprintln!("skipped: {error}");
            return None;
        }
        other => other.unwrap(),
    };
    let heard = run(&lab);
    let watched = watch.finish().unwrap();
    assert_eq!(watched.losses.sum(), 0);
    Some((heard, watched.journeys))
}

/// Median of what is left of 2 PPT, and of the host's own stages, echo by echo.
fn against(echoes: &[Echo], inside: &Inside) -> (f64, f64) {
    let both = echoes.iter().filter_map(|echo| {
        let (up, down) = inside.times(&echo.host?)?.halves()?;
        assert!(up > Nanos::ZERO && down > Nanos::ZERO);
        Some(((echo.two_way()? - up - down).as_f64(), (up + down).as_f64()))
    });
    let (rest, stages): (Vec<f64>, Vec<f64>) = both.unzip();
    assert!(stages.len() >= 40, "{} of {}", stages.len(), echoes.len());
    (median(&rest).unwrap(), median(&stages).unwrap())
}

fn check(echoes: &[Echo], up: Nanos) {
    assert!(echoes.len() >= 50);
    // What the host's own kernel stamps say lies inside what the tap says.
    let inside = echoes.iter().filter_map(|echo| {
        let (up, down) = echo.halves()?;
        Some(echo.two_way()? - up - down)
    });
    let inside: Vec<Nanos> = inside.collect();
    assert!(inside.len() >= 40, "{} of {}", inside.len(), echoes.len());
    assert!(inside.iter().all(|rest| *rest >= Nanos::ZERO), "{inside:?}");
    // Of the same echoes: those of which the host's kernel stamps are missing may be faster than half of the others.
    let stamped: Vec<Echo> = echoes.iter().filter(|echo| echo.halves().is_some()).copied().collect();
    let report = salehin2013::report(&stamped);
    let found = |quantity| report.finding(quantity).estimate().unwrap();
    assert!(found(Quantity::PptUp) >= up.as_f64());
    assert!(found(Quantity::TwoWayPpt) >= found(Quantity::PptUp));
    assert!(
        found(Quantity::PptAsymmetry) > 0.0,
        "a program that spins before its stamp is slow on the way up"
    );
}

#[test]
fn responders_tell_their_own_times() {
    for (asked, ipv6) in [
        (Asked::Udp { port: 7924 }, false),
        (Asked::Tcp { port: 7924 }, false),
        (Asked::Udp { port: 7924 }, true),
    ] {
        let Some(lab) = lab("50 us", asked, ipv6) else { continue };
        let heard = run(&lab);
        let echoes: Vec<Echo> = heard.tap.0.iter().map(|seen| Echo::at_tap(seen, None)).collect();
        check(&echoes, Nanos::from_micros(50));
    }
}

#[test]
fn the_kernels_own_answer_is_captured_at_tap_and_host() {
    for ipv6 in [false, true] {
        let Some(lab) = lab("0 us", Asked::Icmp, ipv6) else { continue };
        let heard = run(&lab);
        let joined = join(&heard.tap.0, &heard.host.0, None);
        assert!(joined.echoes.len() >= 50);
        assert!(joined.echoes.iter().all(|echo| echo.two_way().unwrap() >= Nanos::ZERO));
        assert!(salehin2013::report(&joined.echoes).finding(Quantity::TwoWayPpt).estimate().is_some());
    }
}

#[test]
fn an_observer_at_the_host_sees_what_the_tap_says() {
    for asked in [Asked::Udp { port: 7924 }, Asked::Tcp { port: 7924 }] {
        let Some((heard, journeys)) = watched("50 us", asked, false) else { return };
        let echoes: Vec<Echo> = heard.tap.0.iter().map(|seen| Echo::at_tap(seen, None)).collect();
        let (rest, stages) = against(&echoes, &Inside::of(&journeys));
        assert!(stages > 50_000.0, "the program spins for 50 us: {stages}");
        assert!(rest.abs() < stages / 2.0, "{rest} beside {stages}");
    }
    for ipv6 in [false, true] {
        let Some((heard, journeys)) = watched("0 us", Asked::Icmp, ipv6) else { continue };
        let mut echoes = join(&heard.tap.0, &heard.host.0, None).echoes;
        let inside = Inside::of(&journeys);
        echoes.iter_mut().for_each(|echo| echo.host = echo.host.and_then(|told| inside.times(&told)));
        let (rest, stages) = against(&echoes, &inside);
        assert!(rest.abs() < 20_000.0, "{rest} beside {stages}");
    }
}

/// Also of TCP, whose packets would bring a time of the other namespace along.
#[test]
fn an_arrival_is_stamped_where_the_driver_has_it() {
    for asked in [Asked::Udp { port: 7924 }, Asked::Tcp { port: 7924 }] {
        let Some((_, journeys)) = watched("0 us", asked, false) else { return };
        let received = journeys.iter().filter(|journey| journey.way == Way::Receive);
        let before_protocol: Vec<bool> = received
            .filter_map(|journey| {
                let stamp = journey.kernel_stamp?;
                assert!(journey.times.at(Point::Driver)? <= stamp + Nanos::from_micros(1), "{journey:?}");
                Some(stamp <= journey.times.at(Point::Protocol)?)
            })
            .collect();
        let count = before_protocol.iter().filter(|before| **before).count();
        assert!(2 * count > before_protocol.len(), "{asked:?}: {count} of {}", before_protocol.len());
    }
}
