//! The made cases are what they say, by the kernel's own accounts.

use dwell_core::Nanos;
use dwell_lab::{Case, LabError, Situation};
use dwell_net::PacketSocket;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a case is looked at.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

/// One after another: each wants both cores for itself.
static CORES: Mutex<()> = Mutex::new(());

fn up(case: Case) -> Option<(Situation, MutexGuard<'static, ()>)> {
    let cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    match Situation::up(case) {
        Ok(situation) => Some((situation, cores)),
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

/// The time from each packet to the next, as the destination's kernel stamps them.
fn gaps(situation: &mut Situation) -> Vec<Nanos> {
    let mut capture = situation.inside(|| PacketSocket::open("eth0").unwrap()).unwrap();
    situation.begin();
    let (mut frame, mut stamps, began) = ([0; 2048], Vec::new(), Instant::now());
    while began.elapsed() < LONG_ENOUGH {
        match capture.recv(&mut frame).unwrap() {
            Some((_, stamp)) => stamps.push(stamp),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    stamps.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn what_is_gathered_comes_together() {
    let Some((mut situation, _cores)) = up(Case::Coalescing) else { return };
    let gaps = gaps(&mut situation);
    let together = gaps.iter().filter(|gap| **gap < Nanos::from_micros(20)).count();
    let apart = gaps.iter().filter(|gap| **gap > Nanos::from_micros(450)).count();
    // A busy, and may hand one over in two parts.
    assert!(together * 2 > gaps.len() && apart * 20 > gaps.len(), "of {} {together} {apart}", gaps.len());
}

#[test]
fn each_is_what_it_says() {
    for case in Case::ALL {
        let Some((mut situation, _cores)) = up(case) else { return };
        let read = watch(&mut situation);
        assert!(read > 0, "{}: nothing was read", case.name());
        let refused = datagrams(&situation, "RcvbufErrors");
        assert_eq!(refused > 0, case == Case::FullQueue, "{}: {refused} found no room", case.name());
        let (wait, times) = waited("reader");
        let wait = wait / times.max(1) as i64;
        if case == Case::BusyCore {
            assert!(wait > Nanos::from_micros(300), "it waits {wait} for its core");
        }
    }
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<&str> = Case::ALL.iter().map(|case| case.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Case::ALL.len());
}
