//! The join, over the files of some days.

use super::file::{DayFile, PARTS, Readable, THERE, damaged, table, told};
use super::still::Still;
use super::zones::{Parts, Zone, Zones};
use crate::warehouse::join::{Asked, EACH, Row, See};
use crate::warehouse::parts::{self, Work};
use crate::warehouse::{Day, Span, WarehouseError, join};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection as Joined;
use rusqlite::Connection;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;

/// SQLite attaches so many files at most.
const ATTACHED: usize = 10;

/// Of more, those of so many days are, and of two days before and two after, because a batch is kept under one day, none of its
/// records is further from that than one, and the probes' clocks differ.
const WINDOW: i32 = 6;

const DAY: Nanos = Nanos::from_secs(86_400);

/// What a worker may sort in memory, in KiB (the sign is SQLite's): of more, runs are written to a file first.
const SORTED: i64 = -(8 << 10);

/// Days that are joined at once.
pub(super) struct Window {
    /// When the connections begin that it tells of.
    pub(super) span: Span,
    /// From when records of theirs may be. Where another window follows, clocks may differ by a day: what one tells of,
    /// the other must know, or both would.
    pub(super) reach: Span,
    pub(super) days: Vec<Day>,
}

/// Of these days those that may hold something of a span.
pub(super) fn around(days: &[Day], span: Span) -> Vec<Day> {
    let (first, last) = Day::around(span);
    days.iter().filter(|day| (first..=last).contains(*day)).copied().collect()
}

/// The span in windows; in each the days whose files may hold what belongs to it. Of few days there is one: then no connection lies
/// on an edge, however far clocks are apart.
pub(super) fn windows(days: &[Day], span: Span, slack: Nanos) -> Vec<Window> {
    let all = around(days, span);
    if all.len() <= ATTACHED {
        return vec![Window { span, reach: span.widened(slack), days: all }];
    }
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Vec::new() };
    let mut windows = Vec::new();
    let mut start = first.0.max(Day::of(span.from).0) - 1;
    while start <= last.0 + 1 {
        let near = |day: &&Day| (start - 2..=start + WINDOW + 1).contains(&day.0);
        let near: Vec<Day> = days.iter().filter(near).copied().collect();
        let held = Span {
            from: Day(start).start().max(span.from),
            until: Day(start.saturating_add(WINDOW)).start().min(span.until),
        };
        if held.from < held.until && !near.is_empty() {
            let slack = |is_last| if is_last { slack } else { DAY };
            let reach = Span {
                from: held.from - slack(held.from == span.from),
                until: held.until + slack(held.until == span.until),
            };
            windows.push(Window { span: held, reach, days: near });
        }
        start += WINDOW;
    }
    windows
}

/// The connections of a window, whose days have these files. Counts in `left_out` the records of theirs that it leaves out.
pub(super) fn connections(
    files: &[PathBuf],
    probes: &[String],
    window: &Window,
    zones: Option<&mut Zones>,
    left_out: &mut u64,
    take: &mut dyn FnMut(Joined) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, WarehouseError> {
    let mut made = Vec::with_capacity(files.len());
    for file in files {
        made.extend(DayFile::open(file)?.map(DayFile::readable));
    }
    let files = made.as_slice();
    let zones = zones.map(|zones| zones.of(files.iter().map(|file| file.file.as_path())));
    let zones = zones.as_deref();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(PARTS as usize);
    let work = |work: &mut Work<'_>| join_parts(files, probes, window.reach, zones, work);
    let joined = parts::join(PARTS, workers, work, (probes.len(), window.span), left_out, take);
    // Where something changed meanwhile, that is why whatever else went wrong.
    files.iter().filter_map(|file| file.still.as_ref()).try_for_each(Still::check)?;
    joined
}

/// Joins part after part.
fn join_parts(
    files: &[Readable],
    probes: &[String],
    reach: Span,
    zones: Option<&[&Parts]>,
    work: &mut Work<'_>,
) -> Result<(), WarehouseError> {
    let Some(Readable { file: first, .. }) = files.first() else { return Ok(()) };
    let sql = |error| told(first, "read it", error);
    let database = Connection::open_in_memory_with_flags(THERE).map_err(sql)?;
    database.pragma_update(None, "cache_size", SORTED).map_err(sql)?;
    for (place, Readable { file, name, .. }) in files.iter().enumerate() {
        let text = format!("ATTACH ? AS day{place}");
        database.execute(&text, [name]).map_err(|error| told(file, "read it", error))?;
    }
    let each = |statement: &str, see: &mut See<'_>| each(&database, first, statement, probes.len(), see);
    while let Some(part) = work.next_part() {
        let mut each_day = Vec::with_capacity(files.len());
        for (place, Readable { file, .. }) in files.iter().enumerate() {
            let from = format!("SELECT {} FROM day{place}.{}", join::READ, table(part));
            let Some(zone) = zones.and_then(|zones| zones[place].get(part as usize)) else {
                each_day.push(from);
                continue;
            };
            let conditions = Zone::conditions(zone, &database, &format!("day{place}"), part, reach);
            let conditions = conditions.map_err(|error| told(file, "read it", error))?;
            each_day.extend(conditions.iter().map(|condition| format!("{from} WHERE {condition}")));
        }
        let table = format!("({})", each_day.join(" UNION ALL "));
        Asked { table: &table, which: "", probes, reach }.join(&each, work)?;
    }
    Ok(())
}

/// Shows the rows of a statement.
fn each(
    database: &Connection,
    file: &Path,
    statement: &str,
    probes: usize,
    see: &mut See<'_>,
) -> Result<(), WarehouseError> {
    let sql = |error| told(file, "join", error);
    let mut statement = database.prepare(statement).map_err(sql)?;
    let mut rows = statement.query([]).map_err(sql)?;
    let mut columns = vec![[0i64; EACH]; probes];
    while let Some(row) = rows.next().map_err(sql)? {
        for (place, column) in columns.iter_mut().flatten().enumerate() {
            *column = row.get(5 + place).map_err(sql)?;
        }
        let ends = row.get_ref(1).map_err(sql)?.as_blob().map_err(|error| damaged(file, error))?;
        let numbers = || Ok((row.get(0)?, row.get(2)?, row.get(3)?, row.get(4)?));
        let (key, first_at, last_at, records) = numbers().map_err(sql)?;
        let seen = see(&Row { key, ends, first_at, last_at, records, columns: &columns });
        if seen.ok_or_else(|| damaged(file, "a record that no version of ours wrote"))?.is_break() {
            break;
        }
    }
    Ok(())
}
