//! What can be wrong with a warehouse.

use super::MAX_PROBE_NAME;

/// What can be wrong with a warehouse, or with what is sent to it.
#[derive(Debug, thiserror::Error)]
pub enum WarehouseError {
    /// No such name can be kept.
    #[error(
        "'{name}' cannot name a probe; take 1 to {MAX_PROBE_NAME} letters, digits, dots, dashes and underlines"
    )]
    ProbeName {
        /// The name.
        name: String,
    },
}
