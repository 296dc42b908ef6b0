//! The command while it watches an interface, in a network namespace of the test's own. It takes privileges; elsewhere
//! it is left out.

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `work` in a namespace that has a loopback and another interface, `other`; not at all where that is not
/// permitted.
pub(crate) fn apart(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let ip = |arguments: &str| {
                let status = Command::new("ip").args(arguments.split(' ')).status();
                status.is_ok_and(|status| status.success())
            };
            let made = unshare(CloneFlags::CLONE_NEWNET).is_ok()
                && ip("link set lo up")
                && ip("link add other type veth peer name peer")
                && ip("link set other up");
            if made { work() } else { eprintln!("left out: no network namespaces here") }
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Starts to watch; the command is inside this thread's namespace.
pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).current_dir(folder).env("HOME", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs")
}

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn status(child: &Child) -> String {
    fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default()
}

fn capabilities(child: &Child) -> Option<String> {
    let status = status(child);
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(line.trim().to_owned())
}

/// Waits until the command has given its privileges back: what passes from then on is kept in its rings.
pub(crate) fn wait_until_it_watches(child: &Child) {
    let until = Instant::now() + PATIENCE;
    while capabilities(child).is_some_and(|mask| !mask.trim_matches('0').is_empty()) {
        assert!(Instant::now() < until, "it keeps its privileges");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn end(child: Child) -> Output {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("told to end");
    child.wait_with_output().expect("ended")
}
