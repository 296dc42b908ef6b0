//! TCP as cross traffic: it fills what is free, it makes room, and it does not hang on how the engine is driven.

use dwell_core::truth::LinkUse;
use dwell_core::{Bytes, Departure, Direction, Nanos, Path, Train};
use dwell_sim::{Network, Scenario, SimPath};

fn scenario(link: &str, cross: &[&str]) -> Scenario {
    let flows: String = cross.iter().map(|flow| format!("[[links.cross]]\n{flow}\n")).collect();
    let text = format!("name = 'tcp'\n[[links]]\nrate = '100 Mb/s'\n{link}\n{flows}");
    Scenario::parse("tcp.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// What the link carries of each in ten seconds, after two.
fn used(link: &str, cross: &[&str]) -> LinkUse {
    let mut path = SimPath::new(&scenario(link, cross), 1);
    let pair = Train::pair(Bytes(100), Bytes(100), Nanos::ZERO);
    let mut rest = |seconds: usize| {
        path.carry(&vec![Departure { pause: Nanos::from_millis(50), train: pair.clone() }; seconds * 20])
            .unwrap();
        path.reading(Direction::Forward).unwrap().unwrap()
    };
    let before = rest(2);
    before.until(&rest(10)).unwrap().links[0]
}

const GREEDY: &str = "kind = { tcp = { rtt = '10 ms' } }";
const RENO: &str = "kind = { tcp = { rtt = '10 ms', algorithm = 'reno' } }";

#[test]
fn greedy_tcp_fills_the_link_and_loses_little() {
    for flow in [GREEDY, RENO] {
        let used = used("queue = '64 KiB'", &[flow]);
        assert!(used.cross > 85e6 && used.cross < 100e6, "{used:?}");
        assert!(used.offered > used.cross && used.offered < 1.01 * used.cross, "{used:?}");
    }
}

#[test]
fn a_program_that_writes_at_a_rate_offers_that_rate() {
    let slow = "kind = { tcp = { rtt = '10 ms' } }\nload = '30 %'";
    let used = used("queue = '64 KiB'", &[slow]);
    assert!((used.cross - 30e6).abs() < 0.6e6, "{used:?}");
}

#[test]
fn tcp_makes_room_for_what_does_not_react() {
    let steady = "kind = 'constant'\nload = '60 %'";
    let used = used("queue = '64 KiB'", &[GREEDY, steady]);
    // The other's loss is what a full queue costs; TCP has about the 40 Mb/s that it leaves.
    assert!((92e6..100e6).contains(&used.cross), "{used:?}");
    assert!(used.offered - used.cross < 3e6, "{used:?}");
}

#[test]
fn every_discipline_carries_tcp_and_forgets_nothing() {
    for link in [
        "discipline = 'fair'\nqueue = '64 KiB'",
        "discipline = { priority = { probes = 1 } }\nqueue = '64 KiB'",
    ] {
        let used = used(link, &[GREEDY, RENO]);
        assert!(used.cross > 85e6, "{link}: {used:?}");
    }
}

#[test]
fn loss_on_the_link_holds_tcp_down() {
    // Mathis and others 1997: 1.22 MSS / (RTT sqrt(p)) = 14.6 Mb/s at 1 %.
    let used = used("queue = '64 KiB'\nloss = '1 %'", &[RENO]);
    assert!((8e6..22e6).contains(&used.cross), "{used:?}");
}

#[test]
fn a_window_keeps_tcp_from_filling_an_endless_queue() {
    let windowed = "kind = { tcp = { rtt = '10 ms', window = '30 KiB' } }";
    let used = used("queue = 'unlimited'", &[windowed]);
    // 20 packets each 10 ms and what one of them takes.
    assert!((22e6..25e6).contains(&used.cross), "{used:?}");
    let text =
        format!("name = 'x'\n[[links]]\nrate = '1 Mb/s'\nqueue = 'unlimited'\n[[links.cross]]\n{GREEDY}\n");
    let error = Scenario::parse("x.toml", &text).unwrap_err().to_string();
    assert!(error.contains("unlimited queue"), "{error}");
}

#[test]
fn how_far_the_engine_goes_in_one_step_changes_nothing() {
    for link in ["queue = '64 KiB'", "discipline = 'fair'\nqueue = '64 KiB'"] {
        let links = scenario(link, &[GREEDY, RENO, "kind = 'poisson'\nload = '20 %'"]).links;
        let outcomes = |step: i64| {
            let (mut network, mut out) = (Network::new(&links, 5), Vec::new());
            let mut until = 0;
            for packet in 0..300 {
                let at = packet * 3_100_000;
                while until + step < at {
                    until += step;
                    network.advance(Nanos(until), &mut out);
                }
                network.inject(Nanos(at), packet as u64, Bytes(700));
            }
            network.finish(&mut out);
            let mut out: Vec<String> = out.iter().map(|outcome| format!("{outcome:?}")).collect();
            out.sort();
            out
        };
        let (fine, coarse) = (outcomes(100_000), outcomes(1_000_000_000_000));
        assert_eq!(fine, coarse, "{link}");
    }
}
