//! `dwell watch` on the wire.

use super::wire::{NEAR, Wire};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// What it takes at most until the readers run, and until the last packet was told.
const LEAD: Duration = Duration::from_millis(1_000);

pub(super) struct Watch {
    child: Child,
    folder: TempDir,
}

/// What it told.
pub(super) struct Seen {
    /// Connections that were established.
    pub(super) recorded: u64,
    /// Those with both halves exact.
    pub(super) exact: u64,
    /// Handshakes that came to nothing as far as the probe saw.
    pub(super) other: u64,
    /// What it says of packets and drops, and of what is out of the ordinary.
    pub(super) account: String,
    /// Frames that the kernel's filter saw.
    pub(super) frames: u64,
    /// Frames that the kernel dropped for want of room.
    pub(super) dropped: u64,
}

impl Watch {
    pub(super) fn start(_: &Wire, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| fs::File::create(folder.path().join(name)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        command.args(["watch", NEAR, "--json", "--probe", "bench"]).args(more);
        command.stdin(Stdio::null()).stdout(file("told")).stderr(file("account"));
        let child = command.spawn().expect("dwell runs");
        // With its rings open it gives its privileges back; what passes before that nobody could see.
        let status = || fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let privileged = |line: &str| {
            line.strip_prefix("CapEff:").is_some_and(|mask| !mask.trim().trim_matches('0').is_empty())
        };
        while status().lines().any(privileged) {
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(LEAD);
        Self { child, folder }
    }

    pub(super) fn finish(mut self) -> Seen {
        thread::sleep(LEAD);
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).expect("told to end");
        let status = self.child.wait().expect("ended");
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).expect("a file");
        let (told, account) = (read("told"), read("account"));
        assert!(status.success(), "{account}");
        // Digits stand in groups, after a comma or at the beginning of a line.
        let before = |words: &str| {
            let (head, _) = account.split_once(words)?;
            let figure = head.rsplit([',', '\n']).next()?;
            figure.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
        };
        let of = |qualities: &[&str]| {
            let one = |line: &&str| {
                qualities.iter().any(|quality| line.contains(&format!("\"quality\":\"{quality}\"")))
            };
            told.lines().filter(one).count() as u64
        };
        let other = of(&["unfinished", "refused"]);
        Seen {
            recorded: of(&["exact", "ambiguous", "upper-bound", "total-only"]),
            exact: of(&["exact"]),
            other,
            frames: before(" packets passed by").unwrap_or(0),
            dropped: before(" dropped by the kernel").unwrap_or_else(|| panic!("no drops told: {account}")),
            account,
        }
    }
}
