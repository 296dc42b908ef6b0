//! What is told of handshakes of real kernels whose segments are lost. Left out where no namespaces can be made.

use crate::{dwell, folder, lines, text};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::process::Command;

#[test]
fn values_of_a_capture_of_real_handshakes_are_those_that_the_hosts_tell() {
    let here = folder();
    let asked = ["lab", "handshakes", "--json", "--out", "forced.pcapng", "--truth", "forced.jsonl"];
    // With as many open files as most systems let a process have that does not ask for more.
    let made = Command::new("sh")
        .args(["-c", r#"ulimit -S -n 1024 && exec "$0" "$@""#, env!("CARGO_BIN_EXE_dwell")])
        .args(asked)
        .current_dir(here.path())
        .env("HOME", here.path())
        .output()
        .expect("sh");
    if made.status.code() == Some(1) && text(&made.stderr).contains("no network namespace") {
        eprintln!("left out: {}", text(&made.stderr));
        return;
    }
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let told: Value = serde_json::from_slice(&made.stdout).expect("one document");
    assert_eq!(told["wrong"], 0, "{told:#}");
    let truths: HashMap<u64, Value> = fs::read_to_string(here.path().join("forced.jsonl"))
        .expect("the truth")
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .map(|truth: Value| (truth["client"]["port"].as_u64().expect("a port"), truth))
        .collect();
    assert_eq!(told["connections"], truths.len());

    let watched = dwell(here.path(), &["watch", "forced.pcapng", "--json"]);
    assert_eq!(watched.status.code(), Some(0), "{}", text(&watched.stderr));
    let mut exact = 0;
    for handshake in lines(&watched).iter().filter(|line| line["quality"] == "exact") {
        let truth = &truths[&handshake["client_port"].as_u64().expect("a port")];
        for half in ["server_half", "client_half"] {
            let (value, values) = (&handshake[format!("{half}_ns")], &truth[half]["values_ns"]);
            assert!(values.as_array().expect("values").contains(value), "{half}: {handshake} {truth}");
        }
        exact += 1;
    }
    // The client half of a third and more is a bound or one of two.
    assert!(exact * 5 > truths.len(), "{exact} of {}", truths.len());
}

#[test]
fn what_a_lab_of_handshakes_cannot_do_is_refused() {
    let here = folder();
    for (arguments, status, says) in [
        (vec!["--plot", "a.svg"], 2, "nothing to plot"),
        (vec!["--rounds", "21"], 2, "21 is not in 1..=20"),
        (vec!["--out", "nowhere/a.pcap"], 1, "cannot create nowhere/a.pcap"),
    ] {
        let refused = dwell(here.path(), &[vec!["lab", "handshakes"], arguments].concat());
        assert_eq!(refused.status.code(), Some(status), "{}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(says), "{}", text(&refused.stderr));
    }
}
