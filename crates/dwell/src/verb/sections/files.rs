//! Captures, each of one place, joined here: as a warehouse would, without one.

use super::source::Source;
use crate::captures::{Captures, skipped};
use crate::figure::counted;
use anyhow::Result;
use dwell_core::tcp::section::{Clocks, Connection, Ends, Seen, Sight};
use dwell_core::tcp::{Handshake, Limits, Observed};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Reads all, and joins.
pub(super) fn read(files: &[(String, PathBuf)]) -> Result<Source> {
    let mut records: HashMap<Ends, Vec<Seen>> = HashMap::new();
    let (mut lone, mut remarks) = (0u64, Vec::new());
    for (probe, (name, file)) in files.iter().enumerate() {
        let mut observed = Observed::new(Limits::default());
        let mut take = |handshake: Handshake| {
            let Some(ends) = Ends::of(&handshake) else {
                lone += 1;
                return;
            };
            let seen = Seen { first_at: handshake.first_at, sight: Sight::of(probe, &handshake) };
            records.entry(ends).or_default().push(seen);
        };
        let captures = Captures::open(std::slice::from_ref(file))?;
        remarks.extend(captures.each(&mut |captured| observed.see(&captured, &mut take))?);
        let seen = observed.finish(&mut take);
        let packets = counted(seen.packets, "packet");
        remarks.extend(skipped(&[seen]).map(|told| format!("{name}: of {packets} skipped: {told}")));
    }
    if lone > 0 {
        remarks.push(format!("{} without the server's number, joined with none", counted(lone, "handshake")));
    }
    let all: usize = records.values().map(Vec::len).sum();
    let mut connections = joined(records, files.len());
    let twice = all - connections.iter().map(|connection| connection.sights.len()).sum::<usize>();
    if twice > 0 {
        let twice = counted(twice as u64, "handshake");
        remarks.push(format!("{twice} that one place has seen before, left out"));
    }
    let names = files.iter().map(|(name, _)| name.clone()).collect();
    connections.sort_unstable_by_key(|connection| (connection.first_at, connection.ends));
    Ok(Source::captures(names, connections, remarks))
}

/// The connections that these are of.
fn joined(records: HashMap<Ends, Vec<Seen>>, probes: usize) -> Vec<Connection> {
    let (mut clocks, mut connections) = (Clocks::new(probes), Vec::with_capacity(records.len()));
    let mut take = |connection| {
        connections.push(connection);
        ControlFlow::Continue(())
    };
    // None of them breaks off.
    for (ends, seen) in records {
        let _ = clocks.part(ends, seen, &mut take);
    }
    let _ = clocks.finish(&mut take);
    connections
}
