use crate::error::StoreError;
use crate::hexadecimal::hexadecimal;
use crate::read::{MAX_FILE_BYTES, MAX_LINE_BYTES};
use crate::record::{End, Found, Header, Kept, Line};
use dwell_core::Passage;
use dwell_core::echo::Echo;
use dwell_core::fsd::Pair;
use dwell_core::hop::Sighting;
use dwell_core::inside::{Event, Watch, Watched};
use dwell_core::throughput::Transfer;
use dwell_core::throughput::udpst::capacity::Tested;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The name under which a record grows until it is whole.
#[must_use]
pub fn partial_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Writes a record as the run goes on.
#[derive(Debug)]
pub struct RecordWriter {
    file: PathBuf,
    partial: PathBuf,
    lines: Lines<File>,
    passages: u64,
    events: u64,
}

impl RecordWriter {
    /// Begins the record `file`, which grows as [`partial_name`]`(file)` until [`finish`](Self::finish).
    ///
    /// # Errors
    /// When either name is taken, or the system refuses.
    pub fn create(file: &Path, header: &Header) -> Result<Self, StoreError> {
        Self::check_name(file)?;
        let partial = partial_name(file);
        let out = File::create_new(&partial).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => StoreError::PartialExists { file: partial.clone() },
            _ => StoreError::Io { file: partial.clone(), doing: "create", source },
        })?;
        let mut writer =
            Self { file: file.to_owned(), partial, lines: Lines::new(out), passages: 0, events: 0 };
        writer.put(header)?;
        Ok(writer)
    }

    /// Refuses a name that is taken, also by a record that grows.
    ///
    /// # Errors
    /// When either name is taken.
    pub fn check_name(file: &Path) -> Result<(), StoreError> {
        let partial = partial_name(file);
        if file.exists() {
            return Err(StoreError::Exists { file: file.to_owned() });
        }
        if partial.exists() { Err(StoreError::PartialExists { file: partial }) } else { Ok(()) }
    }

    /// Adds a passage of the measurement `stage`; it is with the system, safe from a kill, on return.
    ///
    /// # Errors
    /// A full disk, or another refusal of the system.
    pub fn push(&mut self, stage: &str, passage: Passage) -> Result<(), StoreError> {
        self.put(&Line::Passage(Kept { stage: stage.to_owned(), passage }))?;
        self.passages += 1;
        Ok(())
    }

    /// Adds an echo.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_echo(&mut self, echo: Echo) -> Result<(), StoreError> {
        self.put(&Line::Echo(echo))?;
        self.passages += 1;
        Ok(())
    }

    /// Adds a run of TCP connections.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_transfer(&mut self, transfer: Transfer) -> Result<(), StoreError> {
        self.put(&Line::Transfer(Box::new(transfer)))?;
        self.passages += 1;
        Ok(())
    }

    /// Adds a test of RFC 9097.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_tested(&mut self, tested: Tested) -> Result<(), StoreError> {
        self.put(&Line::Tested(Box::new(tested)))?;
        self.passages += 1;
        Ok(())
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_pair(&mut self, pair: Pair) -> Result<(), StoreError> {
        self.put(&Line::Pair(pair))?;
        self.passages += 1;
        Ok(())
    }

    /// Adds a volley.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_volley(&mut self, sighting: Sighting) -> Result<(), StoreError> {
        self.put(&Line::Volley(sighting))?;
        self.passages += 1;
        Ok(())
    }

    /// Says what is known before watching, once, ahead of all events.
    ///
    /// # Errors
    /// A full disk, or another refusal of the system.
    pub fn watch(&mut self, watch: &Watch) -> Result<(), StoreError> {
        self.put(&Line::Watch(Box::new(watch.clone())))
    }

    /// Adds what was seen while watching.
    ///
    /// # Errors
    /// A full disk, another refusal of the system, or no more room in what a record can be.
    pub fn push_event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.put(&Line::Event(event.clone()))?;
        self.events += 1;
        let limit = MAX_FILE_BYTES - MAX_LINE_BYTES;
        if self.lines.bytes > limit {
            let (file, line) = (self.partial.clone(), self.lines.written);
            return Err(StoreError::TooLarge { file, line, what: "the record", limit });
        }
        Ok(())
    }

    /// Adds what is known after watching, closes the record, and gives it its own name.
    ///
    /// # Errors
    /// A full disk, or another refusal of the system; the partial record then stays.
    pub fn finish_watch(mut self, watched: &Watched) -> Result<PathBuf, StoreError> {
        self.put(&Line::Watched(Box::new(watched.clone())))?;
        self.close()
    }

    /// Adds the findings, closes the record, and gives it its own name.
    ///
    /// # Errors
    /// A full disk, or another refusal of the system; the partial record then stays.
    pub fn finish(mut self, found: &[Found]) -> Result<PathBuf, StoreError> {
        self.put(&Line::Found(found.to_vec()))?;
        self.close()
    }

    fn close(mut self) -> Result<PathBuf, StoreError> {
        let end = End { passages: self.passages, events: self.events, sha256: self.lines.digest() };
        self.put(&Line::End(end))?;
        let failed = |doing| {
            let file = self.partial.clone();
            move |source| StoreError::Io { file, doing, source }
        };
        self.lines.out.sync_all().map_err(failed("write to the disk"))?;
        fs::rename(&self.partial, &self.file).map_err(failed("give the record its name"))?;
        Ok(self.file)
    }

    fn put(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let at = self.lines.written + 1;
        self.lines.put(line).map_err(|source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                StoreError::DiskFull { file: self.partial.clone(), line: at }
            }
            _ => StoreError::Io { file: self.partial.clone(), doing: "write", source },
        })
    }
}

/// JSON lines, and the digest of all of them so far.
#[derive(Debug)]
struct Lines<W> {
    out: W,
    sha256: Sha256,
    written: u64,
    bytes: u64,
}

impl<W: Write> Lines<W> {
    fn new(out: W) -> Self {
        Self { out, sha256: Sha256::new(), written: 0, bytes: 0 }
    }

    /// One line, in one write: a kill leaves whole lines, but for the last at worst.
    fn put(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.out.write_all(&bytes)?;
        self.sha256.update(&bytes);
        self.written += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn digest(&self) -> String {
        hexadecimal(&self.sha256.clone().finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Circumstances;

    #[test]
    fn a_full_disk_is_named_with_its_line() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let header = Header::now(Default::default(), None, Circumstances::default());
        let mut writer = RecordWriter {
            file: "run.dwell".into(),
            partial: "run.dwell.partial".into(),
            lines: Lines::new(full),
            passages: 0,
            events: 0,
        };
        let error = writer.put(&header).unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { line: 1, .. }), "{error}");
        assert!(error.to_string().starts_with("run.dwell.partial: line 1: the disk is full"), "{error}");
    }
}
