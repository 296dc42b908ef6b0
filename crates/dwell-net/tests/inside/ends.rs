//! Nothing stays in the kernel, however the observer ends.

use crate::observer;
use dwell_net::inside::Watching;
use libbpf_rs::Program;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Set for the process that is to be killed.
const VICTIM: &str = "DWELL_TEST_VICTIM";

/// The programs that this process holds, as the kernel lists them.
fn programs() -> Vec<u32> {
    let holds = std::fs::read_dir("/proc/self/fdinfo").expect("a list of descriptors").flatten();
    let texts = holds.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let mut ids: Vec<u32> = texts
        .flat_map(|text| {
            let id = |line: &str| line.strip_prefix("prog_id:")?.trim().parse().ok();
            text.lines().find_map(id)
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn exists(id: u32) -> bool {
    Program::fd_from_id(id).is_ok()
}

/// The kernel frees a program a little after its last holder went.
fn gone(ids: &[u32]) -> bool {
    (0..100).any(|_| {
        sleep(Duration::from_millis(20));
        !ids.iter().any(|id| exists(*id))
    })
}

#[test]
fn a_killed_observer_leaves_nothing() {
    if std::env::var_os(VICTIM).is_some() {
        let watching = Watching::default();
        let _observer = observer(&watching).expect("the test itself has one");
        println!("\nprograms {:?}", programs());
        sleep(Duration::from_secs(60));
        return;
    }
    if observer(&Watching::default()).is_none() {
        return;
    }
    let mut victim = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "ends::a_killed_observer_leaves_nothing", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let lines = BufReader::new(victim.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let list = lines.into_iter().find_map(|line| Some(line.strip_prefix("programs [")?.to_owned()));
    let ids: Vec<u32> = list
        .iter()
        .flat_map(|list| list.trim_end_matches(']').split(", "))
        .filter_map(|id| id.parse().ok())
        .collect();
    let all_there = ids.len() >= 10 && ids.iter().all(|id| exists(*id));
    victim.kill().expect("killed");
    victim.wait().expect("ended");
    assert!(all_there, "{ids:?}");
    assert!(gone(&ids), "{ids:?}");
}
