//! From an error to the exit status and its one line.

use std::path::Path;
use std::process::ExitCode;

/// What was given cannot be used, as opposed to what was tried and failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", one_line(.0))]
pub(crate) struct BadArgument(anyhow::Error);

/// Marks an error as the fault of what was given.
pub(crate) fn bad_argument(error: impl Into<anyhow::Error>) -> anyhow::Error {
    BadArgument(error.into()).into()
}

/// What is said of a file that cannot be made, or that takes no more.
pub(crate) fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

/// 0: measured; 1: could not measure; 2: bad arguments. The reason goes to standard error, on one line.
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
