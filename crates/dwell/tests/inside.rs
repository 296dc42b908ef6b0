//! `dwell local` as a user meets it: the lab's made cases, each recognised, and nothing that stays behind.

use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Other work on this machine disturbs a case; so often it is made anew.
const TRIES: usize = 5;

fn dwell() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.stdin(Stdio::null()).env_remove("DWELL_LOG");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Whether this process may observe; says why not.
fn observes() -> bool {
    // Of one port, so that nothing else is measured instead.
    let probe = dwell().args(["local", "lo", "--port", "1", "--seconds", "0.001"]).output().unwrap();
    // Nothing passed in so short a time: that is an answer of an observer.
    let able = probe.status.success() || said(&probe).contains("no packet of");
    if !able {
        eprintln!("skipped: {}", said(&probe));
    }
    able
}

fn watched(case: &str) -> Value {
    // Its packets are far apart: of 25, one that the hypervisor held for milliseconds takes most of the time.
    watched_for(case, if case == "sleeping-core" { "2" } else { "0.5" })
}

fn watched_for(case: &str, seconds: &str) -> Value {
    let output = dwell().args(["lab", "case", case, "--json", "--seconds", seconds]).output().unwrap();
    assert!(output.status.success(), "{case}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn kinds(document: &Value) -> Vec<&str> {
    document["diagnosis"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect()
}

/// What the cores did since the system's start, in the kernel's ticks.
struct Ticks {
    idle: u64,
    all: u64,
}

fn ticks() -> Ticks {
    let told = std::fs::read_to_string("/proc/stat").unwrap();
    let fields = told.lines().next().unwrap().split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap()).collect();
    Ticks { idle: ticks[3], all: ticks.iter().sum() }
}

/// Whether half of the packets at least wait in no stage: 20 us and more are waiting.
fn nobody_waits(document: &Value) -> bool {
    let stages = document["receive"]["stages"].as_array().unwrap();
    !stages.is_empty() && stages.iter().all(|stage| stage["p50_ns"].as_u64().is_some_and(|ns| ns < 20_000))
}

/// Of each stage its packets' median, in nanoseconds.
fn medians(document: &Value) -> String {
    let stages = document["receive"]["stages"].as_array().unwrap();
    stages
        .iter()
        .map(|stage| format!("{} {}", stage["stage"], stage["p50_ns"]))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Makes a case until it is told as it should be.
fn until(case: &str, mut fine: impl FnMut(&[&str], &Value) -> bool) {
    let mut told = Vec::new();
    for _ in 0..TRIES {
        let document = watched(case);
        if fine(&kinds(&document), &document) {
            return;
        }
        told.push(format!("{}, medians {}", document["diagnosis"], medians(&document)));
    }
    panic!("{case}: {}", told.join("\n"));
}

/// One after another: each wants both cores for itself.
#[test]
fn each_case_is_recognised_and_a_healthy_host_is_told_nothing() {
    if !observes() {
        return;
    }
    until("healthy", |kinds, _| kinds.is_empty());
    until("busy-core", |kinds, document| {
        kinds == ["busy_core"] && document["diagnosis"][0]["sentence"].as_str().unwrap().contains("`compute`")
    });
    until("coalescing", |kinds, _| kinds.first() == Some(&"coalescing"));
    until("slow-reader", |kinds, _| kinds.first() == Some(&"slow_reader"));
    until("full-queue", |kinds, _| kinds.starts_with(&["full_socket_queue", "slow_reader"]));
    // A busy machine's cores do not sleep: then it is told who ran, or nothing where the reader had its core at once.
    let mut before = ticks();
    until("sleeping-core", |kinds, document| {
        let now = ticks();
        let busy = 2 * (now.idle - before.idle) < now.all - before.all;
        before = now;
        matches!(kinds, ["sleeping_core" | "busy_core", ..])
            || busy && kinds.is_empty() && nobody_waits(document)
    });
    // For as long as it is watched packets come, 50 a second here.
    let document = watched_for("sleeping-core", "5");
    assert!(document["receive"]["packets"].as_u64() > Some(175), "{}", document["receive"]["packets"]);
}

/// Runs a line of shell in a network namespace of its own.
fn apart(script: &str) -> Output {
    let script = script.replace("DWELL", env!("CARGO_BIN_EXE_dwell"));
    Command::new("unshare").args(["--net", "sh", "-c", &script]).output().unwrap()
}

#[test]
fn an_interface_that_goes_away_ends_the_watch() {
    if !observes() {
        return;
    }
    // It goes away once there are programs that watch it: while the others are loaded, or later.
    for later in ["0", "0.5"] {
        let output = apart(&format!(
            "set -e; ip link add near type veth peer far; ip address add 10.9.9.1/24 dev near; ip link set near up; \
             ip link set far up; {{ for turn in $(seq 500); do grep -qs prog_id /proc/$$/fdinfo/* && break; sleep 0.02; \
             done; sleep {later}; ip link del near; }} & exec DWELL local near --seconds 20",
        ));
        // Packets of the kernel's own may have been seen, or none.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
        assert!(all.contains("near went down"), "{later}: {all}");
    }
}

/// The programs that a process holds, by the numbers that the kernel gave them.
fn programs(pid: u32) -> Vec<u32> {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return Vec::new() };
    let texts = files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()))
        .collect()
}

#[test]
fn a_killed_watch_leaves_nothing_attached() {
    if !observes() {
        return;
    }
    let mut child = dwell().args(["local", "lo", "--seconds", "30"]).stderr(Stdio::null()).spawn().unwrap();
    let mut held = Vec::new();
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(50));
        let now = programs(child.id());
        if !now.is_empty() && now.len() == held.len() {
            break;
        }
        held = now;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!held.is_empty(), "it never attached anything");
    // The kernel takes programs away a moment after their process.
    for _ in 0..100 {
        let left: Vec<u32> = libbpf_rs::query::ProgInfoIter::default().map(|program| program.id).collect();
        if held.iter().all(|program| !left.contains(program)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("of programs {held:?} some are still there");
}
