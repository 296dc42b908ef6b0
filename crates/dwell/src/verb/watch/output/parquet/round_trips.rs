//! The columns of round trips throughout connections.

use super::super::super::throughout::Line;
use crate::columns::Group;
use anyhow::Result;
use dwell_core::tcp::continuous::{End, RoundTrips};

/// In the order in which they are written.
pub(super) const SCHEMA: &str = "message round_trips {
  required binary probe (STRING);
  required binary to (STRING);
  required int32 to_port (INTEGER(16,false));
  required binary other (STRING);
  required int32 other_port (INTEGER(16,false));
  optional binary end (STRING);
  required binary by (STRING);
  required int64 t_from_ns;
  required int64 t_until_ns;
  optional int64 least_ns;
  required int64 mean_ns;
  required binary quality (STRING);
  required int64 samples (INTEGER(64,false));
}";

pub(super) fn write(probe: &str, rows: &[RoundTrips], group: &mut Group<'_>) -> Result<()> {
    let rows: Vec<Line<'_>> = rows.iter().map(|told| Line::of(probe, told)).collect();
    let rows = || rows.iter();
    group.text(rows().map(|row| row.probe.to_owned()))?;
    group.text(rows().map(|row| row.to.to_string()))?;
    group.small(rows().map(|row| row.to_port.into()))?;
    group.text(rows().map(|row| row.other.to_string()))?;
    group.small(rows().map(|row| row.other_port.into()))?;
    group.optional_text(rows().map(|row| row.end.map(End::name)))?;
    group.text(rows().map(|row| row.by.name().to_owned()))?;
    group.long(rows().map(|row| row.t_from_ns))?;
    group.long(rows().map(|row| row.t_until_ns))?;
    group.optional(rows().map(|row| row.least_ns))?;
    group.long(rows().map(|row| row.mean_ns))?;
    group.text(rows().map(|row| row.quality.name().to_owned()))?;
    group.long(rows().map(|row| row.samples.cast_signed()))
}
