//! Echoes over a path of this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::Nanos;
use dwell_core::Quantity;
use dwell_core::echo::{Asked, Echo, join};
use dwell_core::host::salehin2013;
use dwell_lab::{EchoHeard, EchoLab, LabError, LabOptions};
use dwell_net::echo::Asking;
use dwell_sim::Scenario;

/// What is heard of a round; `None` where the system refuses namespaces.
fn heard(spin: &str, asked: Asked, ipv6: bool) -> Option<EchoHeard> {
    let text = format!("name = 'echo'\n[[links]]\nrate = 'unshaped'\n[destination]\nspin = '{spin}'\n");
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    let lab = match EchoLab::up(&scenario, LabOptions { ipv6, ..LabOptions::default() }, asked) {
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            return None;
        }
        other => other.unwrap(),
    };
    let asking = Asking { count: 60, interval: Nanos::from_millis(2) };
    let heard = lab.run(asking, &mut |_| {}).unwrap();
    assert!(heard.tap.1.echoes >= 50, "{:?}", heard.tap.1);
    assert_eq!((heard.tap.1.duplicated, heard.tap.1.unasked, heard.tap.1.backwards), (0, 0, 0));
    Some(heard)
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
    let report = salehin2013::report(echoes);
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
        let Some(heard) = heard("50 us", asked, ipv6) else { continue };
        let echoes: Vec<Echo> = heard.tap.0.iter().map(|seen| Echo::at_tap(seen, None)).collect();
        check(&echoes, Nanos::from_micros(50));
    }
}

#[test]
fn the_kernels_own_answer_is_captured_at_tap_and_host() {
    for ipv6 in [false, true] {
        let Some(heard) = heard("0 us", Asked::Icmp, ipv6) else { continue };
        let joined = join(&heard.tap.0, &heard.host.0, None);
        assert!(joined.echoes.len() >= 50);
        assert!(joined.echoes.iter().all(|echo| echo.two_way().unwrap() >= Nanos::ZERO));
        assert!(salehin2013::report(&joined.echoes).finding(Quantity::TwoWayPpt).estimate().is_some());
    }
}
