//! The one statement that joins, for every back end.

use super::Span;
use super::row::{FLAGS, MARKS, ends, sight};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Sight};
use std::fmt::Write as _;

/// The columns that it reads.
pub(super) const READ: &str = "key, isn_key, probe, ends, first_at, marks, flags, server_ns, client_ns";

/// Probes' clocks may differ by so much, and a connection is still whole at the edge of a span.
const SLACK: Nanos = Nanos::from_secs(600);

/// Columns of the join for each probe.
pub(super) const EACH: usize = 2;

/// The join of what these probes saw: a row for each connection, in it, after the ends and the first instant, two
/// columns for each probe: a half of the round trip above its marks or flags, because what a maximum costs is what a row
/// costs. A probe that saw nothing has zeros. A record that is there twice counts once, because a maximum does not mind.
///
/// `which`: of the table these rows only, a condition that ends in AND.
pub(super) fn statement(table: &str, which: &str, probes: &[String], span: Span) -> String {
    let mut text = String::from("SELECT max(ends), min(first_at)");
    for probe in probes {
        for (time, above, below) in [("server_ns", MARKS, "marks"), ("client_ns", FLAGS, "flags")] {
            let _ = write!(text, ", max((probe = '{probe}') * (({time} + 1) * {above} + {below}))");
        }
    }
    let (from, until) = ((span.from - SLACK).0.max(-i64::MAX), (span.until + SLACK).0);
    let _ =
        write!(text, " FROM {table} WHERE {which}isn_key <> 0 AND first_at >= {from} AND first_at < {until}");
    if let Some((first, more)) = probes.split_first() {
        let _ = write!(text, " AND probe IN ('{first}'");
        more.iter().for_each(|probe| {
            let _ = write!(text, ", '{probe}'");
        });
        text.push(')');
    }
    text.push_str(" GROUP BY key");
    text
}

/// A connection out of a row of the join; `None` when it holds what no version of ours wrote.
pub(super) fn connection(
    packed: &[u8],
    first_at: i64,
    columns: impl Iterator<Item = [i64; EACH]>,
) -> Option<Connection> {
    let sights: Option<Vec<Sight>> = columns
        .enumerate()
        .filter(|(_, [server, _])| *server != 0)
        .map(|(probe, [server, client])| sight(probe, server, client))
        .collect();
    Some(Connection { ends: ends(packed)?, first_at: Nanos(first_at), sights: sights? })
}
