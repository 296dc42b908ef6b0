//! What the kernels of both ends say that passed.

use super::wire::{NEAR, Wire};
use std::fs;

/// Counters that only rise.
#[derive(Copy, Clone, Debug)]
pub(super) struct Counters {
    /// Connections that the client's kernel opened.
    pub(super) opened: u64,
    /// Connections of which the server's kernel got the whole handshake.
    pub(super) accepted: u64,
    /// Frames over the wire, both ways.
    pub(super) frames: u64,
}

impl Counters {
    pub(super) fn of(wire: &Wire) -> Self {
        let statistics = |name: &str| {
            let path = "/proc/thread-self/net/dev";
            let text = fs::read_to_string(path).expect("statistics");
            let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{NEAR}:")));
            let place = if name == "received" { 1 } else { 9 };
            line.and_then(|line| line.split_whitespace().nth(place)?.parse::<u64>().ok()).expect("a counter")
        };
        Self {
            opened: tcp("ActiveOpens"),
            accepted: wire.far(|| tcp("PassiveOpens")),
            frames: statistics("received") + statistics("sent"),
        }
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            opened: self.opened - before.opened,
            accepted: self.accepted - before.accepted,
            frames: self.frames - before.frames,
        }
    }
}

/// A counter of TCP in the calling thread's namespace.
fn tcp(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").expect("counters");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let place = names.split(' ').position(|one| one == name).expect("a counter of this name");
    values.split(' ').nth(place).and_then(|value| value.parse().ok()).expect("a number")
}
