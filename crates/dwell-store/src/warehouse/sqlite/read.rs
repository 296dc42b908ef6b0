//! The join, over the files of some days.

use super::file::{DayFile, PARTS, damaged, table, told};
use crate::warehouse::join::EACH;
use crate::warehouse::parts::{self, Work};
use crate::warehouse::{Day, Span, WarehouseError, join};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection as Joined;
use rusqlite::Connection;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;

/// SQLite attaches ten files at most: those of so many days, and of one day before and one after, because a batch is
/// kept under one day, and the probes' clocks differ.
const WINDOW: i32 = 8;

/// Days that are joined at once.
pub(super) struct Window {
    pub(super) span: Span,
    pub(super) days: Vec<Day>,
}

/// The span in windows; in each the days whose files may hold what belongs to it.
pub(super) fn windows(days: &[Day], span: Span) -> Vec<Window> {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Vec::new() };
    let mut windows = Vec::new();
    let mut start = first.0.max(Day::of(span.from).0) - 1;
    while start <= last.0 + 1 {
        let near = |day: &&Day| (start - 1..=start + WINDOW).contains(&day.0);
        let near: Vec<Day> = days.iter().filter(near).copied().collect();
        let held = Span {
            from: Day(start).start().max(span.from),
            until: Day(start.saturating_add(WINDOW)).start().min(span.until),
        };
        if held.from < held.until && !near.is_empty() {
            windows.push(Window { span: held, days: near });
        }
        start += WINDOW;
    }
    windows
}

/// The connections of a window.
pub(super) fn connections(
    files: &[PathBuf],
    probes: &[String],
    span: Span,
    take: &mut dyn FnMut(Joined) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, WarehouseError> {
    let mut made = Vec::with_capacity(files.len());
    for file in files {
        made.extend(DayFile::open(file)?.map(|_| file.clone()));
    }
    let files = made.as_slice();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(PARTS as usize);
    parts::join(PARTS, workers, |work| join_parts(files, probes, span, work), take)
}

/// Joins part after part.
fn join_parts(
    files: &[PathBuf],
    probes: &[String],
    span: Span,
    work: &mut Work<'_>,
) -> Result<(), WarehouseError> {
    let Some(first) = files.first() else { return Ok(()) };
    let sql = |error| told(first, "read it", error);
    let database = Connection::open_in_memory().map_err(sql)?;
    for (place, file) in files.iter().enumerate() {
        let text = format!("ATTACH ? AS day{place}");
        database.execute(&text, [file.to_string_lossy()]).map_err(|error| told(file, "read it", error))?;
    }
    while let Some(part) = work.next_part() {
        join_part(&database, first, &source(files.len(), part), probes, span, work)?;
    }
    Ok(())
}

/// The part's table, or those of all days.
fn source(files: usize, part: u64) -> String {
    let each: Vec<String> = (0..files).map(|place| format!("day{place}.{}", table(part))).collect();
    match each.as_slice() {
        [one] => one.clone(),
        several => {
            let several: Vec<String> =
                several.iter().map(|one| format!("SELECT {} FROM {one}", join::READ)).collect();
            format!("({})", several.join(" UNION ALL "))
        }
    }
}

fn join_part(
    database: &Connection,
    file: &Path,
    source: &str,
    probes: &[String],
    span: Span,
    work: &mut Work<'_>,
) -> Result<(), WarehouseError> {
    let sql = |error| told(file, "join", error);
    let mut statement = database.prepare(&join::statement(source, "", probes, span)).map_err(sql)?;
    let mut rows = statement.query([]).map_err(sql)?;
    let mut columns = vec![[0i64; EACH]; probes.len()];
    while let Some(row) = rows.next().map_err(sql)? {
        let first_at: i64 = row.get(1).map_err(sql)?;
        if !span.holds(Nanos(first_at)) {
            continue;
        }
        for (place, column) in columns.iter_mut().flatten().enumerate() {
            *column = row.get(2 + place).map_err(sql)?;
        }
        let ends = row.get_ref(0).map_err(sql)?.as_blob().map_err(|error| damaged(file, error))?;
        let joined = join::connection(ends, first_at, columns.iter().copied())
            .ok_or_else(|| damaged(file, "a record that no version of ours wrote"))?;
        if work.give(joined).is_break() {
            break;
        }
    }
    Ok(())
}
