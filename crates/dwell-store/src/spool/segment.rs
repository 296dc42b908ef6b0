//! The files of a spool.

use super::cursor::Place;
use super::entry::{self, MAGIC};
use super::{Entry, SpoolError};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUFFIX: &str = ".batches";

/// The segments of a folder, by number.
pub(super) fn list(folder: &Path) -> Result<VecDeque<Segment>, SpoolError> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).map_err(SpoolError::io(folder, "list"))? {
        let file = file.map_err(SpoolError::io(folder, "list"))?;
        let name = file.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok()) else {
            continue;
        };
        let path = file.path();
        let length = file.metadata().map_err(SpoolError::io(&path, "look at"))?.len();
        found.push(Segment { number, path, length });
    }
    found.sort_by_key(|segment| segment.number);
    Ok(found.into())
}

/// A segment that is written no more.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) length: u64,
}

impl Segment {
    /// Cuts off what a killed process left of a batch, and gives the last that is whole.
    pub(super) fn recover(&mut self) -> Result<Option<Entry>, SpoolError> {
        let bytes = fs::read(&self.path).map_err(SpoolError::io(&self.path, "read"))?;
        let Some((entries, end)) = entry::parse_segment(&bytes) else {
            // Killed before its first bytes were whole; after a power cut they can be zeros.
            return if MAGIC.starts_with(&bytes) || bytes.starts_with(&[0; MAGIC.len()]) {
                Ok(None)
            } else {
                Err(SpoolError::Format { file: self.path.clone() })
            };
        };
        if end < self.length {
            let cut = OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(end));
            cut.map_err(SpoolError::io(&self.path, "cut off the end of"))?;
            self.length = end;
        }
        Ok(entries.into_iter().next_back())
    }

    /// Whether no batch was written into it.
    pub(super) const fn is_empty(&self) -> bool {
        self.length <= MAGIC.len() as u64
    }

    /// Records written before its first batch, as far as that can be read.
    pub(super) fn first(&self) -> Option<u64> {
        let (entries, _) = entry::parse_segment(&fs::read(&self.path).ok()?)?;
        entries.first().map(Entry::start)
    }

    /// Removes it from the disk, unless somebody has done so.
    pub(super) fn remove(&self) -> Result<(), SpoolError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(SpoolError::io(&self.path, "remove")),
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place { number: self.number, path: &self.path, length: self.length }
    }
}

/// The segment that is written.
pub(super) struct Tail {
    segment: Segment,
    file: Arc<File>,
    synced: bool,
}

impl Tail {
    pub(super) fn create(folder: &Path, number: u64) -> Result<Self, SpoolError> {
        let path = folder.join(format!("{number:016}{SUFFIX}"));
        let create = || {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            file.write_all_at(&MAGIC, 0).inspect_err(|_| drop(fs::remove_file(&path)))?;
            Ok(Arc::new(file))
        };
        let file = create().map_err(SpoolError::io(&path, "make"))?;
        Ok(Self { segment: Segment { number, path, length: MAGIC.len() as u64 }, file, synced: true })
    }

    /// Writes a frame at the end, whole or not at all.
    pub(super) fn append(&mut self, frame: &[u8]) -> Result<(), SpoolError> {
        let end = self.segment.length;
        let written = self.file.write_all_at(frame, end).or_else(|error| {
            // Half a frame in the way of the next would cost both. Shrinking takes no room.
            self.file.set_len(end).and(Err(error))
        });
        written.map_err(SpoolError::io(&self.segment.path, "write"))?;
        self.segment.length = end + frame.len() as u64;
        self.synced = false;
        Ok(())
    }

    pub(super) fn unsynced(&mut self) -> Option<Arc<File>> {
        let unsynced = !self.synced;
        self.synced = true;
        unsynced.then(|| Arc::clone(&self.file))
    }

    pub(super) const fn segment(&self) -> &Segment {
        &self.segment
    }

    /// It is written no more.
    pub(super) fn end(self) -> Segment {
        self.segment
    }
}
