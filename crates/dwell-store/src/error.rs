use std::io;
use std::path::PathBuf;

/// What can be wrong with a record, or with the place that it is to be kept in.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A record is never written over another.
    #[error("{}: already exists, and a record is never written over; choose another name", file.display())]
    Exists {
        /// The record asked for.
        file: PathBuf,
    },
    /// What a killed run left under the same name.
    #[error(
        "{}: left by an earlier run that did not end (or that still goes on); read it with `dwell replay --partial`, \
         then move it or choose another name",
        file.display()
    )]
    PartialExists {
        /// The partial record in the way.
        file: PathBuf,
    },
    /// No room is left.
    #[error("{}: line {line}: the disk is full; what was written so far can be read", file.display())]
    DiskFull {
        /// The file being written.
        file: PathBuf,
        /// The line that found no room.
        line: u64,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The first line is not a record's.
    #[error("{}: line 1: not a record of dwell: {why}", file.display())]
    NotARecord {
        /// The file.
        file: PathBuf,
        /// What was expected.
        why: String,
    },
    /// Written by a later Dwell.
    #[error(
        "{}: line 1: written in record format {found} by dwell {dwell}, and this dwell reads up to format {known}; \
         use that version or a later one",
        file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Format of the file.
        found: u64,
        /// The latest that can be read here.
        known: u32,
        /// The version that wrote it.
        dwell: String,
    },
    /// The run was killed, or the file was cut.
    #[error(
        "{}: line {line}: cut short: {why}; {passages} passages or events can be read with `dwell replay --partial`",
        file.display()
    )]
    CutShort {
        /// The file.
        file: PathBuf,
        /// Where it ends.
        line: u64,
        /// How that shows.
        why: &'static str,
        /// Whole passages or events before that.
        passages: u64,
    },
    /// Somebody or something changed the file.
    #[error("{}: line {line}: altered after it was written: {why}", file.display())]
    Altered {
        /// The file.
        file: PathBuf,
        /// The first line that shows it.
        line: u64,
        /// How it shows.
        why: String,
    },
    /// Larger than a record can be.
    #[error("{}: line {line}: {what} exceeds the limit of {limit} bytes", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Where.
        line: u64,
        /// The line or the file.
        what: &'static str,
        /// The limit passed.
        limit: u64,
    },
}
