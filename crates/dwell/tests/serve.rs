//! `dwell serve --warehouse` and `dwell watch --to`, as a site has them: two processes with keys of their own.

#[expect(dead_code, reason = "the store's own tests end the servers, this does not")]
#[path = "../../dwell-store/tests/warehouse/cluster.rs"]
mod cluster;

use cluster::Cluster;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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

/// A capture of one handshake of 32 ms, of which so many are the server's half: raw IP, 2026.
fn capture(file: &Path, server_ms: u32) {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let segments = [
        (0, client, server, 40_000_u16, 80_u16, 100_u32, 0_u32, 0x02_u8),
        (1_000 * server_ms, server, client, 80, 40_000, 500, 101, 0x12),
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

/// `dwell serve`, and what it says of itself.
fn serve(site: &Path, place: &str) -> (Serving, Value) {
    let command = &mut dwell(site, &["serve", "--warehouse", place, "--listen", "127.0.0.1:0", "--json"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut serving = Serving(command.spawn().expect("it runs"));
    // It runs on: the document ends where its object does.
    let told = serde_json::Deserializer::from_reader(serving.0.stdout.take().expect("its output"));
    let told = told.into_iter().next().expect("a document").expect("of JSON");
    (serving, told)
}

#[test]
fn two_probes_meet_in_two_servers_of_clickhouse() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.tell("CREATE DATABASE site");
    let place = cluster.place("site");
    let folder = tempfile::tempdir().expect("a folder");
    let [probe, site] = ["probe", "site"].map(|name| folder.path().join(name));
    let (probe_key, site_key) = (key(&probe), key(&site));
    know(&probe, &format!("{site_key} the warehouse\n"));
    know(&site, &format!("{probe_key} probe=in,out\n"));
    let settings = site.join(".config/dwell/clickhouse.toml");
    let who = Cluster::credentials();
    fs::write(&settings, format!("user = {:?}\npassword = {:?}\n", who.user, who.password)).expect("written");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o644)).expect("set");
    let refused = run(&site, &["serve", "--warehouse", &place, "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("chmod 600"), "{}", text(&refused.stderr));
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o600)).expect("set");

    let (_serving, told) = serve(&site, &place);
    let to = format!("dwell://{}", told["listen"].as_str().expect("an address"));
    for (name, server_ms) in [("in", 30), ("out", 20)] {
        let file = folder.path().join(name);
        capture(&file, server_ms);
        let file = file.to_str().expect("text");
        let watched = run(&probe, &["watch", file, "--probe", name, "--to", &to]);
        let said = text(&watched.stderr);
        assert_eq!(watched.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("1 records of this probe are at {to}, 0 wait in")), "{said}");
    }
    let sections = run(&site, &["sections", "--store", &place, "--json"]);
    let said = text(&sections.stderr);
    assert_eq!(sections.status.code(), Some(0), "{said}");
    assert!(said.contains("order from client to server: in, out"), "{said}");
    let sections: Vec<(String, i64)> = text(&sections.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|line| {
            (line["to"].as_str().expect("a place").to_owned(), line["rtt_ns"].as_i64().expect("known"))
        })
        .collect();
    let expected = [("in", 2_000_000), ("out", 10_000_000), ("server", 20_000_000)];
    assert_eq!(sections, expected.map(|(to, rtt)| (to.to_owned(), rtt)));
}

#[test]
fn what_is_watched_comes_to_the_warehouse_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let [probe, site, kept, file] =
        ["probe", "site", "kept", "one.pcap"].map(|name| folder.path().join(name));
    capture(&file, 30);
    let (probe_key, site_key) = (key(&probe), key(&site));
    know(&probe, &format!("{site_key} the warehouse\n"));
    know(&site, &format!("{probe_key} probe=border-1\n"));
    let (mut serving, told) = serve(&site, kept.to_str().expect("text"));
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
    assert!(said.contains(&format!("{probe_key} probe=border-1,elsewhere")), "{said}");
    assert!(said.contains("1 wait in"), "{said}");
    assert!(said.contains("are sent once it is started again with this --spool"), "{said}");

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
        (&["serve", "--warehouse", "http://127.0.0.1:1/x"][..], 1, "DWELL_CLICKHOUSE_USER is not set"),
        (&["generate", "capture", "--out", "x.pcap", "--plot", "x.svg"][..], 2, "nothing to print as JSON"),
        (&["serve", "--warehouse", "kept", "--listen", "192.0.2.1:1"][..], 1, "cannot listen on 192.0.2.1:1"),
        (
            &["serve", "--warehouse", "/proc", "--listen", "192.0.2.1:1"][..],
            1,
            "/proc: cannot write into the folder",
        ),
        (&["serve", "--warehouse", "/proc/new"][..], 1, "name another folder with --warehouse"),
        (&["watch", "x.pcap", "--to", "host"][..], 2, "expected dwell://HOST"),
        (&["watch", "x.pcap", "--spool", "x"][..], 2, "--to"),
    ] {
        let output = dwell(home, arguments).current_dir(home).output().expect("it runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
