//! Echoes in captures of all sorts, and what is said of those that will not do.

use super::{dwell, failed, pcap};
use serde_json::Value;
use std::fs;

/// An echo request (8) or reply (0) of the host `192.0.2.host`, as IP.
fn icmp(kind: u8, host: u8, sequence: u16) -> Vec<u8> {
    let (near, far) = ([192, 0, 2, 1], [192, 0, 2, host]);
    let (from, to) = if kind == 8 { (near, far) } else { (far, near) };
    let [high, low] = sequence.to_be_bytes();
    let mut packet = vec![0x45, 0, 0, 84, 0, 0, 0, 0, 64, 1, 0, 0];
    packet.extend(from.into_iter().chain(to));
    packet.extend([kind, 0, 0, 0, 0, 7, high, low]);
    packet.resize(84, 0);
    packet
}

/// Echoes a millisecond apart, `gap` ns from request to reply.
fn echoes(start: u64, gap: u64, sequences: std::ops::Range<u16>) -> Vec<(u64, Vec<u8>)> {
    let one = |sequence: u16| {
        let at = start + u64::from(sequence) * 1_000_000;
        [(at, icmp(8, 2, sequence)), (at + gap, icmp(0, 2, sequence))]
    };
    sequences.flat_map(one).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    let tap = pcap(1, &echoes(1_000_000_000_000_000, 161_000, 0..30));
    put("tap.pcap", &tap);
    put("cut.pcap", &tap[..tap.len() - 40]);
    put("host.pcap", &pcap(101, &echoes(5_000_000_000, 41_000, 5..40)));
    put("later.pcap", &pcap(101, &echoes(5_000_000_000, 41_000, 100..140)));
    put("wifi.pcap", &pcap(105, &echoes(0, 41_000, 0..9)));
    put("asked.pcap", &pcap(101, &echoes(0, 1, 0..9).into_iter().step_by(2).collect::<Vec<_>>()));
    put("empty.pcap", b"");
    put("text.pcap", b"no capture at all, but a line of text");
    put("packed.pcap", &[0x1f, 0x8b, 8, 0]);
    folder
}

#[test]
fn two_files_of_two_clocks_and_two_links() {
    let folder = folder();
    let arguments = ["echo", "--tap", "tap.pcap", "--host", "host.pcap", "--first-bits", "10 Mb/s", "--json"];
    let output =
        dwell(folder.path(), &[&arguments[..], &["--record", "run.dwell", "--plot", "run.svg"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    // Table II, I531S at 10 Mb/s.
    assert_eq!(document["two_way_ppt"]["value"], 32_000);
    assert_eq!(document["ppt_average"]["value"], 16_000);
    assert!(document["ppt_up"]["unmeasurable"].is_string());
    assert_eq!(
        (&document["echoes"], &document["tap_only"], &document["host_only"]),
        (&25.into(), &5.into(), &10.into())
    );
    assert!(fs::read_to_string(folder.path().join("run.svg")).expect("a picture").starts_with("<svg"));
    let again = dwell(folder.path(), &["replay", "run.dwell", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("one JSON document");
    assert_eq!(again["two_way_ppt"], document["two_way_ppt"]);
    assert_eq!(failed(folder.path(), &["replay", "run.dwell", "--method", "knee"]).0, 2);
}

#[test]
fn what_is_whole_of_a_cut_file_is_used_and_that_is_said() {
    let folder = folder();
    let output = dwell(folder.path(), &["echo", "--tap", "cut.pcap", "--host", "host.pcap"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("cut.pcap is cut off after 59 whole packets, which are used"), "{text}");
    assert!(text.contains("tap: 1 echoes without a reply"), "{text}");
}

#[test]
fn a_tap_alone_gives_a_bound() {
    let folder = folder();
    let output = dwell(folder.path(), &["echo", "--tap", "tap.pcap", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&document["two_way_ppt"]["bound"], &document["two_way_ppt"]["side"]),
        (&161_000.into(), &"upper".into())
    );
}

#[test]
fn captures_that_will_not_do_say_why() {
    let folder = folder();
    let refused = |arguments: &[&str], status: i32, says: &str| {
        let (found, text) = failed(folder.path(), &[&["echo"], arguments].concat());
        assert!(found == status && text.contains(says), "{arguments:?}: {found}, {text}");
    };
    refused(&["--tap", "tap.pcap", "--host", "later.pcap"], 1, "the captures do not overlap: of 30 echoes");
    refused(&["--tap", "wifi.pcap"], 1, "18 packets of a link that cannot be read here (Wi-Fi)");
    refused(&["--tap", "asked.pcap"], 1, "no whole echo among 9 packets (9 echoes without a reply)");
    refused(&["--tap", "tap.pcap", "--probe", "udp"], 1, "no whole echo among 60 packets");
    refused(&["--tap", "empty.pcap"], 1, "empty.pcap holds no packets");
    refused(&["--tap", "text.pcap"], 2, "is not a capture in the format of pcap, pcapng, snoop or ERF");
    refused(&["--tap", "packed.pcap"], 2, "is compressed");
    refused(&["--tap", "."], 2, "it is not a file");
    refused(&["--tap", "tap.pcap", "--host", "none.pcap"], 2, "none.pcap cannot be read");
    refused(&["192.0.2.2", "--tap", "tap.pcap"], 2, "what it holds was asked already");
    refused(&[], 2, "where is the tap?");
    refused(&["x.toml", "--on", "sim"], 2, "the simulator has no taps");
    refused(&["x.toml", "--on", "kernel", "--tap", "tap.pcap"], 2, "has a tap and a host of its own");
    refused(&["--respond"], 2, "the kernel answers ICMP");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let folder = folder();
    let (status, text) = failed(folder.path(), &["echo", "--tap", "nothere0"]);
    // Without the privilege to open any, the kernel may say that first.
    assert!(text.contains("nothere0") && (status == 2 || text.contains("CAP_NET_RAW")), "{status}: {text}");
}
