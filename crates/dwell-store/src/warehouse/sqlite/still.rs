//! Reading a day where nothing may be written: on a read-only disk, or by somebody who has no right to.
//!
//! SQLite wants to make files beside one that is written ahead, also to read it, and refuses where it cannot. A day that nobody
//! writes needs none of them: it is read without locks, and then looked at whether it stayed as it was.

use super::file::failed;
use crate::warehouse::WarehouseError;
use rusqlite::{Error, ErrorCode};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A file that is read without locks.
#[derive(Debug)]
pub(super) struct Still {
    file: PathBuf,
    was: Stamp,
}

/// What changes when a file is written, or another takes its place: device and number, length, seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

impl Still {
    /// A day's file that cannot be opened with locks for this reason; `None` where it needs them, because there is more of it
    /// beside it, or where the reason is another.
    pub(super) fn of(file: &Path, refused: &Error) -> Option<Self> {
        let forbids =
            matches!(refused.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen));
        (forbids && !is_written_ahead(file)).then_some(())?;
        Some(Self { file: file.to_owned(), was: stamp(file)? })
    }

    /// Its name, as SQLite is told that nobody writes it.
    pub(super) fn name(&self) -> String {
        let path = self.file.to_string_lossy();
        let plain = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let scheme = if self.file.is_absolute() { "file://" } else { "file:" };
        format!("{scheme}{plain}?immutable=1")
    }

    /// Whether what was read of it is true.
    pub(super) fn check(&self) -> Result<(), WarehouseError> {
        if !is_written_ahead(&self.file) && stamp(&self.file) == Some(self.was) {
            return Ok(());
        }
        let why = "somebody began to write it meanwhile, and who may not write beside it cannot have that wait; try again";
        Err(failed(&self.file, "read it", why))
    }
}

/// Whether a part of it lies beside it.
fn is_written_ahead(file: &Path) -> bool {
    fs::metadata(written_ahead(file)).is_ok_and(|beside| beside.len() > 0)
}

/// The name of what is written ahead of a file.
fn written_ahead(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn stamp(file: &Path) -> Option<Stamp> {
    let now = fs::metadata(file).ok()?;
    Some((now.dev(), now.ino(), now.len(), now.mtime(), now.mtime_nsec()))
}

/// Why a file cannot be opened, where SQLite's own words do not say it.
pub(super) fn why(file: &Path, refused: &Error) -> Option<String> {
    let cannot = refused.sqlite_error_code() == Some(ErrorCode::CannotOpen) && is_written_ahead(file);
    cannot.then(|| {
        format!(
            "a part of it is in {}, and to read that takes the right to write into its folder: read it as who writes it, or copy both elsewhere",
            written_ahead(file).display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Still, written_ahead};
    use rusqlite::{Error, ffi};
    use std::fs;

    #[test]
    fn what_was_read_of_a_file_that_changed_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("2026-11-21.sqlite");
        fs::write(&file, "one").unwrap();
        let refused = |code| Error::SqliteFailure(ffi::Error::new(code), None);
        let still = || Still::of(&file, &refused(ffi::SQLITE_READONLY));
        assert!(Still::of(&file, &refused(ffi::SQLITE_BUSY)).is_none());
        let read = still().unwrap();
        assert!(read.check().is_ok());
        fs::write(&file, "other").unwrap();
        let error = read.check().unwrap_err().to_string();
        assert!(error.contains("try again"), "{error}");
        let read = still().unwrap();
        fs::write(written_ahead(&file), "more").unwrap();
        assert!(read.check().is_err());
        assert!(still().is_none(), "a part of it lies beside it");
    }
}
