//! From an error to the exit status and its one line.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

/// What was given cannot be used, as opposed to what was tried and failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", one_line(.0))]
pub(crate) struct BadArgument(anyhow::Error);

/// Marks an error as the fault of what was given. What may not be read was given rightly.
pub(crate) fn bad_argument(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    let system = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    let is_denied = system.into_iter().any(|error| error.kind() == ErrorKind::PermissionDenied);
    if is_denied { error } else { BadArgument(error).into() }
}

/// Whether a name stands for nothing, or for what is no file, as opposed to a file that cannot be had.
pub(crate) fn is_misnamed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidInput
    )
}

/// What is said of a file that cannot be made, or that takes no more.
pub(crate) fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

/// 0: measured; 1: could not measure; 2: what was given cannot be used. The reason goes to standard error, on one line.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("dwell: {}", one_line(&error));
    ExitCode::from(if error.is::<BadArgument>() { 2 } else { 1 })
}

/// An error with its causes, each said once: many tell their cause themselves.
fn one_line(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain() {
        let words: Vec<String> = cause.to_string().split_whitespace().map(str::to_owned).collect();
        let text = words.join(" ");
        if !said.contains(&text) {
            let between = if said.is_empty() { "" } else { ": " };
            said = format!("{said}{between}{text}");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn causes_are_said_once_and_on_one_line() {
        let inner = anyhow!("name\n  not known");
        let error = inner.context("unknown host: name not known").context("cannot measure");
        assert_eq!(one_line(&error), "cannot measure: unknown host: name not known");
        assert_eq!(one_line(&bad_argument(error)), "cannot measure: unknown host: name not known");
    }
}
