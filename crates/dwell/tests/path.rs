//! `dwell path` hop by hop, in the simulator: document, picture, record.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A switch between the first router and the second, and a narrow link behind.
const SCENARIO: &str = "name = 'hops'
[[links]]
rate = '100 Mb/s'
propagation = '100 us'
[[links]]
rate = '100 Mb/s'
node = 'switch'
[[links]]
rate = '100 Mb/s'
[[links]]
rate = '20 Mb/s'
";

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("dwell runs")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("hops.toml"), SCENARIO).expect("a scenario");
    folder
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one document")
}

#[track_caller]
fn near(value: &Value, mbps: f64) {
    let bps = value["value"].as_f64().unwrap_or_else(|| panic!("no value: {value:#}"));
    assert!((bps / mbps / 1e6 - 1.0).abs() < 0.03, "{mbps} Mb/s: {value:#}");
}

#[test]
fn hops_alone_and_their_record() {
    let here = folder();
    let arguments = ["path", "hops.toml", "--on", "sim", "--agentless"];
    let with = |more: &[&'static str]| dwell(here.path(), &[&arguments[..], more].concat());
    let told = json(&with(&["--json", "--record", "hops.dwell"]));
    let hops = told["hops"].as_array().expect("hops");
    assert_eq!(hops.len(), 3);
    for (hop, capacity, so_far) in [(0, 100.0, 100.0), (1, 50.0, 100.0), (2, 20.0, 20.0)] {
        near(&hops[hop]["capacity"], capacity);
        near(&hops[hop]["segment_capacity"], so_far);
    }
    assert_eq!(hops[2]["says"], "reached");
    assert!(hops[0]["hidden_hop"].is_null() && hops[2]["hidden_hop"].is_null());
    assert!((hops[1]["hidden_hop"]["implied_bps"].as_f64().expect("a rate") / 1e8 - 1.0).abs() < 0.1);
    assert_eq!((&told["narrow_hop"], &told["tight_link"]["hop"]), (&3.into(), &3.into()));
    near(&told["narrow_link_capacity"], 20.0);
    assert_eq!(told["verdict"]["limit"], "link");
    let free = told["tight_link"]["free"]["bound"].as_f64().expect("a bound");
    assert!(free < 21e6, "no more is free than is carried: {free}");
    // The same of the record.
    let again = json(&dwell(here.path(), &["replay", "hops.dwell", "--json"]));
    for key in
        ["hops", "narrow_hop", "narrow_link_capacity", "tight_link", "verdict", "warnings", "probes", "bytes"]
    {
        assert_eq!(told[key], again[key], "{key}");
    }
    let refused = dwell(here.path(), &["replay", "hops.dwell", "--method", "knee"]);
    assert_eq!(refused.status.code(), Some(2));
    // For people.
    let text = String::from_utf8(with(&["--plot", "hops.svg"]).stdout).expect("text");
    assert!(text.contains("verdict: link: the link in front of hop 3"), "{text}");
    assert!(text.contains("10.0.0.2") && text.contains("Narrow link: 20"), "{text}");
    assert!(text.contains("warning: between hop 1 and hop 2 something stores and forwards"), "{text}");
    let picture = fs::read_to_string(here.path().join("hops.svg")).expect("a picture");
    assert!(picture.contains("hop 2, 50") && !picture.contains("NaN"));
}

#[test]
fn with_a_peer_the_path_has_what_is_free_and_its_hops() {
    let here = folder();
    let told = json(&dwell(here.path(), &["path", "hops.toml", "--on", "sim", "--json"]));
    assert!(told["waterfall"].is_array());
    let free = &told["avail"]["available_bandwidth"];
    let most = free["high"].as_f64().or(free["bound"].as_f64()).unwrap_or_else(|| panic!("{free:#}"));
    assert!((15e6..26e6).contains(&most), "20 Mb/s are free: {free:#}");
    assert!(told["avail"]["averaging_time"]["value"].is_number());
    near(&told["capacity"]["narrow_link_capacity"], 20.0);
    near(&told["hops"][1]["capacity"], 50.0);
    assert_eq!(told["narrow_hop"], 3);
}

#[test]
fn what_answers_nobody_is_no_path() {
    let here = folder();
    let silent = "name = 'silent'\n[[links]]\nrate = '10 Mb/s'\nnode = { router = { silent = true } }\n";
    fs::write(here.path().join("silent.toml"), silent).expect("a scenario");
    let output = dwell(here.path(), &["path", "silent.toml", "--on", "sim", "--agentless"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("could not measure") && said.lines().count() == 1, "{said}");
    assert_eq!(dwell(here.path(), &["path", "hops.toml", "--agentless"]).status.code(), Some(2), "no host");
}
