//! The one statement that joins, for every back end.

use super::Span;
use super::row::{ends, sight};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Sight};
use std::fmt::Write as _;

/// The columns that it reads.
pub(super) const READ: &str = "key, isn_key, probe, ends, first_at, marks, server_ns, client_ns";

/// Probes' clocks may differ by so much, and a connection is still whole at the edge of a span.
const SLACK: Nanos = Nanos::from_secs(600);

/// The join of what these probes saw: a row for each connection, in it, after the ends and the first instant, three
/// columns for each probe. A probe that saw nothing has marks of 0. A record that is there twice counts once, because
/// a maximum does not mind.
///
/// `which`: of the table these rows only, a condition that ends in AND.
pub(super) fn statement(table: &str, which: &str, probes: &[String], span: Span) -> String {
    let mut text = String::from("SELECT max(ends), min(first_at)");
    for probe in probes {
        for column in ["marks", "server_ns", "client_ns"] {
            let _ = write!(text, ", max((probe = '{probe}') * {column})");
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
    columns: impl Iterator<Item = [i64; 3]>,
) -> Option<Connection> {
    let sights: Option<Vec<Sight>> = columns
        .enumerate()
        .filter(|(_, [marks, ..])| *marks != 0)
        .map(|(probe, [marks, server, client])| sight(probe, marks, server, client))
        .collect();
    Some(Connection { ends: ends(packed)?, first_at: Nanos(first_at), sights: sights? })
}
