//! What can be wrong with a spool.

use super::Reason;
use crate::warehouse::WarehouseError;
use std::io;
use std::path::{Path, PathBuf};

/// What can be wrong with a spool, or with its disk.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// It is as large as it may be.
    #[error("{}: the spool holds its limit of {limit} bytes; records are given up until the warehouse takes some", folder.display())]
    Full {
        /// The spool.
        folder: PathBuf,
        /// Its limit.
        limit: u64,
    },
    /// The disk is full.
    #[error("{}: the disk is full; records are given up until there is room", file.display())]
    DiskFull {
        /// The file that found no room.
        file: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something else, or the spool of another version.
    #[error(
        "{}: not a spool of this version of dwell; let the version that wrote it ship it, or move it away",
        file.display()
    )]
    Format {
        /// Which file.
        file: PathBuf,
    },
    /// It belongs to another probe.
    #[error("{}: holds batches of the probe '{other}'; name another folder with --spool", folder.display())]
    OtherProbe {
        /// The spool.
        folder: PathBuf,
        /// Whose it is.
        other: String,
    },
    /// No such probe can be.
    #[error(transparent)]
    Name(#[from] WarehouseError),
}

impl SpoolError {
    /// From what the operating system says of a file.
    pub(super) fn io(file: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let file = file.to_owned();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { file },
                _ => Self::Io { file, doing, source },
            }
        }
    }

    /// Why records are given up for it.
    pub(super) const fn reason(&self) -> Reason {
        match self {
            Self::Full { .. } => Reason::SpoolFull,
            Self::DiskFull { .. } => Reason::DiskFull,
            _ => Reason::DiskFailed,
        }
    }
}
