//! Captures of several places, joined here: as a warehouse would, without one.

use super::source::{Source, left_out};
use crate::captures::{Captures, skipped};
use crate::figure::counted;
use anyhow::Result;
use dwell_core::tcp::section::{Clocks, Connection, Ends, Seen, Sight};
use dwell_core::tcp::{Handshake, Limits, Observed};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Reads all, and joins.
pub(super) fn read(places: &[(String, Vec<PathBuf>)]) -> Result<Source> {
    let mut records: HashMap<Ends, Vec<Seen>> = HashMap::new();
    let (mut lone, mut remarks) = (0u64, Vec::new());
    for (probe, (name, files)) in places.iter().enumerate() {
        let mut observed = Observed::new(Limits::default());
        let mut take = |handshake: Handshake| {
            let Some(ends) = Ends::of(&handshake) else {
                lone += 1;
                return;
            };
            let seen = Seen { first_at: handshake.first_at, sight: Sight::of(probe, &handshake) };
            records.entry(ends).or_default().push(seen);
        };
        let captures = Captures::open(files)?;
        remarks.extend(captures.each(&mut |captured| observed.see(&captured, &mut take))?);
        let seen = observed.finish(&mut take);
        let packets = counted(seen.packets, "packet");
        remarks.extend(skipped(&[seen]).map(|told| format!("{name}: of {packets} skipped: {told}")));
    }
    let (mut connections, twice) = joined(records, places.len());
    remarks.extend(left_out(lone, twice));
    let names = places.iter().map(|(name, _)| name.clone()).collect();
    connections.sort_unstable_by_key(|connection| (connection.first_at, connection.ends));
    Ok(Source::captures(names, connections, remarks))
}

/// The connections that these are of, and how many of these are of a place that has seen the connection before.
fn joined(records: HashMap<Ends, Vec<Seen>>, probes: usize) -> (Vec<Connection>, u64) {
    let (mut clocks, mut connections) = (Clocks::new(probes), Vec::with_capacity(records.len()));
    let mut twice = 0;
    let mut take = |connection, left_out| {
        connections.push(connection);
        twice += left_out;
        ControlFlow::Continue(())
    };
    // None of them breaks off.
    for (ends, seen) in records {
        let _ = clocks.part(ends, seen, &mut take);
    }
    let _ = clocks.finish(&mut take);
    (connections, twice)
}
