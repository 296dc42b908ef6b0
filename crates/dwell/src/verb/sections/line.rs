//! What is told of a connection and a section, in one line.

use crate::columns::Group;
use anyhow::Result;
use dwell_core::tcp::section::{Connection, Estimate, Place, Section};
use dwell_core::tcp::{Flag, Flags};
use serde::Serialize;

/// The keys of `dwell sections --json`.
#[derive(Default, Serialize)]
pub(super) struct Line {
    client: String,
    client_port: u16,
    server: String,
    server_port: u16,
    isn_client: u32,
    isn_server: u32,
    t_first_ns: i64,
    /// Its number from the client on, 0 first; of one that spans several, that of the first of them.
    section: usize,
    from: String,
    to: String,
    rtt_ns: Option<i64>,
    rtt_server_side_ns: Option<i64>,
    rtt_client_side_ns: Option<i64>,
    consistency_ns: Option<i64>,
    quality: &'static str,
    nat: bool,
    /// Along the probes' order, or against it, or unknown.
    way: &'static str,
}

impl Line {
    /// Of a section between these two places, where so many probes are.
    pub(super) fn of(
        connection: &Connection,
        section: &Section,
        [from, to]: [&str; 2],
        probes: usize,
    ) -> Self {
        let ends = &connection.ends;
        let exact = |estimate: Estimate| estimate.exact().map(|time| time.0);
        let flags = connection.sights.iter().fold(Flags::default(), |all, sight| all.with(sight.flags));
        Self {
            client: ends.client.address.to_string(),
            client_port: ends.client.port,
            server: ends.server.address.to_string(),
            server_port: ends.server.port,
            isn_client: ends.isn_client,
            isn_server: ends.isn_server,
            t_first_ns: connection.first_at.0,
            section: match section.from {
                Place::Client => 0,
                Place::Probe(rank) => rank + 1,
                Place::Server => probes,
            },
            from: from.to_owned(),
            to: to.to_owned(),
            rtt_ns: section.rtt.map(|time| time.0),
            rtt_server_side_ns: exact(section.server_side),
            rtt_client_side_ns: exact(section.client_side),
            consistency_ns: section.consistency.map(|time| time.0),
            quality: section.quality.name(),
            nat: flags.has(Flag::Nat),
            way: section.way.name(),
        }
    }
}

/// The columns of Parquet, in the order in which they are written.
pub(super) const SCHEMA: &str = "message section {
  required binary client (STRING);
  required int32 client_port (INTEGER(16,false));
  required binary server (STRING);
  required int32 server_port (INTEGER(16,false));
  required int32 isn_client (INTEGER(32,false));
  required int32 isn_server (INTEGER(32,false));
  required int64 t_first_ns;
  required int32 section;
  required binary from (STRING);
  required binary to (STRING);
  optional int64 rtt_ns;
  optional int64 rtt_server_side_ns;
  optional int64 rtt_client_side_ns;
  optional int64 consistency_ns;
  required binary quality (STRING);
  required boolean nat;
  required binary way (STRING);
}";

pub(super) fn write(rows: &[Line], group: &mut Group<'_>) -> Result<()> {
    let rows = || rows.iter();
    group.text(rows().map(|row| row.client.clone()))?;
    group.small(rows().map(|row| row.client_port.into()))?;
    group.text(rows().map(|row| row.server.clone()))?;
    group.small(rows().map(|row| row.server_port.into()))?;
    // Unsigned numbers are kept by their bits.
    group.small(rows().map(|row| row.isn_client.cast_signed()))?;
    group.small(rows().map(|row| row.isn_server.cast_signed()))?;
    group.long(rows().map(|row| row.t_first_ns))?;
    // No path has so many probes that their count would not fit.
    group.small(rows().map(|row| i32::try_from(row.section).unwrap_or(i32::MAX)))?;
    group.text(rows().map(|row| row.from.clone()))?;
    group.text(rows().map(|row| row.to.clone()))?;
    group.optional(rows().map(|row| row.rtt_ns))?;
    group.optional(rows().map(|row| row.rtt_server_side_ns))?;
    group.optional(rows().map(|row| row.rtt_client_side_ns))?;
    group.optional(rows().map(|row| row.consistency_ns))?;
    group.text(rows().map(|row| row.quality.to_owned()))?;
    group.truth(rows().map(|row| row.nat))?;
    group.text(rows().map(|row| row.way.to_owned()))
}
