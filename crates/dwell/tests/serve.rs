//! `dwell serve --warehouse` and `dwell watch --to`, as a site has them: two processes with keys of their own.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn dwell(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
    command
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    dwell(home, arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The key of a home's installation, as `dwell agent --key` prints it.
fn key(home: &Path) -> String {
    fs::create_dir_all(home.join(".config/dwell")).expect("a folder");
    text(&run(home, &["agent", "--key"]).stdout).trim().to_owned()
}

fn know(home: &Path, line: &str) {
    fs::write(home.join(".config/dwell/peers"), line).expect("written");
}

/// A capture of one handshake: raw IP, 2026.
fn capture(file: &Path) {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let segments = [
        (0, client, server, 40_000_u16, 80_u16, 100_u32, 0_u32, 0x02_u8),
        (30_000, server, client, 80, 40_000, 500, 101, 0x12),
        (32_000, client, server, 40_000, 80, 101, 501, 0x10),
    ];
    for (microseconds, from, to, source, destination, sequence, acknowledgment, flags) in segments {
        for word in [1_795_000_000_u32, microseconds, 40, 40] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]);
        bytes.extend(from.iter().chain(&to));
        bytes.extend(source.to_be_bytes().iter().chain(&destination.to_be_bytes()));
        bytes.extend(sequence.to_be_bytes().iter().chain(&acknowledgment.to_be_bytes()));
        bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    }
    fs::write(file, bytes).expect("written");
}

/// A warehouse that is killed with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_watched_comes_to_the_warehouse_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let [probe, site, kept, file] =
        ["probe", "site", "kept", "one.pcap"].map(|name| folder.path().join(name));
    capture(&file);
    let (probe_key, site_key) = (key(&probe), key(&site));
    know(&probe, &format!("{site_key} the warehouse\n"));
    know(&site, &format!("{probe_key} probe=border-1\n"));
    let place = kept.to_str().expect("text");
    let command = &mut dwell(&site, &["serve", "--warehouse", place, "--listen", "127.0.0.1:0", "--json"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut serving = Serving(command.spawn().expect("it runs"));
    // It runs on: the document ends where its object does.
    let told = serde_json::Deserializer::from_reader(serving.0.stdout.take().expect("its output"));
    let told: Value = told.into_iter().next().expect("a document").expect("of JSON");
    assert_eq!(told["key"], site_key);
    let to = format!("dwell://{}", told["listen"].as_str().expect("an address"));

    let capture = file.to_str().expect("text");
    let watch = |name: &str| run(&probe, &["watch", capture, "--probe", name, "--to", &to]);
    // Twice the same capture: two sights of one connection, and no more batches than two.
    for shipped in 1..=2 {
        let watched = watch("border-1");
        let said = text(&watched.stderr);
        assert_eq!(watched.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("{shipped} records of this probe are at {to}, 0 wait in")), "{said}");
    }
    let days: Vec<String> = fs::read_dir(&kept)
        .expect("a folder")
        .map(|day| text(day.expect("a day").file_name().as_encoded_bytes()))
        .collect();
    assert!(days.iter().any(|day| day == "2026-11-18.sqlite"), "{days:?}");

    let said = text(&watch("elsewhere").stderr);
    assert!(said.contains(&format!("{probe_key} probe=elsewhere")), "{said}");
    assert!(said.contains("1 wait in"), "{said}");

    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(serving.0.id() as i32),
        nix::sys::signal::Signal::SIGTERM,
    )
    .expect("it is told to end");
    assert_eq!(serving.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_cannot_be_served_or_shipped_to_is_told_on_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    key(home);
    know(home, "");
    for (arguments, status, words) in [
        (&["serve", "--warehouse", "ftp://host/x"][..], 2, "http://HOST:PORT"),
        (&["serve", "--warehouse", "http://127.0.0.1:1/x"][..], 2, "DWELL_CLICKHOUSE_USER is not set"),
        (&["generate", "capture", "--out", "x.pcap", "--plot", "x.svg"][..], 2, "nothing to print as JSON"),
        (&["serve", "--warehouse", "kept", "--listen", "192.0.2.1:1"][..], 1, "cannot listen on 192.0.2.1:1"),
        (&["watch", "x.pcap", "--to", "host"][..], 2, "expected dwell://HOST"),
        (&["watch", "x.pcap", "--spool", "x"][..], 2, "--to"),
    ] {
        let output = dwell(home, arguments).current_dir(home).output().expect("it runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
