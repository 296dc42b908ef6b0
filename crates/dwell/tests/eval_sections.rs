//! Paper 003 in small: a grid of sections in the lab, several labs at once. Bounds are those that hold on a loaded
//! machine. It takes privileges; elsewhere it is left out.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const BASE: &str = "name = 'base'\n[[links]]\nrate = 'unshaped'\n[[links]]\nrate = 'unshaped'\n\
                    [[links]]\nrate = 'unshaped'\n";

const GRID: &str = "world = 'lab'\nruns = 1\ntogether = 2\n[[block]]\nname = 'small'\nbase = 'base.toml'\n\
    sections = { pings = 3, interval = '20 ms', within = { share = 0.1, time = '50 ms' } }\n\
    [block.draw]\nconditions = 4\n[block.draw.between]\n\
    'links.0.propagation' = ['5 ms', '40 ms']\n'links.1.propagation' = ['5 ms', '40 ms']\n\
    'links.2.propagation' = ['5 ms', '40 ms']\n";

fn eval(folder: &Path, grid: &str) -> Output {
    fs::write(folder.join("base.toml"), BASE).expect("written");
    fs::write(folder.join("grid.toml"), grid).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(["eval", "grid.toml", "--json", "--rows", "rows.jsonl"]);
    command.current_dir(folder).env("HOME", folder).output().expect("the command runs")
}

/// Both ways of what was drawn for the section that a method's name ends with, in nanoseconds.
fn asked(row: &Value, method: &str) -> f64 {
    let sections = ["source", "transit", "destination"];
    let link = sections.iter().position(|section| method.ends_with(section)).expect("a section");
    let drawn = row["condition"][format!("links.{link}.propagation")].as_str().expect("drawn");
    2e6 * drawn.strip_suffix(" ms").expect("in milliseconds").parse::<f64>().expect("a number")
}

#[test]
fn sections_are_held_against_ping_and_truth() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = eval(folder.path(), GRID);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("network namespace") || said.contains("needs the command") {
        return eprintln!("left out: {said}");
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), document["failures"].as_array().map(Vec::len)), (24, Some(0)), "{said}");
    for row in rows {
        let [estimate, truth] = ["estimate", "truth"].map(|key| row[key].as_f64().expect("a figure"));
        // What was drawn, and what a busy machine is late by.
        assert!((10e6..=80e6 + 50e6).contains(&truth), "{row}");
        // Nothing is faster than its link; ping tells microseconds, and passes at another time than the handshake, for which
        // the link may have been late.
        let told = row["method"].as_str().expect("a method");
        let least = if told.starts_with("ping") { asked(row, told) } else { truth };
        assert!(estimate > least - 300e3 && estimate < truth + 50e6, "{row}");
    }
    let agreements = document["agreement"].as_array().expect("agreements");
    let told: Vec<_> =
        agreements.iter().map(|one| (one["section"].as_str(), one["against"].as_str())).collect();
    let sections = ["source", "transit", "destination"];
    let wanted: Vec<_> =
        sections.iter().flat_map(|one| ["ping", "truth"].map(|other| (Some(*one), Some(other)))).collect();
    assert_eq!(told, wanted);
    assert!(agreements.iter().all(|one| one["runs"] == 4 && one["values"] == 4), "{agreements:?}");
    // What is there is not made again.
    let again: Value = serde_json::from_slice(&eval(folder.path(), GRID).stdout).expect("a document");
    assert_eq!(again["rows"], document["rows"]);
}

#[test]
fn what_no_grid_of_sections_can_be_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |from: &str, to: &str, says: &str| {
        let output = eval(folder.path(), &GRID.replace(from, to));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    };
    refused("'lab'", "'sim'", "sections parted in the lab");
    refused("['5 ms', '40 ms']", "['50 ms', '40 ms']", "50 ms is longer than 40 ms");
    refused("runs = 1", "runs = 0", "at least 1");
    refused("interval = '20 ms'", "interval = '20'", "has no unit");
    refused("conditions = 4", "conditions = 0", "no conditions");
}
