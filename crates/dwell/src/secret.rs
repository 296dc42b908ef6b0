//! A secret that two hosts share, in a file.

use crate::failure::bad_argument;
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::path::Path;

/// The first line of `file`.
pub(crate) fn read(file: &Path) -> Result<String> {
    let unfit = |why: String| bad_argument(anyhow!("{}: {why}", file.display()));
    let text = fs::read_to_string(file)
        .with_context(|| format!("{}: cannot be read", file.display()))
        .map_err(bad_argument)?;
    let secret = text.lines().next().unwrap_or_default().trim();
    if secret.is_empty() {
        Err(unfit("its first line has no secret".to_owned()))
    } else {
        Ok(secret.to_owned())
    }
}
