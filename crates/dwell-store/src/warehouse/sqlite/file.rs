//! One day's file.

use super::still::{self, Still};
use crate::warehouse::batch::Admitted;
use crate::warehouse::row::{self, Row};
use crate::warehouse::{Account, Batch, FORMAT, NO_DIGESTS, Span, WarehouseError};
use dwell_core::Nanos;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A day is kept in so many tables, by the highest bits of the key: what the join must sort at once is small, whatever
/// the day holds, and every processor has its share of them.
pub(super) const PARTS: u64 = 64;

/// Says that a file is ours: "dwel".
const APPLICATION: i64 = 0x6477_656c;

/// So many rows of each table are looked at for the newest records: they lie in the order in which they came.
const LAST: u32 = 128;

/// A writer waits so long for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A day's file, open.
#[derive(Debug)]
pub(super) struct DayFile {
    file: PathBuf,
    /// Which file it is: somebody may put another in its place.
    number: Option<(u64, u64)>,
    connection: Connection,
    /// It is read without locks.
    still: Option<Still>,
}

/// A day's file that is there, as others may open it for reading.
pub(super) struct Readable {
    pub(super) file: PathBuf,
    /// By which name.
    pub(super) name: String,
    pub(super) still: Option<Still>,
}

/// Of one that is there already: whoever reads makes no file, also where one goes meanwhile.
pub(super) const THERE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_URI);

impl DayFile {
    /// The day's file, made if it is not there.
    pub(super) fn create(file: &Path) -> Result<Self, WarehouseError> {
        let mut opened = Self::connect(file, THERE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let sql = |error| told(file, "open it", error);
        opened.connection.pragma_update(None, "journal_mode", "wal").map_err(sql)?;
        // A batch that was acknowledged outlives the machine.
        opened.connection.pragma_update(None, "synchronous", "full").map_err(sql)?;
        let making =
            opened.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        if tables(&making).map_err(sql)? == 0 {
            making.execute_batch(&schema()).map_err(sql)?;
        }
        if check(file, &making)? == NO_DIGESTS {
            making.execute_batch(&renewal()).map_err(sql)?;
        }
        making.commit().map_err(sql)?;
        Ok(opened)
    }

    /// One that is there; `None` where a writer is just making it, and nothing is in it yet, or it is gone.
    pub(super) fn open(file: &Path) -> Result<Option<Self>, WarehouseError> {
        let mut opened = match Self::connect(file, THERE) {
            Err(_) if !file.exists() => return Ok(None),
            opened => opened?,
        };
        let mut tables_there = tables(&opened.connection);
        if let Err(refused) = &tables_there
            && let Some(still) = Still::of(file, refused)
        {
            let connection = Connection::open_with_flags(still.name(), THERE);
            opened.connection = connection.map_err(|error| told(file, "open it", error))?;
            opened.still = Some(still);
            tables_there = tables(&opened.connection);
        }
        if tables_there.map_err(|error| told(file, "open it", error))? == 0 {
            return Ok(None);
        }
        check(file, &opened.connection)?;
        Ok(Some(opened))
    }

    /// For others to read, in connections of their own.
    pub(super) fn readable(self) -> Readable {
        let name = match &self.still {
            Some(still) => still.name(),
            None => self.file.to_string_lossy().into_owned(),
        };
        Readable { file: self.file, name, still: self.still }
    }

    fn connect(file: &Path, how: OpenFlags) -> Result<Self, WarehouseError> {
        let sql = |error| told(file, "open it", error);
        let connection = Connection::open_with_flags(file, how).map_err(sql)?;
        connection.busy_timeout(PATIENCE).map_err(sql)?;
        connection.set_prepared_statement_cache_capacity(2 * PARTS as usize);
        Ok(Self { file: file.to_owned(), number: number(file), connection, still: None })
    }

    /// Whether its name is still its own: neither was it removed, nor did another take its place.
    pub(super) fn is_in_place(&self) -> bool {
        self.number.is_some() && self.number == number(&self.file)
    }

    /// Keeps a batch, or does nothing if it is there.
    pub(super) fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError> {
        let file = &self.file;
        let sql = |error| told(file, "keep the batch", error);
        let keeping =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        insert(&keeping, batch).map_err(sql)?;
        keeping.commit().map_err(sql)
    }

    /// Which probes have sent something: from each name to the next, so that few batches are looked at.
    pub(super) fn probes(&self) -> Result<BTreeSet<String>, WarehouseError> {
        let next = |after: &str| -> rusqlite::Result<Option<String>> {
            let mut names =
                self.connection.prepare_cached("SELECT min(probe) FROM batches WHERE probe > ?")?;
            names.query_row([after], |row| row.get(0))
        };
        let (mut probes, mut name) = (BTreeSet::new(), String::new());
        while let Some(one) = next(&name).map_err(|error| told(&self.file, "read it", error))? {
            probes.insert(one.clone());
            name = one;
        }
        self.true_to_now()?;
        Ok(probes)
    }

    /// Adds when the newest record of each probe begins, of those that came last.
    pub(super) fn newest(&self, newest: &mut BTreeMap<String, Nanos>) -> Result<(), WarehouseError> {
        let read = self.read_newest(newest).map_err(|error| told(&self.file, "read it", error));
        self.true_to_now().and(read)
    }

    fn read_newest(&self, newest: &mut BTreeMap<String, Nanos>) -> rusqlite::Result<()> {
        for part in 0..PARTS {
            let text =
                format!("SELECT probe, first_at FROM {} ORDER BY rowid DESC LIMIT {LAST}", table(part));
            let mut last = self.connection.prepare(&text)?;
            let mut rows = last.query([])?;
            while let Some(row) = rows.next()? {
                let at = Nanos(row.get(1)?);
                newest.entry(row.get(0)?).and_modify(|newest| *newest = at.max(*newest)).or_insert(at);
            }
        }
        Ok(())
    }

    /// Adds what each probe sent.
    pub(super) fn accounts(&self, accounts: &mut BTreeMap<String, Account>) -> Result<(), WarehouseError> {
        let read = self.read_accounts(accounts);
        self.true_to_now().and(read)
    }

    fn read_accounts(&self, accounts: &mut BTreeMap<String, Account>) -> Result<(), WarehouseError> {
        let sql = |error| told(&self.file, "read it", error);
        let mut batches =
            self.connection.prepare("SELECT probe, given_up, dropped FROM batches").map_err(sql)?;
        let mut rows = batches.query([]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let texts = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (probe, given_up, dropped): (String, String, String) = texts().map_err(sql)?;
            let account: &mut Account = accounts.entry(probe).or_default();
            account.add(&given_up, &dropped).map_err(|why| damaged(&self.file, why))?;
        }
        let renumbered = "SELECT probe, sum(more) FROM
            (SELECT probe, count(*) - 1 AS more FROM batches GROUP BY probe, epoch, serial) GROUP BY probe";
        for (probe, count) in self.counts(renumbered).map_err(sql)? {
            accounts.entry(probe).or_default().renumbered += count;
        }
        Ok(())
    }

    /// Rows of a probe and a count.
    fn counts(&self, statement: &str) -> rusqlite::Result<Vec<(String, u64)>> {
        let mut counts = self.connection.prepare(statement)?;
        let rows = counts.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        rows.collect()
    }

    /// Adds how many records of each probe are kept.
    pub(super) fn records(&self, records: &mut BTreeMap<String, u64>) -> Result<(), WarehouseError> {
        self.count(records, "GROUP BY key, probe")
    }

    /// How many records of each probe that begin in the span lack the server's number.
    pub(super) fn lone(&self, span: Span) -> Result<BTreeMap<String, u64>, WarehouseError> {
        let mut lone = BTreeMap::new();
        self.count(&mut lone, &format!("WHERE {}", row::lone(span)))?;
        Ok(lone)
    }

    /// Adds how many such records of each probe there are.
    fn count(&self, records: &mut BTreeMap<String, u64>, which: &str) -> Result<(), WarehouseError> {
        let read = self.read_count(records, which);
        self.true_to_now().and(read)
    }

    /// Whether what was read is so, where nothing kept it from changing.
    fn true_to_now(&self) -> Result<(), WarehouseError> {
        self.still.as_ref().map_or(Ok(()), Still::check)
    }

    fn read_count(&self, records: &mut BTreeMap<String, u64>, which: &str) -> Result<(), WarehouseError> {
        let sql = |error| told(&self.file, "read it", error);
        for part in 0..PARTS {
            let text = format!(
                "SELECT probe, count(*) FROM (SELECT probe FROM {} {which}) GROUP BY probe",
                table(part)
            );
            for (probe, count) in self.counts(&text).map_err(sql)? {
                *records.entry(probe).or_default() += count;
            }
        }
        Ok(())
    }
}

/// Which file has this name.
fn number(file: &Path) -> Option<(u64, u64)> {
    fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}

/// How many tables there are.
fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
}

/// Name of a part's table.
pub(super) fn table(part: u64) -> String {
    format!("handshakes_{part:02}")
}

/// The columns of the table of batches.
const BATCHES: &str =
    "(probe TEXT NOT NULL, epoch INTEGER NOT NULL, serial INTEGER NOT NULL, digest INTEGER NOT NULL,
    given_up TEXT NOT NULL, dropped TEXT NOT NULL, PRIMARY KEY (probe, epoch, serial, digest)) WITHOUT ROWID";

/// What makes the layout before into ours.
fn renewal() -> String {
    format!(
        "CREATE TABLE renewed {BATCHES};
         INSERT INTO renewed SELECT probe, epoch, serial, 0, given_up, dropped FROM batches;
         DROP TABLE batches; ALTER TABLE renewed RENAME TO batches; PRAGMA user_version = {FORMAT};"
    )
}

fn schema() -> String {
    let mut text = format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; CREATE TABLE batches {BATCHES};"
    );
    for part in 0..PARTS {
        text += &format!(
            "CREATE TABLE {} (key INTEGER NOT NULL, isn_key INTEGER NOT NULL, probe TEXT NOT NULL,
                 ends BLOB NOT NULL, first_at INTEGER NOT NULL, syn_at INTEGER NOT NULL, marks INTEGER NOT NULL,
                 flags INTEGER NOT NULL,
                 server_ns INTEGER NOT NULL, server_or_ns INTEGER NOT NULL, client_ns INTEGER NOT NULL,
                 client_or_ns INTEGER NOT NULL, total_ns INTEGER NOT NULL, total_or_ns INTEGER NOT NULL,
                 syns INTEGER NOT NULL, syn_acks INTEGER NOT NULL);",
            table(part)
        );
    }
    let all: Vec<String> = (0..PARTS).map(|part| format!("SELECT * FROM {}", table(part))).collect();
    text + &format!("CREATE VIEW handshakes AS {};", all.join(" UNION ALL "))
}

fn insert(keeping: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    let Admitted { mut rows, given_up, dropped, digest } = batch.admitted();
    let (probe, epoch, serial, digest) =
        (&batch.probe, batch.epoch as i64, batch.serial as i64, digest as i64);
    // One without a digest is taken for the same.
    let known: Option<bool> = keeping
        .prepare_cached(
            "SELECT max(digest IN (0, ?)) FROM batches WHERE probe = ? AND epoch = ? AND serial = ?",
        )?
        .query_row(params![digest, probe, epoch, serial], |row| row.get(0))?;
    if known == Some(true) {
        return Ok(());
    }
    keeping
        .prepare_cached("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)")?
        .execute(params![probe, epoch, serial, digest, given_up, dropped])?;
    rows.sort_unstable_by_key(|row| row.key as u64);
    for together in rows.chunk_by(|one, two| part(one) == part(two)) {
        let table = table(part(&together[0]));
        let text = format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        let mut insert = keeping.prepare_cached(&text)?;
        for row in together {
            let ([server, server_or], [client, client_or], [total, total_or]) =
                (row.server, row.client, row.total);
            insert.execute(params![
                row.key,
                row.isn_key,
                probe,
                row.ends,
                row.first_at,
                row.syn_at,
                row.marks,
                row.flags,
                server,
                server_or,
                client,
                client_or,
                total,
                total_or,
                row.syns,
                row.syn_acks
            ])?;
        }
    }
    Ok(())
}

fn part(row: &Row) -> u64 {
    (row.key as u64) / (u64::MAX / PARTS + 1)
}

/// The version of a file that is a warehouse's, of those that can be read.
fn check(file: &Path, connection: &Connection) -> Result<i64, WarehouseError> {
    let number = |name: &str| -> Result<i64, WarehouseError> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| told(file, "open it", error))
    };
    if number("application_id")? != APPLICATION {
        return Err(damaged(file, "it does not bear our mark"));
    }
    match number("user_version")? {
        known @ (FORMAT | NO_DIGESTS) => Ok(known),
        found => Err(WarehouseError::Version { place: file.display().to_string(), found, known: FORMAT }),
    }
}

/// What SQLite says, as what it means.
pub(super) fn told(file: &Path, doing: &'static str, error: rusqlite::Error) -> WarehouseError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => WarehouseError::DiskFull { place: file.display().to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(file, error),
        _ => match still::why(file, &error) {
            Some(why) => failed(file, doing, why),
            None => failed(file, doing, error),
        },
    }
}

pub(super) fn failed(file: &Path, doing: &'static str, why: impl ToString) -> WarehouseError {
    WarehouseError::Failed { place: file.display().to_string(), doing, why: why.to_string() }
}

pub(super) fn damaged(file: &Path, why: impl ToString) -> WarehouseError {
    WarehouseError::Damaged { place: file.display().to_string(), why: why.to_string() }
}
