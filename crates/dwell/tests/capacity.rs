//! `dwell capacity` with each of its methods, run live on the simulator and from a record.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// 100 Mb/s between faster links, with traffic of others on it and behind it.
const SCENARIO: &str = "name = 'narrow in the middle'\n\
    [[links]]\nrate = '1 Gb/s'\npropagation = '20 us'\n\
    [[links]]\nrate = '100 Mb/s'\npropagation = '2 ms'\n\
    [[links.cross]]\nkind = 'poisson'\nload = '30 %'\nsize = '602 B'\n\
    [[links]]\nrate = '1 Gb/s'\npropagation = '20 us'\n\
    [[links.cross]]\nkind = 'poisson'\nload = '30 %'\nsize = '602 B'\n";

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).current_dir(folder).env("HOME", folder).output().expect("dwell runs")
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one document")
}

fn folder() -> tempfile::TempDir {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("path.toml"), SCENARIO).expect("written");
    here
}

#[test]
fn each_method_says_which_link_and_which_layer() {
    let here = folder();
    for method in ["spared-runs", "packet-pair", "capprobe", "bprobe", "pathrate", "nettimer"] {
        let document = document(&dwell(
            here.path(),
            &["capacity", "path.toml", "--on", "sim", "--method", method, "--json"],
        ));
        assert_eq!(document["method"], method);
        let found = document["narrow_link_capacity"]["value"].as_f64().expect("a value");
        assert!((95e6..105e6).contains(&found), "{method}: {document:#}");
        // 1,500 of the 1,538 bytes that a packet takes.
        let at_ip = document["ip_layer_bps"].as_f64().expect("a figure");
        assert!((at_ip / found - 1_500.0 / 1_538.0).abs() < 1e-6, "{document:#}");
        assert_eq!(document["packet_bytes"], 1_526);
        assert!(document["layer"].as_str().is_some_and(|layer| layer.contains("framing")));
    }
}

#[test]
fn the_default_finds_a_narrow_link_that_is_not_the_last() {
    let here = folder();
    let narrow = document(&dwell(here.path(), &["capacity", "path.toml", "--on", "sim", "--json"]));
    assert_eq!(narrow["method"], "spared-runs");
    let found = narrow["narrow_link_capacity"]["value"].as_f64().expect("a value");
    assert!((98e6..102e6).contains(&found), "{narrow:#}");
    // Of the end link it says no more than what follows.
    assert_eq!(narrow["end_link_capacity"]["side"], "lower");
    assert!(narrow["seconds"].as_f64().is_some_and(|seconds| seconds < 5.0));
    fs::write(here.path().join("narrow.json"), narrow.to_string()).expect("written");
    assert!(dwell(here.path(), &["plan", "narrow.json"]).status.success(), "a plan can be made of it");
}

#[test]
fn a_replay_and_a_picture() {
    let here = folder();
    for method in ["spared-runs", "pathrate", "capprobe", "end-link"] {
        let (record, plot) = (format!("{method}.dwell"), format!("{method}.svg"));
        let arguments = [
            "capacity",
            "path.toml",
            "--on",
            "sim",
            "--method",
            method,
            "--json",
            "--record",
            &record,
            "--plot",
            &plot,
        ];
        let live = document(&dwell(here.path(), &arguments));
        let replayed = document(&dwell(here.path(), &["replay", &record, "--json"]));
        for key in ["method", "narrow_link_capacity", "end_link_capacity", "packets"] {
            assert_eq!(live[key], replayed[key], "{method}: {key}");
        }
        let picture = fs::read_to_string(here.path().join(&plot)).expect("a picture");
        let says = if method == "end-link" { "The end link" } else { "The narrowest link" };
        assert!(picture.contains(says), "{method}");
    }
}

#[test]
fn a_nic_that_gathers_packets_gets_no_figure_from_pairs() {
    let here = folder();
    let gathering = format!("{}[destination]\nnic = {{ hold = {{ period = '250 us' }} }}\n", SCENARIO);
    fs::write(here.path().join("gathering.toml"), gathering).expect("written");
    let arguments = ["capacity", "gathering.toml", "--on", "sim", "--method", "packet-pair"];
    let output = dwell(here.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("came at once"));
}

/// A shaper of 50 Mb/s that passes 64 KiB as fast as its link of 100 Mb/s.
const BUCKET: &str = "name = 'bucket'
[[links]]
rate = '1 Gb/s'
[[links]]
rate = '100 Mb/s'
shaper = { rate = '50 Mb/s', burst = '64 KiB' }
";

#[test]
fn a_token_bucket_is_told_and_what_lasts_is_its_rate() {
    let here = folder();
    fs::write(here.path().join("bucket.toml"), BUCKET).expect("written");
    let told = document(&dwell(here.path(), &["capacity", "bucket.toml", "--on", "sim", "--json"]));
    assert_eq!(told["verdict"]["limit"], "token-bucket");
    // It counts frames, and not the twelve bytes between them.
    let near = |key: &str, truth: f64, within: f64| {
        let value = told[key]["value"].as_f64().unwrap_or_else(|| panic!("{told:#}"));
        assert!((value / truth - 1.0).abs() < within, "{key}: {value}, not {truth}");
    };
    near("token_rate", 50e6 * 1_538.0 / 1_526.0, 0.01);
    near("bucket_depth", 65_536.0, 0.05);
    near("narrow_link_capacity", 100e6, 0.01);
    let at_ip = told["ip_layer_bps"].as_f64().expect("a rate");
    assert!((at_ip / (50e6 * 1_500.0 / 1_526.0) - 1.0).abs() < 0.01, "{at_ip}");
    let text = dwell(here.path(), &["capacity", "bucket.toml", "--on", "sim"]);
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.contains("50.39 Mb/s with Ethernet framing"), "{text}");
    // Its picture shows both rates.
    let drawn = dwell(here.path(), &["capacity", "bucket.toml", "--on", "sim", "--plot", "bucket.svg"]);
    assert!(drawn.status.success());
    let picture = fs::read_to_string(here.path().join("bucket.svg")).expect("a picture");
    assert!(picture.contains("A token bucket lets through 50.39 Mb/s"), "{picture}");
    let packets = picture.split(" packets; ").next().and_then(|before| before.rsplit('>').next());
    let packets: u32 = packets.and_then(|number| number.trim().parse().ok()).expect("their number");
    assert!(packets > 900, "the long trains as well: {packets}");
}

#[test]
fn a_path_has_no_more_free_than_a_bucket_on_it_gets() {
    let here = folder();
    fs::write(here.path().join("bucket.toml"), BUCKET).expect("written");
    let arguments = ["path", "bucket.toml", "--on", "sim", "--json", "--record", "bucket.dwell"];
    let told = document(&dwell(here.path(), &arguments));
    let replayed = document(&dwell(here.path(), &["replay", "bucket.dwell", "--json"]));
    for told in [told, replayed] {
        let free = &told["avail"]["available_bandwidth"];
        let bound = free["bound"].as_f64().unwrap_or_else(|| panic!("{free:#}"));
        assert!((bound / 50e6 - 1.0).abs() < 0.02 && free["side"] == "upper", "{free:#}");
        assert_eq!(told["avail"]["verdict"]["limit"], "token-bucket");
        assert_eq!(told["capacity"]["verdict"]["limit"], "token-bucket");
        assert!(told["capacity"]["token_rate"]["value"].is_number(), "{}", told["capacity"]);
    }
}
