//! At which times the records of a day were seen, block by block: whoever asks for a span of time again and again reads what is new,
//! and not the day.
//!
//! Records lie in the order in which they came. That is nearly the order of their times, but any may come late: so the first and the
//! last time of each block are looked up once, and what came since is looked at always.

use super::file::{PARTS, table};
use crate::warehouse::Span;
use dwell_core::Nanos;
use rusqlite::Connection;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Rows that are read or left out together.
const BLOCK: usize = 512;

/// So many runs of blocks are read one by one; of more, all from the first to the last.
const RUNS: usize = 16;

/// What is known of the files that were asked last.
#[derive(Debug, Default)]
pub(super) struct Zones(HashMap<PathBuf, (Option<Which>, Parts)>);

/// What is known of a file, part by part.
pub(super) type Parts = Vec<Mutex<Zone>>;

/// Which file it is that has a name: where another takes its place, nothing is known of it.
type Which = (u64, u64, Option<SystemTime>);

fn which(file: &Path) -> Option<Which> {
    fs::metadata(file).ok().map(|file| (file.dev(), file.ino(), file.created().ok()))
}

impl Zones {
    /// What is not asked now need not be known any more.
    pub(super) fn forget_all_but(&mut self, files: &[PathBuf]) {
        self.0.retain(|file, (known, _)| files.contains(file) && *known == which(file));
    }

    /// Of these files, in their order.
    pub(super) fn of<'a>(&mut self, files: impl Iterator<Item = &'a Path> + Clone) -> Vec<&Parts> {
        for file in files.clone() {
            let nothing = || (which(file), (0..PARTS).map(|_| Mutex::default()).collect());
            self.0.entry(file.to_owned()).or_insert_with(nothing);
        }
        files.filter_map(|file| self.0.get(file)).map(|(_, parts)| parts).collect()
    }
}

/// What is known of a table.
#[derive(Debug, Default)]
pub(super) struct Zone {
    /// Rows that were looked at.
    rows: i64,
    /// The first and the last time of each block of them.
    blocks: Vec<(Nanos, Nanos)>,
}

impl Zone {
    /// Conditions, of which each row that may lie in the span meets one and no other. `schema`: by which name the file is attached.
    pub(super) fn conditions(
        zone: &Mutex<Self>,
        database: &Connection,
        schema: &str,
        part: u64,
        span: Span,
    ) -> rusqlite::Result<Vec<String>> {
        let mut zone = zone.lock().unwrap_or_else(PoisonError::into_inner);
        zone.look(database, schema, part)?;
        Ok(zone.within(span))
    }

    /// Looks at what came since it looked last.
    fn look(&mut self, database: &Connection, schema: &str, part: u64) -> rusqlite::Result<()> {
        let text =
            format!("SELECT rowid, first_at FROM {schema}.{} WHERE rowid > ? ORDER BY rowid", table(part));
        let mut statement = database.prepare(&text)?;
        let mut rows = statement.query([self.rows])?;
        while let Some(row) = rows.next()? {
            self.add(row.get(0)?, Nanos(row.get(1)?));
        }
        Ok(())
    }

    fn add(&mut self, row: i64, at: Nanos) {
        let block = (row - 1) as usize / BLOCK;
        // A block of none holds nothing, until something is in it.
        self.blocks.resize(self.blocks.len().max(block + 1), (Nanos::MAX, Nanos(i64::MIN)));
        let (first, last) = &mut self.blocks[block];
        (*first, *last) = ((*first).min(at), (*last).max(at));
        self.rows = row;
    }

    fn within(&self, span: Span) -> Vec<String> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (block, (first, last)) in self.blocks.iter().enumerate() {
            if *last < span.from || *first >= span.until {
                continue;
            }
            match runs.last_mut() {
                Some((_, end)) if *end == block => *end = block + 1,
                _ => runs.push((block, block + 1)),
            }
        }
        if let (Some((first, _)), Some((_, end)), true) = (runs.first(), runs.last(), runs.len() > RUNS) {
            runs = vec![(*first, *end)];
        }
        let row = |block: usize| (block * BLOCK) as i64;
        let within = |(first, end): &(usize, usize)| {
            format!("rowid > {} AND rowid <= {}", row(*first), row(*end).min(self.rows))
        };
        // What came while others were looked at.
        runs.iter().map(within).chain([format!("rowid > {}", self.rows)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(zone: &Zone, from: i64, until: i64) -> Vec<String> {
        zone.within(Span { from: Nanos(from), until: Nanos(until) })
    }

    #[test]
    fn blocks_of_another_time_are_left_out_and_what_is_new_never() {
        let mut zone = Zone::default();
        assert_eq!(within(&zone, 0, 9), ["rowid > 0"]);
        let block = BLOCK as i64;
        (1..=10 * block + 1).for_each(|row| zone.add(row, Nanos(row)));
        let end = 10 * block + 1;
        let new = format!("rowid > {end}");
        assert_eq!(
            within(&zone, end, i64::MAX),
            [format!("rowid > {} AND rowid <= {end}", end - 1), new.clone()]
        );
        assert_eq!(within(&zone, end + 1, i64::MAX).concat(), new);
        assert_eq!(within(&zone, i64::MIN, 1).concat(), new);
        let two = [format!("rowid > 0 AND rowid <= {}", 2 * block), new];
        assert_eq!(within(&zone, block, block + 2), two);
        // One that came late has its own block read, too.
        zone.add(end + 1, Nanos(block));
        let late = format!("rowid > {} AND rowid <= {}", end - 1, end + 1);
        assert_eq!(within(&zone, block, block + 2), [two[0].clone(), late, format!("rowid > {}", end + 1)]);
    }

    #[test]
    fn of_many_runs_all_between_is_read() {
        let mut zone = Zone::default();
        let rows = 100 * BLOCK as i64;
        (1..=rows).for_each(|row| zone.add(row, Nanos((row - 1) / BLOCK as i64 % 2)));
        let all = format!("rowid > {BLOCK} AND rowid <= {rows}");
        assert_eq!(within(&zone, 1, 2), [all, format!("rowid > {rows}")]);
    }
}
