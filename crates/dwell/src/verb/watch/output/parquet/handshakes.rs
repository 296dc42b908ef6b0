//! The columns of handshakes.

use super::super::super::row::Row;
use crate::columns::Group;
use anyhow::Result;
use dwell_core::tcp::{Flag, Handshake};

/// In the order in which they are written.
pub(super) const SCHEMA: &str = "message handshake {
  required binary probe (STRING);
  required binary client (STRING);
  required int32 client_port (INTEGER(16,false));
  required binary server (STRING);
  required int32 server_port (INTEGER(16,false));
  required int32 isn_client (INTEGER(32,false));
  optional int32 isn_server (INTEGER(32,false));
  optional int64 t_syn_ns;
  optional int64 server_half_ns;
  optional int64 client_half_ns;
  optional int64 rtt_ns;
  required binary quality (STRING);
  required binary flags (STRING);
  required binary ending (STRING);
  required int64 t_first_ns;
  required int32 syns;
  required int32 syn_acks;
  required binary server_half_quality (STRING);
  required binary client_half_quality (STRING);
  required binary rtt_quality (STRING);
  optional int64 server_half_candidate_1_ns;
  optional int64 server_half_candidate_2_ns;
  optional int64 client_half_candidate_1_ns;
  optional int64 client_half_candidate_2_ns;
  optional int64 rtt_candidate_1_ns;
  optional int64 rtt_candidate_2_ns;
}";

pub(super) fn write(probe: &str, rows: &[Handshake], group: &mut Group<'_>) -> Result<()> {
    let rows: Vec<Row<'_>> = rows.iter().map(|handshake| Row::of(probe, handshake)).collect();
    let rows = || rows.iter();
    group.text(rows().map(|row| row.probe.to_owned()))?;
    group.text(rows().map(|row| row.client.to_string()))?;
    group.small(rows().map(|row| row.client_port.into()))?;
    group.text(rows().map(|row| row.server.to_string()))?;
    group.small(rows().map(|row| row.server_port.into()))?;
    // Unsigned numbers are kept by their bits.
    group.small(rows().map(|row| row.isn_client.cast_signed()))?;
    group.optional_small(rows().map(|row| row.isn_server.map(u32::cast_signed)))?;
    group.optional(rows().map(|row| row.t_syn_ns))?;
    group.optional(rows().map(|row| row.server_half_ns))?;
    group.optional(rows().map(|row| row.client_half_ns))?;
    group.optional(rows().map(|row| row.rtt_ns))?;
    group.text(rows().map(|row| row.quality.name().to_owned()))?;
    group.text(rows().map(|row| row.flags.iter().map(Flag::name).collect::<Vec<_>>().join(" ")))?;
    group.text(rows().map(|row| row.ending.name().to_owned()))?;
    group.long(rows().map(|row| row.t_first_ns))?;
    group.small(rows().map(|row| row.syns.into()))?;
    group.small(rows().map(|row| row.syn_acks.into()))?;
    group.text(rows().map(|row| row.server_half_quality.name().to_owned()))?;
    group.text(rows().map(|row| row.client_half_quality.name().to_owned()))?;
    group.text(rows().map(|row| row.rtt_quality.name().to_owned()))?;
    group.optional(rows().map(|row| row.server_half_candidates_ns.map(|both| both[0])))?;
    group.optional(rows().map(|row| row.server_half_candidates_ns.map(|both| both[1])))?;
    group.optional(rows().map(|row| row.client_half_candidates_ns.map(|both| both[0])))?;
    group.optional(rows().map(|row| row.client_half_candidates_ns.map(|both| both[1])))?;
    group.optional(rows().map(|row| row.rtt_candidates_ns.map(|both| both[0])))?;
    group.optional(rows().map(|row| row.rtt_candidates_ns.map(|both| both[1])))
}
