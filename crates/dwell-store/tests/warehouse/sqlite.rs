//! What can befall a folder of files.

use crate::sample::{NOON, batch, handshake};
use crate::small_disk::on_a_small_disk;
use dwell_core::Nanos;
use dwell_store::warehouse::{Batch, SLACK, Span, Sqlite, Store, WarehouseError};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

const DAY: Nanos = Nanos::from_secs(86_400);

fn filled(folder: &Path) -> PathBuf {
    let mut store = Sqlite::create(folder).expect("a warehouse");
    store.keep(&batch("a", 1, (0..2_000).map(|n| handshake(n, NOON, 5, 6)).collect())).expect("kept");
    folder.join("2026-11-21.sqlite")
}

fn read(folder: &Path) -> Result<usize, WarehouseError> {
    let mut count = 0;
    let mut store = Sqlite::open(folder)?;
    store.connections(&["a".to_owned()], Span::ALL, SLACK, &mut |_| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

#[test]
fn a_day_is_a_file_that_any_sqlite_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = filled(folder.path());
    let connection = rusqlite::Connection::open(file).expect("open");
    let count: i64 = connection
        .query_row("SELECT count(*) FROM handshakes WHERE probe = 'a' AND server_ns = 5", [], |row| {
            row.get(0)
        })
        .expect("a count");
    assert_eq!(count, 2_000);
}

/// As they could be kept before these names were refused.
#[test]
fn probes_that_are_called_as_ends_are_read_and_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = filled(folder.path());
    for name in ["client", "server", ".", ".."] {
        let connection = rusqlite::Connection::open(&file).expect("open");
        let tables: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%probe%'")
            .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
            .expect("tables");
        for table in tables {
            connection.execute(&format!("UPDATE {table} SET probe = ?1"), [name]).expect("named");
        }
        drop(connection);
        let mut store = Sqlite::open(folder.path()).expect("a warehouse");
        assert_eq!(store.probes(Span::ALL).expect("probes"), [name.to_owned()].into());
        let mut count = 0;
        let read = store.connections(&[name.to_owned()], Span::ALL, SLACK, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert!(read.is_ok() && count == 2_000, "{name}: {read:?}, {count}");
        let kept = Sqlite::create(folder.path()).expect("a warehouse").keep(&batch(name, 2, Vec::new()));
        let told = kept.expect_err("refused").to_string();
        let is_end = told.contains(&format!("no place between them is called {name:?}"));
        assert!(is_end || told.ends_with("and not dots alone"), "{told}");
    }
}

#[test]
fn a_file_of_another_version_is_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = filled(folder.path());
    let connection = rusqlite::Connection::open(file).expect("open");
    connection.pragma_update(None, "user_version", 7).expect("set");
    drop(connection);
    let wrong = |error: &WarehouseError| matches!(error, WarehouseError::Version { found: 7, .. });
    assert!(wrong(&read(folder.path()).expect_err("another version")));
    let mut store = Sqlite::create(folder.path()).expect("a warehouse");
    assert!(wrong(&store.keep(&batch("a", 2, vec![handshake(1, NOON, 5, 6)])).expect_err("another version")));
}

#[test]
fn a_day_of_the_version_before_is_read_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = filled(folder.path());
    let connection = rusqlite::Connection::open(file).expect("open");
    connection
        .execute_batch(
            "CREATE TABLE before (probe TEXT NOT NULL, epoch INTEGER NOT NULL, serial INTEGER NOT NULL,
                 given_up TEXT NOT NULL, dropped TEXT NOT NULL, PRIMARY KEY (probe, epoch, serial)) WITHOUT ROWID;
             INSERT INTO before SELECT probe, epoch, serial, given_up, dropped FROM batches;
             DROP TABLE batches; ALTER TABLE before RENAME TO batches; PRAGMA user_version = 2;",
        )
        .expect("as it was");
    drop(connection);
    let mut store = Sqlite::open(folder.path()).expect("a warehouse");
    assert_eq!(store.accounts(Span::ALL).expect("accounts")["a"].batches, 1);
    assert_eq!(read(folder.path()).expect("read"), 2_000);
    // What was on its way comes again, and then what is new.
    store.keep(&batch("a", 1, (0..2_000).map(|n| handshake(n, NOON, 5, 6)).collect())).expect("known");
    store.keep(&batch("a", 2, vec![handshake(2_000, NOON, 5, 6)])).expect("kept");
    let account = store.accounts(Span::ALL).expect("accounts").remove("a").expect("a's");
    assert_eq!((account.batches, account.renumbered), (2, 0));
    assert_eq!(read(folder.path()).expect("read"), 2_001);
}

#[test]
fn a_file_that_is_just_being_made_holds_nothing_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path());
    let connection = rusqlite::Connection::open(folder.path().join("2026-11-22.sqlite")).expect("open");
    connection.pragma_update(None, "journal_mode", "wal").expect("as a writer begins");
    assert_eq!(read(folder.path()).expect("read"), 2_000);
    let mut store = Sqlite::open(folder.path()).expect("a warehouse");
    assert_eq!(store.records().expect("counted").values().sum::<u64>(), 2_000);
    assert_eq!(store.accounts(Span::ALL).expect("told").len(), 1);
}

#[test]
fn a_damaged_file_is_told() {
    for damage in ["text", "cut", "overwritten", "foreign"] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = filled(folder.path());
        let whole = fs::read(&file).expect("its bytes");
        match damage {
            "text" => fs::write(&file, "not a database, but long enough to be taken for one".repeat(50)),
            "cut" => fs::write(&file, &whole[..whole.len() / 2]),
            "overwritten" => {
                let mut bytes = whole;
                let end = bytes.len();
                bytes[end / 4..].fill(0xa5);
                fs::write(&file, bytes)
            }
            _ => {
                fs::remove_file(&file).expect("removed");
                let other = rusqlite::Connection::open(&file).expect("open");
                other.execute_batch("CREATE TABLE x (y)").expect("made");
                Ok(())
            }
        }
        .expect("damaged");
        let error = read(folder.path()).expect_err(damage);
        assert!(matches!(error, WarehouseError::Damaged { .. }), "{damage}: {error}");
        assert!(error.to_string().contains("2026-11-21.sqlite"), "{damage}: {error}");
    }
}

/// Whether this process has a lock on a file.
fn is_locked(file: &Path) -> bool {
    let own = std::process::id().to_string();
    let number = format!(":{}", fs::metadata(file).expect("a file").ino());
    let locks = fs::read_to_string("/proc/locks").expect("the kernel's list");
    locks
        .lines()
        .any(|lock| lock.contains(&format!(" {own} ")) && lock.split(' ').any(|word| word.ends_with(&number)))
}

/// Without its locks, the next reader takes the index of what is written for its own, and the writer dies of that.
#[test]
fn a_day_whose_file_is_removed_or_replaced_under_a_writer_begins_anew() {
    for replaced in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Sqlite::create(folder.path()).expect("a warehouse");
        let of = |serial: u64| batch("a", serial, vec![handshake(serial as u32, NOON, 5, 6)]);
        store.keep(&of(1)).expect("kept");
        let file = folder.path().join("2026-11-21.sqlite");
        fs::remove_file(&file).expect("removed");
        if replaced {
            fs::write(&file, "").expect("another");
        }
        for serial in 2..4 {
            store.keep(&of(serial)).expect("kept");
            assert!(is_locked(&folder.path().join("2026-11-21.sqlite-shm")), "{replaced} {serial}");
        }
        assert_eq!(read(folder.path()).expect("what was kept since"), 2, "{replaced}");
    }
}

#[test]
fn a_reader_makes_no_file_of_a_day_that_goes_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("2026-11-21.sqlite");
    // Its name is still in the list, and whatever opens it finds none.
    std::os::unix::fs::symlink(folder.path().join("gone"), &file).expect("a name");
    assert_eq!(read(folder.path()).expect("nothing"), 0);
    assert!(Sqlite::open(folder.path()).expect("a warehouse").accounts(Span::ALL).expect("none").is_empty());
    assert!(!folder.path().join("gone").exists());
}

#[test]
fn two_writers_and_a_reader_do_not_mind_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path());
    std::thread::scope(|scope| {
        for probe in ["a", "b"] {
            let folder = folder.path();
            scope.spawn(move || {
                let mut store = Sqlite::open(folder).expect("a warehouse");
                for serial in 10..30 {
                    let records = (0..50).map(|n| handshake(serial as u32 * 100 + n, NOON, 5, 6)).collect();
                    store.keep(&batch(probe, serial, records)).expect("kept");
                }
            });
        }
        let mut last = 0;
        for _ in 0..10 {
            let now = read(folder.path()).expect("read");
            assert!(now >= last.max(2_000), "{now} after {last}");
            last = now;
        }
    });
    let mut store = Sqlite::open(folder.path()).expect("a warehouse");
    let accounts = store.accounts(Span::ALL).expect("accounts");
    assert_eq!((accounts["a"].batches, accounts["b"].batches), (21, 20));
    assert_eq!(store.records().expect("a count")["b"], 1_000);
}

/// Where the test of many days has made its files.
const MANY: &str = "DWELL_TEST_MANY_DAYS";

#[test]
fn more_days_are_read_than_files_may_be_open() {
    if let Ok(folder) = std::env::var(MANY) {
        assert_eq!(read(Path::new(&folder)).expect("joined"), 80);
        let mut store = Sqlite::open(Path::new(&folder)).expect("a warehouse");
        assert_eq!(store.senders(Span::ALL).expect("told").len(), 80);
        assert_eq!(store.accounts(Span::ALL).expect("told")["a"].batches, 80);
        assert_eq!(store.records().expect("counted")["a"], 80);
        assert_eq!(store.lone(&["a".to_owned()], Span::ALL).expect("counted"), 0);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Sqlite::create(folder.path()).expect("a warehouse");
    for n in 0..80 {
        let records = vec![handshake(n, NOON + Nanos(DAY.0 * i64::from(n)), 5, 6)];
        store.keep(&batch("a", n.into(), records)).expect("kept");
    }
    let status = Command::new("sh")
        .args(["-c", r#"ulimit -n 64 && exec "$0" "$@""#])
        .arg(std::env::current_exe().expect("our name"))
        .args(["--exact", "sqlite::more_days_are_read_than_files_may_be_open"])
        .env(MANY, folder.path())
        .status()
        .expect("sh");
    assert!(status.success());
}

#[test]
fn nothing_is_kept_on_a_full_disk_and_all_of_it_later() {
    let test = "sqlite::nothing_is_kept_on_a_full_disk_and_all_of_it_later";
    on_a_small_disk(test, "4m", filled_and_given_room);
}

fn filled_and_given_room(folder: &Path) {
    let mut store = Sqlite::create(folder).expect("a warehouse");
    let of = |serial: u64| {
        let records = (0..2_000).map(|n| handshake(serial as u32 * 2_000 + n, NOON, 5, 6)).collect();
        batch("a", serial, records)
    };
    let full = (0..100).find_map(|serial| store.keep(&of(serial)).err().map(|error| (serial, error)));
    let (kept, error) = full.expect("4 MiB hold less than 200,000 records");
    assert!(matches!(error, WarehouseError::DiskFull { .. }), "{error}");
    assert!(kept > 1);
    assert!(store.keep(&of(kept)).is_err(), "still full");
    drop(store);
    assert_eq!(read(folder).expect("what was kept"), 2_000 * kept as usize);
    // The same with room again.
    // All is said of it: what mount finds out itself it would say as well, such as a user who is unknown in this namespace.
    let more = ["-t", "tmpfs", "-o", "remount,size=64m", "none"];
    let roomy = Command::new("mount").args(more).arg(folder).status().expect("mount");
    assert!(roomy.success());
    let mut store = Sqlite::create(folder).expect("a warehouse");
    store.keep(&of(kept)).expect("kept now");
    assert_eq!(read(folder).expect("all"), 2_000 * (kept + 1) as usize);
}

#[test]
fn an_absent_folder_is_told_and_an_empty_batch_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(Sqlite::open(&folder.path().join("nowhere")), Err(WarehouseError::Absent { .. })));
    let mut store = Sqlite::create(folder.path()).expect("a warehouse");
    store.keep(&Batch { probe: "a".to_owned(), ..Batch::default() }).expect("kept");
    assert_eq!(store.accounts(Span::ALL).expect("accounts")["a"].batches, 1);
    assert_eq!(read(folder.path()).expect("read"), 0);
}

/// Where the test of who may not write has made its files.
const OTHERS: &str = "DWELL_TEST_OTHERS_FOLDER";

#[test]
fn who_may_not_write_reads_what_nobody_writes() {
    if let Ok(folder) = std::env::var(OTHERS) {
        return as_one_who_may_not_write(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("50% of?it#1");
    filled(&odd);
    // One day is being written; elsewhere there is a copy of it, as backups make them.
    let mut writing = Sqlite::create(&odd).expect("a warehouse");
    writing.keep(&batch("a", 2, vec![handshake(9_000, NOON + DAY, 5, 6)])).expect("kept");
    let cut = folder.path().join("cut");
    fs::create_dir(&cut).expect("a folder");
    for end in ["", "-wal"] {
        let name = format!("2026-11-22.sqlite{end}");
        fs::copy(odd.join(&name), cut.join(&name)).expect("copied");
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    for folder in [&odd, &cut] {
        fs::read_dir(folder).expect("listed").for_each(|file| mode(&file.expect("a file").path(), 0o444));
        mode(folder, 0o555);
    }
    // Nobody is forbidden anything by modes who has these capabilities, as root has.
    let bounding = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];
    let is_root = fs::metadata(folder.path()).expect("a folder").uid() == 0;
    let status = Command::new("env")
        .args(bounding.iter().filter(|_| is_root))
        .arg(std::env::current_exe().expect("our name"))
        .args(["--exact", "sqlite::who_may_not_write_reads_what_nobody_writes"])
        .env(OTHERS, folder.path())
        .status()
        .expect("env");
    [&odd, &cut].into_iter().for_each(|folder| mode(folder, 0o755));
    drop(writing);
    assert!(status.success());
}

fn as_one_who_may_not_write(folder: &Path) {
    let odd = folder.join("50% of?it#1");
    assert!(fs::write(odd.join("new"), "").is_err(), "it may");
    assert_eq!(read(&odd).expect("both days"), 2_001);
    let mut store = Sqlite::open(&odd).expect("a warehouse");
    assert_eq!(store.records().expect("counted")["a"], 2_001);
    assert_eq!(store.accounts(Span::ALL).expect("told")["a"].batches, 2);
    let error = read(&folder.join("cut")).expect_err("its index cannot be made").to_string();
    assert!(error.contains("2026-11-22.sqlite-wal") && error.contains("the right to write"), "{error}");
}
