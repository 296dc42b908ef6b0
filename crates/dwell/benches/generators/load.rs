//! The generators: Apache's bench and D-ITG, which the paper used, and wrk, which is faster.

use super::server::PORT;
use super::wire::{SERVER, Wire};
use std::fmt;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Ab,
    Wrk,
    DItg,
}

/// Connections by ab.
const REQUESTS: u32 = 10_000;

impl Load {
    /// D-ITG settles its flows one after the other by a channel besides, a second for each.
    pub(super) const fn most_clients(self) -> u32 {
        match self {
            Self::Ab | Self::Wrk => 1_000,
            Self::DItg => 15,
        }
    }

    /// Runs it with so many clients; what it says that it made, where it says it. `None`: it is not installed.
    pub(super) fn run(self, wire: &Wire, clients: u32) -> Option<String> {
        let url = format!("http://{SERVER}:{PORT}/");
        let said = match self {
            Self::Ab => {
                let said = output(Command::new("ab").args([
                    "-q",
                    "-r",
                    "-n",
                    &REQUESTS.to_string(),
                    "-c",
                    &clients.to_string(),
                    &url,
                ]))?;
                after(&said, "Complete requests:")
            }
            Self::Wrk => {
                let threads = clients.min(2).to_string();
                let clients = clients.to_string();
                let said = output(Command::new("wrk").args([
                    "-t",
                    &threads,
                    "-c",
                    &clients,
                    "-d",
                    "2s",
                    "-H",
                    "Connection: close",
                    &url,
                ]))?;
                said.lines()
                    .find_map(|line| line.split_once(" requests in"))
                    .map(|(count, _)| count.trim().to_owned())
            }
            Self::DItg => {
                let _receiver = Receiver::start(wire)?;
                let mut script = tempfile::NamedTempFile::new().expect("a file");
                for flow in 0..clients {
                    writeln!(script, "-a {SERVER} -rp {} -T TCP -C 50 -c 1448 -t 1000", 10_001 + flow)
                        .expect("written");
                }
                let log = script.path().with_extension("log");
                output(Command::new("ITGSend").arg(script.path()).arg("-l").arg(&log))?;
                let _ = std::fs::remove_file(log);
                None
            }
        };
        Some(said.unwrap_or_else(|| "-".to_owned()))
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ab => "ab",
            Self::Wrk => "wrk",
            Self::DItg => "d-itg",
        })
    }
}

/// One flow of D-ITG at so many segments a second, for two seconds; how long it took. `None`: it is not installed.
pub(super) fn segments(wire: &Wire, rate: u32) -> Option<Duration> {
    const SPAN: Duration = Duration::from_secs(2);
    let _receiver = Receiver::start(wire)?;
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut sender = Command::new("ITGSend");
    sender.args(["-a", SERVER, "-T", "TCP", "-C", &rate.to_string(), "-c", "1448"]);
    let began = Instant::now();
    output(sender.args(["-t", &SPAN.as_millis().to_string(), "-l"]).arg(log.path()))?;
    // It waits for its receiver besides.
    Some(began.elapsed().min(SPAN))
}

/// D-ITG's other end.
struct Receiver(Child);

impl Receiver {
    fn start(wire: &Wire) -> Option<Self> {
        let log = std::env::temp_dir().join(format!("dwell-itg-{}.log", std::process::id()));
        let mut command = Command::new("ITGRecv");
        command.arg("-l").arg(log).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = wire.far(|| command.spawn()).ok()?;
        thread::sleep(Duration::from_millis(500));
        Some(Self(child))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let log = std::env::temp_dir().join(format!("dwell-itg-{}.log", std::process::id()));
        let _ = std::fs::remove_file(log);
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn after(said: &str, words: &str) -> Option<String> {
    said.lines().find_map(|line| line.trim().strip_prefix(words)).map(|rest| rest.trim().to_owned())
}
