//! Somebody else holds the store's files.

use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Keeps every writer out of the files of a store for a while.
pub(crate) fn hold(store: &Path, span: Duration) {
    let until = Instant::now() + span;
    let held: Vec<Connection> = databases(store).iter().filter_map(|file| lock(file, until)).collect();
    thread::sleep(until.saturating_duration_since(Instant::now()));
    drop(held);
}

fn databases(store: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(store).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|file| fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0"))).collect()
}

fn lock(file: &Path, until: Instant) -> Option<Connection> {
    let connection = Connection::open(file).ok()?;
    connection.busy_timeout(until.saturating_duration_since(Instant::now())).ok()?;
    connection.execute_batch("BEGIN IMMEDIATE").ok()?;
    Some(connection)
}
