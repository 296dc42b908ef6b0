//! `dwell watch` on the wire.

use super::wire::{NEAR, Wire};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// What it takes until the readers run, and until the last packet was told.
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
        let with = |part: &str| told.lines().filter(|line| line.contains(part)).count() as u64;
        Seen {
            recorded: told
                .lines()
                .filter(|line| {
                    line.contains("\"quality\"")
                        && !["\"unfinished\"", "\"refused\""].iter().any(|part| line.contains(part))
                })
                .count() as u64,
            exact: with("\"quality\":\"exact\""),
            frames: before(" packets passed by").unwrap_or(0),
            dropped: before(" dropped by the kernel").unwrap_or_else(|| panic!("no drops told: {account}")),
        }
    }
}
