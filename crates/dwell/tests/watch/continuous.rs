//! What `--continuous` tells, of captures.

use crate::frames::{Frame, established, exchange, quic, write, write_bytes};
use crate::{dwell, folder, lines, text};
use serde_json::{Value, json};

const START_NS: i64 = 1_700_000_000_000_000_000;

/// To which end, told by what, from when, the shortest, the mean and how many.
fn short(line: &Value) -> Value {
    let from = line["t_from_ns"].as_i64().expect("a time") - START_NS;
    json!([line["end"], line["by"], from, line["least_ns"], line["mean_ns"], line["samples"]])
}

fn round_trips(told: &[Value]) -> Vec<&Value> {
    told.iter().filter(|line| line["kind"] == "round-trips").collect()
}

#[test]
fn the_shortest_of_each_interval_is_a_line_of_its_kind() {
    let here = folder();
    let frames = [
        established(1_000, 0),
        exchange(1_000, 100_000_000, 0, 14),
        exchange(1_000, 200_000_000, 1, 12),
        exchange(1_000, 600_000_000, 2, 18),
    ];
    write(&here.path().join("a.pcap"), &frames.concat());
    let watch = ["watch", "a.pcap", "--json", "--probe", "border"];
    let plain = dwell(here.path(), &watch);
    let output = dwell(here.path(), &[&watch[..], &["--continuous", "--every", "0.5"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = lines(&output);
    let found = round_trips(&told);
    let half_a_second = 500_000_000;
    let expected = [
        json!(["client", "acknowledgment", 0, 6_000_000, 6_000_000, 2]),
        json!(["server", "acknowledgment", 0, 12_000_000, 13_000_000, 2]),
        json!(["server", "response", 0, 42_000_000, 43_000_000, 2]),
        json!(["client", "acknowledgment", half_a_second, 6_000_000, 6_000_000, 1]),
        json!(["server", "acknowledgment", half_a_second, 18_000_000, 18_000_000, 1]),
        json!(["server", "response", half_a_second, 48_000_000, 48_000_000, 1]),
    ];
    for line in &expected {
        let alike = found.iter().filter(|told| short(told) == *line).count();
        assert_eq!(alike, 1, "{line} of {found:?}");
    }
    let to_server = found.iter().find(|line| line["end"] == "server").expect("told");
    let whole = json!({
        "probe": "border",
        "to": "192.0.2.9",
        "to_port": 443,
        "other": "10.0.0.1",
        "other_port": 1000,
        "t_until_ns": START_NS + half_a_second,
        "quality": "exact",
    });
    for (key, value) in whole.as_object().expect("an object") {
        assert_eq!(&to_server[key], value, "{key}");
    }
    // The second request after the first reply is a response of the client, by which nothing is told of the network.
    let others: Vec<_> = found.iter().filter(|told| !expected.contains(&short(told))).collect();
    assert!(others.iter().all(|line| line["end"] == "client" && line["by"] == "response"), "{others:?}");
    // The handshake's line is what it is without.
    let handshakes: Vec<_> = told.iter().filter(|line| line["kind"].is_null()).cloned().collect();
    assert_eq!(handshakes, lines(&plain));
    let account = text(&output.stderr);
    assert!(account.contains("samples; 0 flows forgotten for others"), "{account}");
    assert!(!text(&plain.stderr).contains("throughout"));
}

/// A request before the clock is set back by 0.2 s, which a handshake of another connection shows, and its reply after.
#[test]
fn nothing_is_told_of_what_was_under_way_while_the_clock_was_set_back() {
    let here = folder();
    let across = exchange(1_000, 1_000_000_000, 1, 200);
    let frames = [
        established(1_000, 0),
        exchange(1_000, 100_000_000, 0, 14),
        across[..1].to_vec(),
        established(1_001, 810_000_000),
        across[1..].to_vec(),
    ];
    let told_of = |name: &str, frames: &[Frame]| {
        write(&here.path().join(name), frames);
        let told = lines(&dwell(here.path(), &["watch", name, "--continuous", "--json"]));
        let is_to_server = |line: &&&Value| line["end"] == "server" && line["by"] == "acknowledgment";
        let of_it = round_trips(&told);
        let of_it = of_it.iter().filter(is_to_server);
        of_it.map(|line| json!([line["mean_ns"], line["samples"]])).collect::<Vec<_>>()
    };
    assert_eq!(told_of("a.pcap", &frames.concat()), [json!([14_000_000, 1])]);
    // Where nothing shows it, it is a round trip like others.
    let alone = [&frames[..3], &frames[4..]].concat();
    assert_eq!(told_of("b.pcap", &alone.concat()), [json!([107_000_000, 2])]);
}

#[test]
fn a_connection_that_was_there_before_has_round_trips_of_unnamed_ends() {
    let here = folder();
    // What is seen first of it may be a repetition; what comes after eleven seconds of rest is none.
    write(&here.path().join("a.pcap"), &exchange(1_000, 0, 0, 99));
    write(&here.path().join("b.pcap"), &exchange(1_000, 200_000_000, 1, 14));
    let mut capture = std::fs::read(here.path().join("a.pcap")).expect("read");
    let mut later = std::fs::read(here.path().join("b.pcap")).expect("read").split_off(24);
    let mut record = 0;
    while let Some(head) = later.get_mut(record..record + 16) {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
        let (second, length) = (word(0) + 11, word(8) as usize);
        head[..4].copy_from_slice(&second.to_le_bytes());
        record += 16 + length;
    }
    capture.extend(later);
    std::fs::write(here.path().join("a.pcap"), capture).expect("written");
    let output = dwell(here.path(), &["watch", "a.pcap", "--continuous", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let withheld =
        "; 2 acknowledgments withheld, of data that may have been sent before its connection was seen";
    assert!(text(&output.stderr).contains(withheld), "{}", text(&output.stderr));
    let told = lines(&output);
    let acknowledged: Vec<_> = told.iter().filter(|line| line["by"] == "acknowledgment").collect();
    let least = |port: u16| {
        let line = acknowledged.iter().find(|line| line["to_port"] == port).expect("told");
        assert!(line["end"].is_null(), "{line}");
        line["least_ns"].clone()
    };
    assert_eq!((least(443), least(1_000)), (json!(14_000_000), json!(6_000_000)));
    let table = text(&dwell(here.path(), &["watch", "a.pcap", "--continuous"]).stdout);
    assert!(table.contains("half of an end whose connection was there before"), "{table}");
    // Without it there is nothing to tell.
    assert_eq!(dwell(here.path(), &["watch", "a.pcap"]).status.code(), Some(1));
}

#[test]
fn quic_tells_both_halves() {
    let here = folder();
    write_bytes(&here.path().join("a.pcap"), &quic(5_000));
    let output = dwell(here.path(), &["watch", "a.pcap", "--continuous", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: Vec<Value> = lines(&output).iter().map(short).collect();
    let halves = [("client", 3_000_000), ("server", 8_000_000)];
    let expected = halves.map(|(end, ns)| json!([end, "quic-handshake", 0, ns, ns, 1]));
    assert_eq!(told, expected);
}

#[test]
fn an_interval_without_it_is_refused() {
    let here = folder();
    write(&here.path().join("a.pcap"), &established(1_000, 0));
    assert_eq!(dwell(here.path(), &["watch", "a.pcap", "--every", "1"]).status.code(), Some(2));
    let none = dwell(here.path(), &["watch", "a.pcap", "--continuous", "--every", "0"]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
}
