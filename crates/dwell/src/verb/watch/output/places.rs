//! Which files are written.

use super::{Scraped, Targets};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The file beside this one that has the round trips throughout connections: of `a.csv` it is `a.round-trips.csv`.
pub(super) fn beside(file: &Path) -> Result<PathBuf> {
    let mut name = file.file_stem().with_context(|| format!("{} names no file", file.display()))?.to_owned();
    name.push(".round-trips");
    if let Some(ending) = file.extension() {
        name.push(".");
        name.push(ending);
    }
    Ok(file.with_file_name(name))
}

impl Targets {
    /// The files that are written.
    pub(in crate::verb::watch) fn written(&self) -> Result<Vec<PathBuf>> {
        let mut written: Vec<PathBuf> = Vec::new();
        for file in [&self.csv, &self.parquet].into_iter().flatten() {
            written.push(file.clone());
            if self.continuous {
                written.push(beside(file)?);
            }
        }
        if let Some(Scraped::In(file)) = &self.prometheus {
            written.push(file.clone());
        }
        Ok(written)
    }
}
