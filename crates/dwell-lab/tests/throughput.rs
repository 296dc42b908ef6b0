//! Throughput between two hosts of a lab. Bounds are those that hold on a loaded machine: what a link cannot carry never
//! arrives, what it carries may be less where the machine is short of time.

use dwell_core::throughput::Transfer;
use dwell_core::throughput::report::report;
use dwell_core::throughput::udpst::{Parameters, capacity};
use dwell_core::{Bytes, Direction, Nanos, Quantity};
use dwell_lab::{Lab, LabError, LabOptions};
use dwell_net::throughput::udpst::{UdpstConfig, UdpstServer, UdpstServerConfig, measure};
use dwell_net::throughput::{Order, StreamPath};
use dwell_sim::Scenario;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A link of 20 Mb/s with 10 ms of round trip and a queue of 200 ms, of which more is said; `None` where the system refuses
/// namespaces.
fn lab(more: &str) -> Option<Lab> {
    let text = "name = 'slow'\n[[links]]\nrate = '1 Gb/s'\npropagation = '5 ms'\n\
                [[links]]\nrate = '20 Mb/s'\npropagation = '0 us'\nqueue = '500000 B'\n";
    match Lab::up(&Scenario::parse("test.toml", &format!("{text}{more}")).unwrap(), LabOptions::default()) {
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

fn order(congestion: &str) -> Order {
    Order {
        token: [0; 16],
        direction: Direction::Forward,
        connections: 1,
        duration: Nanos::from_secs(4),
        congestion: Some(congestion.to_owned()),
        autotune: false,
        window: None,
    }
}

/// A run, or what is said where there is none.
fn tried(lab: &Lab, order: &Order) -> Result<Transfer, String> {
    lab.at_source(|config| {
        let mut path = StreamPath::connect(config).map_err(|error| error.to_string())?;
        path.run(order).map_err(|error| error.to_string())
    })
    .unwrap()
}

fn run(lab: &Lab, autotune: bool) -> Transfer {
    tried(lab, &Order { autotune, ..order("reno") }).unwrap()
}

/// The median round trip of the last second.
fn late_round_trip(run: &Transfer) -> f64 {
    let rtts: Vec<f64> = run.rtts(run.span() - Nanos::from_secs(1), Nanos::MAX).collect();
    dwell_core::stats::quantile::median(&rtts).unwrap()
}

#[test]
fn tcp_fills_a_slow_link_and_sobas_does_it_without_the_queue() {
    let Some(lab) = lab("") else { return };
    let (free, tuned) = (run(&lab, false), run(&lab, true));
    for run in [&free, &tuned] {
        // Of 1538 bytes on Ethernet 1448 are payload.
        let share = run.later_rate().0 as f64 / (20e6 * 1448.0 / 1538.0);
        assert!((0.7..1.02).contains(&share), "{share}");
    }
    let window = tuned.receiver.last().unwrap().connections[0].window;
    assert!(window.is_some_and(|window| window < Bytes(100_000)), "{window:?}");
    let (free, tuned) = (late_round_trip(&free), late_round_trip(&tuned));
    assert!(tuned < 0.5 * free, "{tuned} with SOBAS, {free} without");
}

/// What is carried is told, and that much of it was sent again; or an error says what was waited for in vain.
#[test]
fn a_path_that_loses_half_of_all_packets_is_told_as_such() {
    let Some(lab) = lab("loss = 0.5\n") else { return };
    match tried(&lab, &order("cubic")) {
        Ok(run) => {
            let again = report(&run).finding(Quantity::Retransmitted).estimate().unwrap();
            assert!((0.3..0.7).contains(&again) && run.later_rate().0 < 10_000_000, "{again}: {run:?}");
        }
        Err(error) => {
            let waited = ["timed out", "in vain", "no data came", "nothing came for", "did not end it"];
            assert!(waited.iter().any(|what| error.contains(what)), "{error}");
        }
    }
}

/// The rate is what the link carries before and after, and nothing of it was sent again for the longer way.
#[test]
fn a_route_that_becomes_a_longer_one_is_no_loss_of_the_path() {
    let Some(lab) = lab("reroute = { at = '3 s', propagation = '15 ms' }\n") else { return };
    let run = run(&lab, false);
    let share = run.later_rate().0 as f64 / (20e6 * 1448.0 / 1538.0);
    let again = report(&run).finding(Quantity::Retransmitted).estimate().unwrap();
    assert!((0.5..1.02).contains(&share) && again < 0.1, "{share}, {again}");
    // 10 ms before; in a window that fills no queue 40 ms since.
    let narrow = Order { window: Some(Bytes(20_000)), ..order("reno") };
    let late = late_round_trip(&tried(&lab, &narrow).unwrap());
    assert!((39e6..100e6).contains(&late), "{late}");
}

/// The window was sized for 10 ms of round trip; since it takes 40, that would carry a quarter.
#[test]
fn a_window_is_sized_anew_for_a_longer_route() {
    let Some(lab) = lab("reroute = { at = '3 s', propagation = '15 ms' }\n") else { return };
    let order = Order { autotune: true, duration: Nanos::from_secs(8), ..order("reno") };
    let run = tried(&lab, &order).unwrap();
    let late = run.intervals(Nanos::from_secs(2)).last().unwrap().rate;
    let share = late.0 as f64 / (20e6 * 1448.0 / 1538.0);
    assert!((0.6..1.02).contains(&share), "{share}");
    // And no queue of the old size, which would be 200 ms.
    let late = late_round_trip(&run);
    assert!((39e6..100e6).contains(&late), "{late}");
}

/// Segments that overtake each other take nothing from what a link carries but what is sent again needlessly.
#[test]
fn reordering_is_no_loss_of_the_path() {
    let Some(lab) = lab("reordering = { share = 0.1, by = '3 ms' }\n") else { return };
    let run = tried(&lab, &order("cubic")).unwrap();
    let share = run.later_rate().0 as f64 / (20e6 * 1448.0 / 1538.0);
    let again = report(&run).finding(Quantity::Retransmitted).estimate().unwrap();
    assert!((0.5..1.02).contains(&share) && again < 0.1, "{share}, {again}");
}

#[test]
fn udpst_finds_what_a_slow_link_carries() {
    let Some(lab) = lab("") else { return };
    let listen = SocketAddr::new(lab.agent_address(), 24_601);
    let config = UdpstServerConfig { listen, secret: None, tests: 1 };
    let server = lab.at_destination(|| UdpstServer::bind(config)).unwrap().unwrap();
    let stop = AtomicBool::new(false);
    let tested = std::thread::scope(|scope| {
        scope.spawn(|| lab.at_destination(|| server.serve(&stop)));
        let parameters = Parameters { test: 4, ..Parameters::default() };
        let (host, port, direction) = (listen.ip().to_string(), listen.port(), Direction::Forward);
        let config = UdpstConfig { host, port, secret: None, direction, parameters };
        let tested = lab.at_source(|_| measure(&config));
        stop.store(true, Ordering::Relaxed);
        tested
    });
    let report = capacity::report(&tested.unwrap().unwrap());
    let found = report.finding(Quantity::IpCapacity).estimate().unwrap();
    // Of 1288 bytes on Ethernet 1250 are IP's.
    assert!((14e6..20e6).contains(&found), "{found}: {:?}", report.verdict);
}
