//! Why records were given up.

use std::fmt;

/// Why a probe gave records up.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// They came faster than they could be written.
    QueueFull,
    /// The spool is as large as it may be.
    SpoolFull,
    /// The disk is full.
    DiskFull,
    /// The disk failed.
    DiskFailed,
    /// The process was killed, or the machine stopped, before they were written.
    Killed,
    /// They were written, and could not be read any more.
    Damaged,
}

impl Reason {
    /// All, in their order in the ledger.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::SpoolFull, Self::DiskFull, Self::DiskFailed, Self::Killed, Self::Damaged];

    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::SpoolFull => "spool-full",
            Self::DiskFull => "disk-full",
            Self::DiskFailed => "disk-failed",
            Self::Killed => "killed",
            Self::Damaged => "damaged",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
