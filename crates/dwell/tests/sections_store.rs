//! `dwell sections --store`: what a warehouse cannot tell, or not within the time that is asked, is told as that.

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_store::warehouse::{Batch, Day, Sqlite, Store as _};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// 2026-11-21, at noon.
const NOON: Nanos = Nanos((20_778 * 86_400 + 43_200) * 1_000_000_000);

fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Nanos(i64::try_from(since.as_nanos()).expect("before 2262"))
}

fn sections(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.current_dir(folder).args(["sections", "--store", "store"]).args(arguments);
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Handshakes of ten milliseconds, of which `server` are the server's half.
fn handshakes(numbers: std::ops::Range<u32>, at: Nanos, server: i64) -> Vec<Handshake> {
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    let half = |ms: i64| Half::Exact(Nanos(1_000_000 * ms));
    let of = |n: u32| Handshake {
        client: end(1, 10_000 + n as u16),
        server: end(9, 443),
        isn_client: n,
        isn_server: Some(n + 1),
        first_at: at + Nanos(i64::from(n)),
        syn_at: Some(at),
        server_half: half(server),
        client_half: half(10 - server),
        total: half(10),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    };
    numbers.map(of).collect()
}

fn ship(folder: &Path, probe: &str, serial: u64, records: Vec<Handshake>) {
    let mut store = Sqlite::create(&folder.join("store")).expect("a warehouse");
    let (given_up, dropped) = (BTreeMap::new(), BTreeMap::new());
    let batch = Batch { probe: probe.to_owned(), epoch: 1, serial, records, given_up, dropped };
    store.keep(&batch).expect("kept");
}

/// What is told by one that follows and whose end comes when it has told so many connections, or after a while.
fn followed(folder: &Path, connections: usize, patience: Duration) -> (usize, Output) {
    let mut follow = sections(folder, &["--follow", "--csv", "told.csv"]);
    let child = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("dwell");
    let lines = || fs::read_to_string(folder.join("told.csv")).map_or(0, |text| text.lines().count());
    let began = Instant::now();
    while lines() < 1 + 3 * connections && began.elapsed() < patience {
        sleep(Duration::from_millis(50));
    }
    let so_far = lines();
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("told to end");
    (so_far, child.wait_with_output().expect("an end"))
}

#[test]
fn following_looks_back_as_far_as_a_clock_is_behind() {
    for behind in [[0, 130], [0, 500], [300, 300]] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = behind.map(|seconds| now() - Nanos::from_secs(seconds));
        ship(folder.path(), "in", 1, handshakes(0..40, at[0], 9));
        ship(folder.path(), "out", 1, handshakes(0..40, at[1], 1));
        let (lines, output) = followed(folder.path(), 40, Duration::from_secs(20));
        let told = told(&output);
        assert_eq!((lines, output.status.code()), (1 + 3 * 40, Some(0)), "{behind:?}: {told}");
        let minutes = behind[1] / 60;
        let remark = format!("out's newest record is {minutes} min old by this host's clock");
        assert!(told.contains(&remark), "{behind:?}: {told}");
    }
}

#[test]
fn a_clock_that_is_too_far_behind_to_follow_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    ship(folder.path(), "in", 1, handshakes(0..40, now(), 9));
    ship(folder.path(), "out", 1, handshakes(0..40, now() - Nanos::from_secs(930), 1));
    let (_, output) = followed(folder.path(), 40, Duration::from_secs(3));
    let told = told(&output);
    assert!(told.contains("out's newest record is 15 min old by this host's clock"), "{told}");
    assert!(told.contains("--last 1080"), "{told}");
    assert!(!told.contains("both sequence numbers"), "{told}");
    let output = sections(folder.path(), &["--last", "1080"]).output().expect("dwell");
    assert_eq!(output.status.code(), Some(0), "{}", self::told(&output));
}

#[test]
fn that_nothing_began_within_a_span_is_told_with_the_newest_record() {
    let folder = tempfile::tempdir().expect("a folder");
    ship(folder.path(), "in", 1, handshakes(0..40, NOON, 9));
    ship(folder.path(), "out", 1, handshakes(0..40, NOON, 1));
    let output = sections(folder.path(), &["--last", "60"]).output().expect("dwell");
    let told = told(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("no connection began within the last 60 s"), "{told}");
    assert!(told.contains("the newest record is of 2026-11-21 12:00"), "{told}");
    assert!(!told.contains("both sequence numbers"), "{told}");
}

#[test]
fn what_joins_with_nothing_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    ship(folder.path(), "in", 1, handshakes(0..40, NOON, 9));
    ship(folder.path(), "out", 1, handshakes(0..40, NOON, 1));
    // Another place under the same name; and what comes twice is no other.
    ship(folder.path(), "out", 2, handshakes(0..30, NOON + Nanos(5_000), 2));
    ship(folder.path(), "out", 3, handshakes(0..40, NOON, 1));
    let lone = |numbers, at| {
        let lone = handshakes(numbers, at, 9).into_iter();
        lone.map(|one| Handshake { isn_server: None, ..one }).collect::<Vec<_>>()
    };
    ship(folder.path(), "in", 2, [lone(0..7, NOON), lone(0..1, NOON)].concat());
    ship(folder.path(), "other", 1, lone(0..9, NOON));
    let output = sections(folder.path(), &["--order", "in,out"]).output().expect("dwell");
    let told = told(&output);
    assert!(told.contains("30 handshakes that one place has seen before, left out"), "{told}");
    assert!(told.contains("7 handshakes without the server's number, joined with none"), "{told}");
    // Nothing of it is within this span.
    ship(folder.path(), "in", 4, handshakes(50..90, now(), 9));
    ship(folder.path(), "out", 4, handshakes(50..90, now(), 1));
    let output = sections(folder.path(), &["--last", "100"]).output().expect("dwell");
    let told = self::told(&output);
    assert!(told.contains("40 connections") && !told.contains("handshakes"), "{told}");
}

#[test]
fn a_clock_that_is_off_by_days_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let far = Nanos(20 * 86_400_000_000_000);
    ship(folder.path(), "in", 1, handshakes(0..40, NOON, 9));
    ship(folder.path(), "mid", 1, handshakes(0..40, NOON, 5));
    ship(folder.path(), "out", 1, handshakes(0..40, NOON - far, 1));
    let output = sections(folder.path(), &[]).output().expect("dwell");
    let told = told(&output);
    let remark = "out's last records are of 2026-11-01, 20 days before those of";
    assert!(told.contains(remark) && told.contains("is a clock off by days"), "{told}");
    assert_eq!(told.matches("last records").count(), 1, "{told}");
}

#[test]
fn a_damaged_day_is_no_matter_for_a_span_that_it_is_not_near() {
    let folder = tempfile::tempdir().expect("a folder");
    ship(folder.path(), "in", 1, handshakes(0..40, now(), 9));
    ship(folder.path(), "out", 1, handshakes(0..40, now(), 1));
    let old = format!("{}.sqlite", Day(Day::of(now()).0 - 9));
    fs::write(folder.path().join("store").join(&old), "damaged".repeat(999)).expect("written");
    for asked in [&["--last", "100"][..], &["--last", "100", "--order", "in,out"]] {
        let output = sections(folder.path(), asked).output().expect("dwell");
        assert_eq!(output.status.code(), Some(0), "{asked:?}: {}", told(&output));
    }
    let (lines, output) = followed(folder.path(), 40, Duration::from_secs(10));
    assert_eq!((lines, output.status.code()), (1 + 3 * 40, Some(0)), "{}", told(&output));
    let output = sections(folder.path(), &[]).output().expect("dwell");
    let told = told(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(&old) && told.contains("move it away"), "{told}");
}
