//! One day's file.

use crate::warehouse::row::Row;
use crate::warehouse::{Account, Batch, FORMAT, WarehouseError};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A day is kept in so many tables, by the highest bits of the key: what the join must sort at once is small, whatever
/// the day holds, and every processor has its share of them.
pub(super) const PARTS: u64 = 64;

/// Says that a file is ours: "dwel".
const APPLICATION: i64 = 0x6477_656c;

/// A writer waits so long for another one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A day's file, open.
#[derive(Debug)]
pub(super) struct DayFile {
    file: PathBuf,
    /// Which file it is: somebody may put another in its place.
    number: Option<(u64, u64)>,
    connection: Connection,
}

/// Of one that is there already: whoever reads makes no file, also where one goes meanwhile.
pub(super) const THERE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

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
        making.commit().map_err(sql)?;
        check(file, &opened.connection)?;
        Ok(opened)
    }

    /// One that is there; `None` where a writer is just making it, and nothing is in it yet, or it is gone.
    pub(super) fn open(file: &Path) -> Result<Option<Self>, WarehouseError> {
        let opened = match Self::connect(file, THERE) {
            Err(_) if !file.exists() => return Ok(None),
            opened => opened?,
        };
        if tables(&opened.connection).map_err(|error| told(file, "open it", error))? == 0 {
            return Ok(None);
        }
        check(file, &opened.connection)?;
        Ok(Some(opened))
    }

    fn connect(file: &Path, how: OpenFlags) -> Result<Self, WarehouseError> {
        let sql = |error| told(file, "open it", error);
        let connection = Connection::open_with_flags(file, how).map_err(sql)?;
        connection.busy_timeout(PATIENCE).map_err(sql)?;
        connection.set_prepared_statement_cache_capacity(2 * PARTS as usize);
        Ok(Self { file: file.to_owned(), number: number(file), connection })
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

    /// Adds what each probe sent.
    pub(super) fn accounts(&self, accounts: &mut BTreeMap<String, Account>) -> Result<(), WarehouseError> {
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
        Ok(())
    }

    /// Adds how many records of each probe are kept.
    pub(super) fn records(&self, records: &mut BTreeMap<String, u64>) -> Result<(), WarehouseError> {
        let sql = |error| told(&self.file, "read it", error);
        for part in 0..PARTS {
            let text = format!(
                "SELECT probe, count(*) FROM (SELECT probe FROM {} GROUP BY key, probe) GROUP BY probe",
                table(part)
            );
            let mut counts = self.connection.prepare(&text).map_err(sql)?;
            let mut rows = counts.query([]).map_err(sql)?;
            while let Some(row) = rows.next().map_err(sql)? {
                let (probe, count): (String, i64) =
                    row.get(0).and_then(|probe| Ok((probe, row.get(1)?))).map_err(sql)?;
                *records.entry(probe).or_default() += count.unsigned_abs();
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

fn schema() -> String {
    let mut text = format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};
         CREATE TABLE batches (probe TEXT NOT NULL, epoch INTEGER NOT NULL, serial INTEGER NOT NULL,
             given_up TEXT NOT NULL, dropped TEXT NOT NULL, PRIMARY KEY (probe, epoch, serial)) WITHOUT ROWID;"
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
    let known = keeping
        .prepare_cached("SELECT 1 FROM batches WHERE probe = ? AND epoch = ? AND serial = ?")?
        .query_row(params![batch.probe, batch.epoch as i64, batch.serial as i64], |_| Ok(()))
        .optional()?;
    if known.is_some() {
        return Ok(());
    }
    let (admitted, missing) = batch.admitted();
    keeping.prepare_cached("INSERT INTO batches VALUES (?, ?, ?, ?, ?)")?.execute(params![
        batch.probe,
        batch.epoch as i64,
        batch.serial as i64,
        missing.given_up,
        missing.dropped
    ])?;
    let mut rows: Vec<Row> = admitted.into_iter().map(Row::of).collect();
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
                batch.probe,
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

/// Whether a file is a warehouse of this version.
fn check(file: &Path, connection: &Connection) -> Result<(), WarehouseError> {
    let number = |name: &str| -> Result<i64, WarehouseError> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| told(file, "open it", error))
    };
    if number("application_id")? != APPLICATION {
        return Err(damaged(file, "it does not bear our mark"));
    }
    match number("user_version")? {
        FORMAT => Ok(()),
        found => Err(WarehouseError::Version { place: file.display().to_string(), found, known: FORMAT }),
    }
}

/// What SQLite says, as what it means.
pub(super) fn told(file: &Path, doing: &'static str, error: rusqlite::Error) -> WarehouseError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => WarehouseError::DiskFull { place: file.display().to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(file, error),
        _ => failed(file, doing, error),
    }
}

pub(super) fn failed(file: &Path, doing: &'static str, why: impl ToString) -> WarehouseError {
    WarehouseError::Failed { place: file.display().to_string(), doing, why: why.to_string() }
}

pub(super) fn damaged(file: &Path, why: impl ToString) -> WarehouseError {
    WarehouseError::Damaged { place: file.display().to_string(), why: why.to_string() }
}
