//! The file for Prometheus's textfile collector.

use crate::frames::{exchange, some, write};
use crate::{dwell, folder, text};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// Reads the text format, strictly: the value of each series.
fn parse(page: &str) -> HashMap<String, f64> {
    let (mut kinds, mut series) = (HashMap::new(), HashMap::new());
    let mut last = [String::new(), String::new()];
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a kind");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
            continue;
        }
        if line.starts_with('#') {
            assert!(line.starts_with("# HELP ") || line.starts_with("# UNIT "), "{line}");
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let value: f64 = value.parse().expect("a number");
        let bare = name.split('{').next().expect("a name");
        let of = |ending: &str| bare.strip_suffix(ending).and_then(|name| kinds.get(name));
        let histogram = ["_bucket", "_count", "_sum"].into_iter().find_map(of);
        let known = kinds.get(bare).or(histogram);
        assert!(known.is_some(), "{line} is of no kind");
        // Buckets of one histogram come one after another, and each holds the one before.
        if let Some((before, edge)) = name.split_once("le=\"").filter(|_| bare.ends_with("_bucket")) {
            let others = format!("{before}{}", edge.split_once('"').expect("an end").1);
            let held: f64 = last[1].parse().unwrap_or(0.0);
            assert!(last[0] != others || held <= value, "{line}");
            last = [others, value.to_string()];
        }
        assert!(series.insert(name.to_owned(), value).is_none(), "{name} twice");
    }
    series
}

#[test]
fn its_file_is_whole_and_says_what_passed() {
    let here = folder();
    write(&here.path().join("a.pcap"), &[some(), exchange(1_000, 300_000_000, 0, 14)].concat());
    let asked = ["watch", "a.pcap", "--continuous", "--probe", "edge", "--prometheus", "a.prom"];
    let output = dwell(here.path(), &asked);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(here.path().join("a.prom")).expect("a page");
    let series = parse(&page);
    let of = |name: &str| *series.get(name).unwrap_or_else(|| panic!("{name}: {page}"));
    for (quality, count) in [("exact", 1.0), ("refused", 1.0), ("unfinished", 1.0)] {
        assert_eq!(of(&format!("dwell_handshakes_total{{probe=\"edge\",quality=\"{quality}\"}}")), count);
    }
    assert_eq!(of("dwell_packets_dropped_total{probe=\"edge\"}"), 0.0);
    let spans = [
        ("server_half", "192.0.2.0/24", 0.010_000_001),
        ("client_half", "10.0.0.0/24", 0.005),
        ("rtt", "192.0.2.0/24", 0.015_000_001),
        ("throughout_server_half", "192.0.2.0/24", 0.014),
        ("throughout_client_half", "10.0.0.0/24", 0.006),
        ("throughout_response", "192.0.2.0/24", 0.044),
    ];
    for (name, network, span) in spans {
        let labels = format!("{{probe=\"edge\",network=\"{network}\"}}");
        assert_eq!(of(&format!("dwell_{name}_seconds_count{labels}")), 1.0, "{name}");
        assert!((of(&format!("dwell_{name}_seconds_sum{labels}")) - span).abs() < 1e-12, "{name}");
    }
    let files: HashSet<_> =
        fs::read_dir(here.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(files, ["a.pcap", "a.prom"].map(Into::into).into(), "nothing else stays");
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(File::open(here.path().join("a.prom")).expect("a page"))
        .stderr(Stdio::piped())
        .output();
    match promtool {
        // It has opinions on names too, which it tells by another status.
        Ok(told) => assert_ne!(told.status.code(), Some(1), "{}", text(&told.stderr)),
        Err(_) => eprintln!("left out: promtool is not installed"),
    }
}

#[test]
fn what_is_neither_an_address_nor_such_a_file_is_refused() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    for given in ["localhost", "9464", "127.0.0.1", "a.txt", ""] {
        let output = dwell(here.path(), &["watch", "a.pcap", "--prometheus", given]);
        assert_eq!(output.status.code(), Some(2), "{given}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(".prom"), "{given}: {}", text(&output.stderr));
    }
}
