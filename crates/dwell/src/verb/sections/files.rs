//! Captures, each of one place, joined here: as a warehouse would, without one.

use super::source::Source;
use crate::captures::{Captures, skipped};
use crate::figure::counted;
use anyhow::Result;
use dwell_core::tcp::section::{Connection, Ends, Sight};
use dwell_core::tcp::{Handshake, Limits, Observed};
use std::collections::HashMap;
use std::path::PathBuf;

/// Reads all, and joins.
pub(super) fn read(files: &[(String, PathBuf)]) -> Result<Source> {
    let mut connections: HashMap<Ends, Connection> = HashMap::new();
    let (mut lone, mut twice, mut remarks) = (0u64, 0u64, Vec::new());
    for (probe, (name, file)) in files.iter().enumerate() {
        let mut observed = Observed::new(Limits::default());
        let mut take = |handshake: Handshake| {
            let Some(ends) = Ends::of(&handshake) else {
                lone += 1;
                return;
            };
            let first_at = handshake.first_at;
            let connection =
                connections.entry(ends).or_insert_with(|| Connection { ends, first_at, sights: Vec::new() });
            connection.first_at = connection.first_at.min(first_at);
            if connection.by(probe).is_some() {
                twice += 1;
            } else {
                connection.sights.push(Sight::of(probe, &handshake));
            }
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
    if twice > 0 {
        remarks.push(format!("{} that one place has seen before, left out", counted(twice, "handshake")));
    }
    let names = files.iter().map(|(name, _)| name.clone()).collect();
    let mut connections: Vec<Connection> = connections.into_values().collect();
    connections.sort_unstable_by_key(|connection| (connection.first_at, connection.ends));
    Ok(Source::captures(names, connections, remarks))
}
