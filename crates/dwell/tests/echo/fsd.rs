//! `--fsd`: captures of all sorts, the lab, and what is said of those that will not do.

use super::{dwell, failed, pcap};
use dwell_core::fsd::{Marks, Probe};
use serde_json::Value;
use std::fs;
use std::net::Ipv4Addr;

const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

fn probe(sequence: u16, hops: u8, length: u16) -> Vec<u8> {
    let marks = Marks { source: FAR.into(), destination: FAR.into(), id: 9, sequence };
    Probe { marks, hops, length }.write().expect("one version of IP")
}

/// A router's message that quotes so much of the probe. Nobody looks at its checksums.
fn exceeded(router: u8, probe: &[u8], quoted: usize) -> Vec<u8> {
    let [high, low] = (28 + quoted as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, 60, 1, 0, 0, 198, 51, 100, router];
    packet.extend(FAR.octets());
    packet.extend([11, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend(&probe[..quoted]);
    packet
}

type Packets = Vec<(u64, Vec<u8>)>;

/// As taps on either side of the third router hear pairs of IP packets of `length` bytes, a second apart: the far clock
/// is 30 years behind and gains 50 ppm, and a message takes 400 us longer than a direct probe.
fn taps(pairs: std::ops::Range<u16>, length: u16, quoted: usize) -> (Packets, Packets) {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for pair in pairs {
        let (direct, limited) = (probe(2 * pair, 64, length), probe(2 * pair + 1, 3, length));
        let left = 1_000_000_000 * u64::from(pair);
        let then = 1_700_000_000_000_000_000;
        near.push((then + left, direct.clone()));
        near.push((then + left + 500_000_000, limited.clone()));
        let gained = |left: u64| 760_000_000_000_000_000 + left + left / 20_000;
        far.push((gained(left) + 2_000_000, direct));
        far.push((gained(left + 500_000_000) + 2_400_000, exceeded(1, &limited, quoted)));
    }
    (near, far)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, packets: &Packets| {
        fs::write(folder.path().join(name), pcap(101, packets)).expect("written");
    };
    let (near, far) = taps(0..20, 576, 548);
    put("near.pcap", &near);
    put("far.pcap", &far);
    let mut others = far.clone();
    others.extend([(1, exceeded(7, &probe(41, 3, 576), 28)), (2, probe(40, 60, 576))]);
    put("others.pcap", &others);
    let mut near_21 = near.clone();
    near_21.extend([(5, probe(40, 64, 576)), (6, probe(41, 3, 576))]);
    put("near-21.pcap", &near_21);
    put("direct.pcap", &far.iter().step_by(2).cloned().collect());
    let doubled: Packets = far.iter().flat_map(|packet| [packet.clone(), packet.clone()]).collect();
    put("doubled.pcap", &doubled);
    put("later.pcap", &taps(100..120, 576, 548).1);
    put("nothing.pcap", &vec![(0, vec![0x45; 40])]);
    put("reached.pcap", &near);
    let (near, far) = taps(0..20, 84, 28);
    put("near-84.pcap", &near);
    put("far-56.pcap", &far);
    folder
}

#[test]
fn two_captures_of_two_clocks() {
    let folder = folder();
    let arguments = ["echo", "--fsd", "3", "--tap", "near.pcap", "--host", "far.pcap", "--json"];
    let output =
        dwell(folder.path(), &[&arguments[..], &["--record", "run.dwell", "--plot", "run.svg"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["icmp_generation"]["value"], 400_000);
    assert!((document["clock_skew"]["value"].as_f64().expect("a value") - 50.0).abs() < 0.01);
    assert_eq!((&document["pairs"], &document["hop"]), (&20.into(), &3.into()));
    assert_eq!((&document["router"], &document["method"]), (&"198.51.100.1".into(), &"fsd".into()));
    assert!(fs::read_to_string(folder.path().join("run.svg")).expect("a picture").contains("400"));
    let again = dwell(folder.path(), &["replay", "run.dwell", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("one JSON document");
    assert_eq!(
        (&again["icmp_generation"], &again["router"]),
        (&document["icmp_generation"], &document["router"])
    );
}

#[test]
fn what_is_not_used_is_told_and_sizes_leave_a_bound() {
    let folder = folder();
    let arguments = ["echo", "--fsd", "3", "--tap", "near-21.pcap", "--host", "others.pcap"];
    let text = String::from_utf8(dwell(folder.path(), &arguments).stdout).expect("text");
    assert!(text.contains("1 pairs that another router answered than most"), "{text}");
    assert!(text.contains("20 pairs, of the router at hop 3 (198.51.100.1)"), "{text}");
    // Messages smaller than what they quote are of: the direct probes lose more time on the links.
    let arguments = ["echo", "--fsd", "3", "--tap", "near-84.pcap", "--host", "far-56.pcap", "--json"];
    let output = dwell(folder.path(), &arguments);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&document["icmp_generation"]["bound"], &document["icmp_generation"]["side"]),
        (&400_000.into(), &"lower".into())
    );
}

#[test]
fn captures_that_will_not_do_say_why() {
    let folder = folder();
    let refused = |arguments: &[&str], status: i32, says: &str| {
        let (found, text) = failed(folder.path(), &[&["echo"], arguments].concat());
        assert!(found == status && text.contains(says), "{arguments:?}: {found}, {text}");
    };
    let of = |near: &str, far: &str, status: i32, says: &str| {
        refused(&["--fsd", "3", "--tap", near, "--host", far], status, says);
    };
    of(
        "near.pcap",
        "later.pcap",
        1,
        "the captures do not overlap: of 20 pairs in near.pcap and 20 in later.pcap",
    );
    of("near.pcap", "nothing.pcap", 1, "nothing of them reached the destination's side");
    of("near.pcap", "direct.pcap", 1, "the direct probes arrived, and no time-exceeded message");
    of("near.pcap", "reached.pcap", 1, "the destination is no further away than 3 hops");
    of("near.pcap", "doubled.pcap", 1, "20 pairs of which a packet was seen more than once");
    of("nothing.pcap", "far.pcap", 1, "nothing.pcap: no probe of `dwell echo --fsd` among 1 packets");
    of("far.pcap", "near.pcap", 1, "of 20 pairs none was seen whole at both taps (20 pairs of which the");
    of("near.pcap", "none.pcap", 2, "is a file: give two files");
    refused(&["--fsd", "4", "--tap", "near.pcap", "--host", "far.pcap"], 1, "with 4 hops left");
    refused(&["--fsd", "3", "--tap", "near.pcap"], 2, "where are the taps?");
    refused(&["192.0.2.2", "--fsd", "3", "--tap", "near.pcap", "--host", "far.pcap"], 2, "is a file");
    refused(&["192.0.2.2", "--fsd", "3", "--plot", "x.svg"], 2, "could be kept or drawn");
    refused(&["192.0.2.2", "--fsd", "3", "--interval", "10 ms"], 2, "at least 100");
    refused(&["x.toml", "--fsd", "3", "--on", "sim"], 2, "the simulator has no taps");
    refused(&["x.toml", "--fsd", "3", "--on", "kernel", "--tap", "near.pcap"], 2, "has taps of its own");
    refused(&["--fsd", "3", "--count", "40000", "--tap", "near.pcap", "--host", "far.pcap"], 2, "at most");
    let output = dwell(folder.path(), &["echo", "--fsd", "3", "--probe", "udp"]);
    assert_eq!(output.status.code(), Some(2), "of a router nothing else is asked");
}

#[test]
fn a_router_of_this_kernel() {
    let folder = folder();
    let links = "[[links]]\nrate = \"unshaped\"\n".repeat(2);
    fs::write(folder.path().join("routers.toml"), format!("name = \"routers\"\n{links}")).expect("written");
    let fast = ["--count", "40", "--interval", "10 ms", "--json"];
    let arguments = [&["echo", "routers.toml", "--on", "kernel", "--fsd", "1"], &fast[..]].concat();
    let output = dwell(folder.path(), &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("lets no network namespace be made") {
        eprintln!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let truth = document["truth_ns"].as_f64().expect("taps on either side of the router");
    let found = document["icmp_generation"]["value"].as_f64().expect("a value");
    assert!((found - truth).abs() < truth / 2.0 + 3_000.0, "{found}, in truth {truth}");
    assert_eq!(document["tally"]["foreign"], 0);
}
