//! What can be wrong with a warehouse.

use super::MAX_PROBE_NAME;

/// What can be wrong with a warehouse, or with what is sent to it. Each names the place: a file, or a server.
#[derive(Debug, thiserror::Error)]
pub enum WarehouseError {
    /// No such name can be kept.
    #[error(
        "'{name}' cannot name a probe; take 1 to {MAX_PROBE_NAME} letters, digits, dots, dashes and underlines, and not dots alone"
    )]
    ProbeName {
        /// The name.
        name: String,
    },
    /// It is what an end is called.
    #[error("client and server are the ends, no place between them is called {name:?}; take another name")]
    End {
        /// The name.
        name: String,
    },
    /// There is none.
    #[error("{place}: there is no warehouse here")]
    Absent {
        /// Where it was looked for.
        place: String,
    },
    /// Of another version.
    #[error(
        "{place}: a warehouse of format {found}, and this dwell reads and writes format {known}; use the version that wrote it, or keep in another place"
    )]
    Version {
        /// The file or the server.
        place: String,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// Not ours, or no longer whole.
    #[error(
        "{place}: damaged, or not a warehouse of dwell: {why}; move it away, and what the probes still hold is sent again"
    )]
    Damaged {
        /// The file or the server.
        place: String,
        /// How it shows.
        why: String,
    },
    /// No room is left.
    #[error("{place}: the disk is full; nothing of the batch was kept")]
    DiskFull {
        /// The file or the server.
        place: String,
    },
    /// It cannot be had at all, or said no.
    #[error("{place}: cannot {doing}: {why}")]
    Failed {
        /// The file or the server.
        place: String,
        /// What was tried.
        doing: &'static str,
        /// What was said.
        why: String,
    },
}
