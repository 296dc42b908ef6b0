//! What is to go on until somebody ends it.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Set from now on when somebody wants this process to end, by SIGINT (Ctrl-C) or SIGTERM.
///
/// # Errors
/// If the system does not tell of signals.
pub(crate) fn interrupted() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).context("cannot wait for signals")?;
    }
    Ok(interrupted)
}
