//! Other readers of captures: how long each takes for the same file, and how much memory. What they find is held against
//! the truth by dwell-sim's bench of handshakes.

use super::reading::taken;
use nix::sys::resource::UsageWho;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const NAMES: [&str; 3] = ["argus", "tcptrace", "tshark"];

/// Runs one of them, if it is installed.
pub(super) fn run(name: &str, packets: u64, path: &Path) {
    let mut command = Command::new(name);
    match name {
        "argus" => command.arg("-r").arg(path).args(["-w", "/dev/null"]),
        "tcptrace" => command.args(["-n", "-l", "-r", "--csv"]).arg(path),
        _ => command.args(["-n", "-T", "fields", "-e", "tcp.analysis.initial_rtt", "-r"]).arg(path),
    };
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if ran.is_ok() {
        let (seconds, megabytes) = taken(UsageWho::RUSAGE_CHILDREN);
        let rate = packets as f64 / seconds / 1e6;
        println!("  {name}: {rate:.2} M packets/s, once; memory at most {megabytes:.1} MB");
    } else {
        println!("  {name} is not installed");
    }
}
