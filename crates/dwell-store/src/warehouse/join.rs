//! The join, for every back end.

use super::parts::{Found, Work};
use super::row::{FLAGS, MARKS, ends, sight};
use super::{Span, WarehouseError};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Ends, Seen, Sight, TOGETHER};
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// The columns that it reads.
pub(super) const READ: &str = "key, isn_key, probe, ends, first_at, marks, flags, server_ns, client_ns";

/// Columns of the join for each probe.
pub(super) const EACH: usize = 2;

/// Connections of which a probe has several records are asked for so many at once: no server reads statements of any length.
const SEVERAL: usize = 8_192;

/// What is joined.
#[derive(Copy, Clone, Debug)]
pub(super) struct Asked<'a> {
    /// The table, or what stands for it.
    pub(super) table: &'a str,
    /// Of that these rows only, a condition that ends in AND.
    pub(super) which: &'a str,
    /// What these saw.
    pub(super) probes: &'a [String],
    /// When records of connections may begin.
    pub(super) reach: Span,
}

/// A row of the join.
pub(super) struct Row<'a> {
    pub(super) key: i64,
    pub(super) ends: &'a [u8],
    pub(super) first_at: i64,
    /// When the last of its records begins.
    pub(super) last_at: i64,
    /// How many records it is made of.
    pub(super) records: i64,
    pub(super) columns: &'a [[i64; EACH]],
}

/// Takes a row; `None` when it holds what no version of ours wrote.
pub(super) type See<'a> = dyn FnMut(&Row<'_>) -> Option<ControlFlow<()>> + 'a;

impl Asked<'_> {
    /// Joins, with `each` to show the rows of a statement, and gives what it finds.
    pub(super) fn join(
        &self,
        each: &dyn Fn(&str, &mut See<'_>) -> Result<(), WarehouseError>,
        work: &mut Work<'_>,
    ) -> Result<(), WarehouseError> {
        let (mut several, mut is_over) = (Vec::new(), false);
        let mut see = |row: &Row<'_>| {
            let connection = row.connection()?;
            if row.records != connection.sights.len() as i64
                || row.last_at.saturating_sub(row.first_at) > TOGETHER.0
            {
                several.push(row.key);
                return Some(ControlFlow::Continue(()));
            }
            let goes_on = work.give(Found::Connection(connection));
            is_over = goes_on.is_break();
            Some(goes_on)
        };
        each(&self.statement("", "key"), &mut see)?;
        for keys in several.chunks(SEVERAL) {
            if is_over {
                break;
            }
            let mut records = Vec::new();
            let mut see = |row: &Row<'_>| {
                records.push(Record::of(row)?);
                Some(ControlFlow::Continue(()))
            };
            let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
            let of_these = format!("key IN ({}) AND ", keys.join(", "));
            let alone = "key, probe, first_at, server_ns, client_ns, marks, flags";
            each(&self.statement(&of_these, alone), &mut see)?;
            is_over = together(records).into_iter().any(|found| work.give(found).is_break());
        }
        Ok(())
    }

    /// A row for each group, in it, after the key, the ends, the first instant and the last and how many records it is made
    /// of, two columns for each probe: a half of the round trip above its marks or flags, because what a maximum costs is
    /// what a row costs. A probe that saw nothing has zeros. Of a probe's records that differ the maxima mix the halves, and
    /// records that begin far from each other may be of several connections: both are asked for again, record by record.
    fn statement(&self, of_these: &str, group: &str) -> String {
        let mut text = String::from("SELECT key, max(ends), min(first_at), max(first_at), count(*)");
        for probe in self.probes {
            for (time, above, below) in [("server_ns", MARKS, "marks"), ("client_ns", FLAGS, "flags")] {
                let _ = write!(text, ", max(if(probe = '{probe}', ({time} + 1) * {above} + {below}, 0))");
            }
        }
        let (from, until) = (self.reach.from.0.max(-i64::MAX), self.reach.until.0);
        let _ = write!(
            text,
            " FROM {} WHERE {}{of_these}isn_key <> 0 AND first_at >= {from} AND first_at < {until}",
            self.table, self.which
        );
        if let Some((first, more)) = self.probes.split_first() {
            let _ = write!(text, " AND probe IN ('{first}'");
            more.iter().for_each(|probe| {
                let _ = write!(text, ", '{probe}'");
            });
            text.push(')');
        }
        text + " GROUP BY " + group
    }
}

impl Row<'_> {
    fn connection(&self) -> Option<Connection> {
        let sights: Option<Vec<Sight>> = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, [server, _])| *server != 0)
            .map(|(probe, [server, client])| sight(probe, *server, *client))
            .collect();
        Some(Connection { ends: ends(self.ends)?, first_at: Nanos(self.first_at), sights: sights? })
    }
}

/// A record of a connection; those of one key are neighbours in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    ends: Ends,
    first_at: i64,
    probe: usize,
    columns: [i64; EACH],
}

impl Record {
    fn of(row: &Row<'_>) -> Option<Self> {
        let (probe, columns) = row.columns.iter().enumerate().find(|(_, [server, _])| *server != 0)?;
        let [server, client] = *columns;
        sight(probe, server, client)?;
        Some(Self { ends: ends(row.ends)?, first_at: row.first_at, probe, columns: *columns })
    }

    fn seen(&self) -> Option<Seen> {
        let [server, client] = self.columns;
        Some(Seen { first_at: Nanos(self.first_at), sight: sight(self.probe, server, client)? })
    }
}

/// What there is under each key.
fn together(mut records: Vec<Record>) -> Vec<Found> {
    records.sort_unstable();
    let of_one = |one: &Record, two: &Record| one.ends == two.ends;
    let found = |records: &[Record]| {
        Found::Records(records[0].ends, records.iter().filter_map(Record::seen).collect())
    };
    records.chunk_by(of_one).map(found).collect()
}
