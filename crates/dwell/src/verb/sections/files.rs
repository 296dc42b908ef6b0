//! Captures, each of one place, joined here: as a warehouse would, without one.

use super::source::Source;
use crate::failure::bad_argument;
use anyhow::{Result, anyhow};
use dwell_core::capture::ReadError;
use dwell_core::tcp::section::{Connection, Ends, Sight};
use dwell_core::tcp::{Handshake, Limits, Observed};
use dwell_net::capture::{End, File};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Reads all, and joins.
pub(super) fn read(files: &[(String, PathBuf)]) -> Result<Source> {
    let mut connections: HashMap<Ends, Connection> = HashMap::new();
    let (mut lone, mut twice, mut remarks) = (0u64, 0u64, Vec::new());
    for (probe, (name, file)) in files.iter().enumerate() {
        // A name that stands for nothing is a mistake in the arguments; what a file holds is not.
        let failed = |error| {
            let is_missing =
                matches!(&error, ReadError::Unreadable(error) if error.kind() == ErrorKind::NotFound);
            let failure = anyhow!("{} {error}", file.display());
            if is_missing { bad_argument(failure) } else { failure }
        };
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
        let account = File::open(file)
            .and_then(|mut opened| opened.each(&mut |captured| observed.see(&captured, &mut take)))
            .map_err(failed)?;
        let seen = observed.finish(&mut take);
        let packets = account.packets;
        match account.end {
            End::Whole => {}
            End::CutOff => remarks.push(format!("{name} is cut off after {packets} whole packets")),
            End::Damaged => remarks.push(format!("{name} is damaged after {packets} whole packets")),
        }
        let skipped: Vec<String> =
            seen.skipped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if !skipped.is_empty() {
            remarks.push(format!("{name}: of {packets} packets skipped: {}", skipped.join(", ")));
        }
    }
    if lone > 0 {
        remarks.push(format!("{lone} handshakes without the server's number are joined with none"));
    }
    if twice > 0 {
        remarks.push(format!("{twice} handshakes that one place has seen before are left out"));
    }
    let names = files.iter().map(|(name, _)| name.clone()).collect();
    let mut connections: Vec<Connection> = connections.into_values().collect();
    connections.sort_unstable_by_key(|connection| (connection.first_at, connection.ends));
    Ok(Source::captures(names, connections, remarks))
}
