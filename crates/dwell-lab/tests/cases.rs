//! The made cases are what they say, by the kernel's own accounts.

use dwell_core::Nanos;
use dwell_lab::{Case, LabError, Situation};
use std::fs;
use std::time::{Duration, Instant};

/// How long a case is looked at.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

fn up(case: Case) -> Option<Situation> {
    match Situation::up(case) {
        Ok(situation) => Some(situation),
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The destination's count of UDP datagrams by this name.
fn datagrams(situation: &Situation, name: &str) -> u64 {
    let text = situation.inside(|| fs::read_to_string("/proc/thread-self/net/snmp").unwrap()).unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|one| one == name).unwrap();
    values.split_whitespace().nth(place).unwrap().parse().unwrap()
}

/// How long this process's thread `role` waited for a core so far, and how often it was given one.
fn waited(role: &str) -> (Nanos, u64) {
    let threads = fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let mut found =
        threads.filter(|path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == role));
    let text = fs::read_to_string(found.next().unwrap().join("schedstat")).unwrap();
    let mut figures = text.split_whitespace().skip(1).map(|figure| figure.parse::<u64>().unwrap());
    (Nanos(figures.next().unwrap() as i64), figures.next().unwrap())
}

/// Lets packets come, and returns how many did.
fn watch(situation: &mut Situation) -> u64 {
    let before = datagrams(situation, "InDatagrams");
    situation.begin();
    let began = Instant::now();
    while began.elapsed() < LONG_ENOUGH {
        std::thread::sleep(LONG_ENOUGH / 10);
    }
    datagrams(situation, "InDatagrams") - before
}

/// One after another: each wants both cores for itself.
#[test]
fn each_is_what_it_says() {
    let mut longest_wait = Nanos::ZERO;
    for case in Case::ALL {
        let Some(mut situation) = up(case) else { return };
        let read = watch(&mut situation);
        assert!(read > 0, "{}: nothing was read", case.name());
        let refused = datagrams(&situation, "RcvbufErrors");
        assert_eq!(refused > 0, case == Case::FullQueue, "{}: {refused} found no room", case.name());
        let (wait, times) = waited("reader");
        let wait = wait / times.max(1) as i64;
        match case {
            Case::BusyCore => assert!(wait > Nanos::from_micros(300), "waits {wait} for its core"),
            _ => longest_wait = longest_wait.max(wait),
        }
    }
    println!("elsewhere the reader waits {longest_wait} at most");
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<&str> = Case::ALL.iter().map(|case| case.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Case::ALL.len());
}
