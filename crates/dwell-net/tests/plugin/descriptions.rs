//! The descriptions that come along, read over what the real tools printed.

use crate::{asked, here};
use dwell_net::plugin::{Gives, Plugin};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

/// The tool of this name, with a client that prints `said` instead.
fn reads(name: &str, said: &str) -> Result<dwell_net::plugin::Reading, String> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    table.remove("server");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), said).unwrap();
    let command = ["cat", file.path().to_str().unwrap()].map(|word| toml::Value::String(word.to_owned()));
    table["client"].as_table_mut().unwrap().insert("command".to_owned(), toml::Value::Array(command.into()));
    let plugin = Plugin::parse(name, &toml::to_string(&table).unwrap()).map_err(|error| error.to_string())?;
    let started = plugin.start(asked(1), here()).map_err(|error| error.to_string())?;
    started.run().told().map(|told| told.reading).map_err(|error| error.to_string())
}

#[test]
fn every_description_that_comes_along_is_sound() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        let plugin = Plugin::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.file_stem().unwrap().to_str().unwrap(), plugin.name);
        names.push(plugin.name);
    }
    for due in
        "iperf3 nuttcp d-itg ping pathload pathchirp spruce igi yaz assolo udpst pathrate".split_whitespace()
    {
        assert!(names.iter().any(|name| name == due), "{due}");
    }
}

#[test]
fn what_the_real_tools_printed_is_read() {
    let full = 1538.0 / 1448.0;
    for (name, said, counted) in [
        ("iperf3", include_str!("said/iperf3.json"), 20_953_960.580_4 * full),
        ("nuttcp", include_str!("said/nuttcp.txt"), 14_784_853_500.0 * full),
        ("d-itg", include_str!("said/d-itg.txt"), 10_097_278.562 * full),
        ("ping", include_str!("said/ping.txt"), 65_000.0),
    ] {
        let read = reads(name, said).unwrap();
        assert!((read.value / counted - 1.0).abs() < 1e-6, "{name}: {} for {counted}", read.value);
    }
    let (low, high) = reads("ping", include_str!("said/ping.txt")).unwrap().range.unwrap();
    assert_eq!((low.round(), high.round()), (42_000.0, 151_000.0));
}

/// These are no outputs of ours: they are what the authors' papers, manuals and sources show.
#[test]
fn what_the_originals_are_said_to_print_is_read() {
    let wire = 1538.0 / 1500.0;
    for (name, said, counted) in [
        ("pathload", "\n\tAvailable bandwidth range : 44.29 - 47.61 (Mbps)\n", 45.95e6 * wire),
        ("pathchirp", "1087000000.1 61.2\n1087000001.2 60.9\n", 60.9e6 * 1.066),
        ("assolo", "1087000000.1 61.2\n1087000001.2 67.1\n", 67.1e6 * 1.066),
        ("spruce", "available bandwidth estimate: 54500 Kbps\n", 54.5e6 * wire),
        ("igi", "PTR: 46.812 Mpbs (suggested)\nIGI: 48.1 Mpbs\n", 46.812e6 * 566.0 / 500.0),
        ("pathrate", "Final capacity estimate : 98 Mbps to 99 Mbps\n", 98.5e6 * wire),
        ("udpst", r#"{"Output":{"Summary":{"IPLayerCapacitySummary":48.6}}}"#, 48.6e6 * 1288.0 / 1250.0),
    ] {
        let read = reads(name, said).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((read.value / counted - 1.0).abs() < 1e-6, "{name}: {} for {counted}", read.value);
    }
}

#[test]
fn a_tool_that_says_why_it_failed_is_quoted() {
    let said = r#"{ "start": {}, "error": "unable to connect to server: Connection refused" }"#;
    assert!(reads("iperf3", said).unwrap_err().contains("it says: unable to connect to server"));
    let none = "5 packets transmitted, 0 received, 100% packet loss, time 4080ms\n";
    let error = reads("ping", none).unwrap_err();
    assert!(error.contains("nothing that it printed matches") && error.contains("0 received"), "{error}");
}

#[test]
fn a_time_and_throughput_are_told_apart() {
    let gives = |name: &str| Plugin::load(&folder().join(format!("{name}.toml"))).unwrap().gives();
    assert_eq!((gives("ping"), gives("iperf3")), (Gives::RoundTrip, Gives::Throughput));
}
