//! From an error to the exit status and its one line.

use std::process::ExitCode;

/// What was given cannot be used, as opposed to what was tried and failed.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(crate) struct BadArgument(anyhow::Error);

/// Marks an error as the fault of what was given.
pub(crate) fn bad_argument(error: impl Into<anyhow::Error>) -> anyhow::Error {
    BadArgument(error.into()).into()
}

/// 0: measured; 1: could not measure; 2: bad arguments. The reason goes to standard error, on one line.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let reason = format!("{error:#}");
    let line: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    eprintln!("dwell: {}", line.join(" "));
    ExitCode::from(if error.is::<BadArgument>() { 2 } else { 1 })
}
