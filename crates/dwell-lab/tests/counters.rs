//! Counters of a lab's links against what was offered.

use dwell_core::truth::Usage;
use dwell_core::{BitRate, Bytes, Departure, Direction, Nanos, Path, Train};
use dwell_lab::{Lab, LabError, LabOptions};
use dwell_net::plugin::Plugin;
use dwell_sim::Scenario;
use std::sync::{Mutex, PoisonError};

/// One lab at a time: what others want of the cores, generators do not get.
static TURN: Mutex<()> = Mutex::new(());

/// `None` where the system refuses namespaces.
fn up(text: &str) -> Option<Lab> {
    let scenario = Scenario::parse("counters.toml", &format!("name = 'counted'\n{text}")).unwrap();
    match Lab::up(&scenario, LabOptions::default()) {
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// What the links of both ways carry while thirty pairs are sent forward; `None` where the system refuses namespaces.
fn used(text: &str) -> Option<[Usage; 2]> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = up(text)?;
    let mut path = lab.connect().unwrap();
    let pair = Train::pair(Bytes(1526), Bytes(1526), Nanos::ZERO);
    let fleet = vec![Departure { pause: Nanos::from_millis(60), train: pair }; 30];
    let ways = [Direction::Forward, Direction::Reverse];
    let before = ways.map(|way| path.reading(way).unwrap().unwrap());
    path.carry(&fleet).unwrap();
    let after = ways.map(|way| path.reading(way).unwrap().unwrap());
    Some([0, 1].map(|way| before[way].until(&after[way]).unwrap()))
}

/// Bits per second of thirty pairs.
fn pairs(used: &Usage) -> f64 {
    60.0 * 1538.0 * 8.0 / used.span.as_secs_f64()
}

/// Whether `found` is within `share` of `truth`.
fn near(what: &str, found: f64, truth: f64, share: f64) {
    assert!((found - truth).abs() <= share * truth, "{what}: {found} for {truth}");
}

const FLOWS: &str = "[[links.cross]]\nkind = 'constant'\nload = '30 %'\nsize = '584 B'\n\
                     [[links.cross]]\nkind = 'constant'\nload = '10 %'\nsize = '72 B'\n";

#[test]
fn every_carriage_counts_what_is_offered_to_two_percent() {
    for carrier in ["emulated", "tbf", "htb"] {
        let text = format!(
            "lab.carrier = '{carrier}'\n[[links]]\nrate = '20 Mb/s'\n{FLOWS}\n[[links]]\nrate = '50 Mb/s'\n"
        );
        let Some([forward, _]) = used(&text) else { return };
        near(carrier, forward.links[0].cross, 8e6, 0.02);
        near(carrier, forward.links[0].offered, 8e6, 0.02);
        assert!(forward.links[1].cross < 1e4, "{carrier}: {:?}", forward.links[1]);
        // The control channel's own datagrams are few and small.
        for link in &forward.links {
            assert!((0.99..1.2).contains(&(link.own / pairs(&forward))), "{carrier}: {link:?}");
        }
        let tight = forward.tight().unwrap();
        assert_eq!(tight.link, 0, "{carrier}");
        near(carrier, tight.free().unwrap(), 12e6, 0.02);
    }
}

#[test]
fn traffic_over_several_links_and_back_is_counted_on_each() {
    let flow = |rate: &str, more: &str| {
        format!("[[links.cross]]\nkind = 'constant'\nrate = '{rate}'\nsize = '584 B'\n{more}\n")
    };
    let text = format!(
        "lab.carrier = 'tbf'\n[[links]]\nrate = '50 Mb/s'\n{}[[links]]\nrate = '20 Mb/s'\n\
         [[reverse]]\nrate = '20 Mb/s'\n{}[[reverse]]\nrate = '50 Mb/s'\n",
        flow("5 Mb/s", "hops = 2"),
        flow("3 Mb/s", "").replace("links", "reverse"),
    );
    let Some([forward, reverse]) = used(&text) else { return };
    near("first", forward.links[0].cross, 5e6, 0.02);
    near("second", forward.links[1].cross, 5e6, 0.02);
    assert_eq!(forward.tight().unwrap().link, 1);
    near("way back", reverse.links[0].cross, 3e6, 0.02);
    assert!(reverse.links[1].cross < 1e5, "{:?}", reverse.links[1]);
}

#[test]
fn kernel_tcp_reacts_to_what_does_not() {
    let text = "lab.carrier = 'tbf'\n[[links]]\nrate = '20 Mb/s'\nqueue = '64 KiB'\n\
                [[links.cross]]\nkind = 'constant'\nload = '40 %'\nsize = '584 B'\n\
                [[links.cross]]\nkind = { tcp = { algorithm = 'cubic' } }\n\
                [[links]]\nrate = '50 Mb/s'\n[[links.cross]]\nkind = { tcp = {} }\nload = '20 %'\n";
    let Some([forward, _]) = used(text) else { return };
    // What does not react has its 8 Mb/s but for what is lost, and TCP most of the other 12.
    assert!((18.5e6..20.4e6).contains(&forward.links[0].cross), "{forward:?}");
    near("a program that writes at a rate", forward.links[1].cross, 10e6, 0.05);
}

/// What a server does when its client has measured is no part of the measurement.
#[test]
fn a_tool_is_counted_until_its_client_ends() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = up("[[links]]\nrate = '20 Mb/s'\n") else { return };
    let described = "name = 'x'\nabout = 'x'\ntime_limit_seconds = 9\n\
        [server]\nat = 'destination'\ncommand = ['sh', '-c', 'echo free 7 Mb/s; sleep 60']\n\
        [client]\nat = 'source'\ncommand = ['sleep', '0.1']\n\
        [value]\nquantity = 'available-bandwidth'\nprinted_by = 'server'\n\
        regex = 'free (?<value>[0-9.]+) (?<unit>\\S+)'\n";
    let plugin = Plugin::parse("x.toml", described).unwrap();
    let heard = lab.tool(&plugin, 1, BitRate::from_mbps(20)).unwrap();
    let told = heard.told.unwrap();
    assert_eq!(told.reading.value, 7e6);
    let (span, measured) = (heard.after.at - heard.before.at, told.ended - told.began);
    assert!(span < measured + Nanos::from_secs(2), "counted for {span}, measured for {measured}");
}
