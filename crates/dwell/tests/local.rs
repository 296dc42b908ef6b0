//! `dwell local` on the loopback, with traffic of programs that know nothing of Dwell. Needs root and a kernel with
//! BTF; elsewhere it says why it was left out.

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).current_dir(folder).env("HOME", folder).output().expect("the command runs")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether this kernel lets itself be watched by this user; says why not.
fn watchable() -> bool {
    let here = folder();
    let output = dwell(here.path(), &["local", "lo", "--port", "1", "--seconds", "0.01", "--json"]);
    let told = errors(&output);
    if told.contains("cannot watch the kernel") {
        eprintln!("left out: {told}");
        return false;
    }
    true
}

/// Programs that talk over the loopback until this is dropped.
struct Traffic {
    port: u16,
    stop: Arc<AtomicBool>,
    programs: Vec<JoinHandle<()>>,
}

const PATIENCE: Option<Duration> = Some(Duration::from_millis(100));

impl Traffic {
    /// A datagram and its echo each millisecond.
    fn echo() -> Self {
        let answer = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let ask = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = answer.local_addr().expect("bound").port();
        ask.connect(("127.0.0.1", port)).expect("connected");
        for socket in [&answer, &ask] {
            socket.set_read_timeout(PATIENCE).expect("set");
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (done, told) = (Arc::clone(&stop), Arc::clone(&stop));
        let answering = thread::spawn(move || {
            let mut buffer = [0; 100];
            while !done.load(Ordering::Relaxed) {
                if let Ok((length, from)) = answer.recv_from(&mut buffer) {
                    let _ = answer.send_to(&buffer[..length], from);
                }
            }
        });
        let asking = thread::spawn(move || {
            let mut buffer = [0; 100];
            while !told.load(Ordering::Relaxed) {
                let _ = ask.send(&[7; 40]).and_then(|_| ask.recv(&mut buffer));
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { port, stop, programs: vec![answering, asking] }
    }

    /// Kilobytes by TCP, one each millisecond.
    fn transfer() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let port = listener.local_addr().expect("bound").port();
        let mut ours = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let (mut theirs, _) = listener.accept().expect("accepted");
        theirs.set_read_timeout(PATIENCE).expect("set");
        let stop = Arc::new(AtomicBool::new(false));
        let (done, told) = (Arc::clone(&stop), Arc::clone(&stop));
        let reading = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !done.load(Ordering::Relaxed) {
                let _ = theirs.read(&mut buffer);
            }
        });
        let writing = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let _ = ours.write_all(&[7; 1000]);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { port, stop, programs: vec![reading, writing] }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for program in self.programs.drain(..) {
            let _ = program.join();
        }
    }
}

/// What must hold of a way on any machine: shares and sums of the stages, and percentiles in order.
fn plausible(way: &Value) {
    let rows = way["stages"].as_array().expect("stages");
    let shares: f64 = rows.iter().map(|row| row["share"].as_f64().expect("a share")).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let sum = |row: &Value| row["sum_ns"].as_i64().expect("a sum");
    assert_eq!(rows.iter().map(sum).sum::<i64>(), sum(&way["total"]));
    for row in rows.iter().chain([&way["total"]]) {
        let told = ["p50_ns", "p90_ns", "p99_ns", "p999_ns"].map(|name| row[name].as_i64());
        let told: Vec<i64> = told.into_iter().flatten().chain(row["max_ns"].as_i64()).collect();
        assert!(told.is_sorted(), "{row}");
    }
}

#[test]
fn an_echo_on_the_loopback_and_its_replay() {
    if !watchable() {
        return;
    }
    let here = folder();
    let traffic = Traffic::echo();
    let port = traffic.port.to_string();
    let run = ["local", "lo", "--port", &port, "--receive", "--seconds", "2", "--json", "--overhead"];
    let kept = ["--record", "run.dwell", "--plot", "run.svg"];
    let output = dwell(here.path(), &[&run[..], &kept].concat());
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(told["observer"], "ebpf");
    let receive = &told["receive"];
    assert!(receive["packets"].as_u64().expect("a count") > 100, "{receive}");
    plausible(receive);
    assert!(told["send"].is_null() && told["ended"].is_null());
    assert!(told["losses"]["sum"].is_u64() && told["overhead"]["kernel_ns"].as_i64() > Some(0));
    let difference = &receive["kernel_stamp_difference"];
    assert!(difference["value"].as_f64().is_some_and(|ns| ns.abs() < 1_000.0), "{difference}");
    assert!(fs::read_to_string(here.path().join("run.svg")).expect("a picture").contains("wake up"));

    let again = dwell(here.path(), &["replay", "run.dwell", "--json"]);
    assert_eq!(again.status.code(), Some(0), "{}", errors(&again));
    let again: Value = serde_json::from_slice(&again.stdout).expect("one document");
    assert_eq!(again, told);
    let table = dwell(here.path(), &["replay", "run.dwell"]);
    let table = String::from_utf8(table.stdout).expect("text");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let other = dwell(here.path(), &["replay", "run.dwell", "--method", "knee"]);
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn a_transfer_on_the_loopback() {
    if !watchable() {
        return;
    }
    let here = folder();
    let traffic = Traffic::transfer();
    let port = traffic.port.to_string();
    let output = dwell(here.path(), &["local", "lo", "--port", &port, "--packets", "300", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let ways = [&told["receive"], &told["send"], &told["answer"]];
    let packets: u64 = ways.iter().filter_map(|way| way["packets"].as_u64()).sum();
    assert_eq!(packets, 300);
    ways.into_iter().filter(|way| !way.is_null()).for_each(plausible);
    assert_eq!(told["receive"]["flows"][0]["flow"]["protocol"], "tcp");
}

/// A process that only sleeps, ended with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start(seconds: &str) -> Self {
        Self(Command::new("sleep").arg(seconds).stdout(Stdio::null()).spawn().expect("it runs"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_ends_ends_the_run() {
    if !watchable() {
        return;
    }
    let here = folder();
    let sleeper = Sleeper::start("1");
    let pid = sleeper.0.id().to_string();
    let output = dwell(here.path(), &["local", "--pid", &pid, "--seconds", "60"]);
    assert_eq!(output.status.code(), Some(1));
    let told = errors(&output);
    assert!(told.contains("no packet of") && told.contains(&format!("process {pid} ended")), "{told}");
}

#[test]
fn what_is_not_there_is_a_bad_argument() {
    let here = folder();
    for (arguments, says) in [
        (&["local", "none0"][..], "lo"),
        (&["local", "--pid", "4194304"], "no process 4194304"),
        (&["local", "--cgroup", "no/such/group"], "no control group"),
        (&["local", "--seconds", "0"], "0.001"),
        (&["local", "--packets", "0"], "--packets"),
        (&["local", "--port", "70000"], "--port"),
        (&["local", "--address", "moon"], "--address"),
        (&["local", "--receive", "--send"], "--send"),
    ] {
        let output = dwell(here.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(says), "{arguments:?}: {}", errors(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn silence_is_told_as_such() {
    if !watchable() {
        return;
    }
    let here = folder();
    let output = dwell(here.path(), &["local", "lo", "--port", "1", "--seconds", "0.2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("no packet of lo, port 1 in 0.2 s"), "{}", errors(&output));
}
