//! Which files are written.

use super::Targets;
use crate::prometheus::Scraped;
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
        written.extend(self.prometheus.iter().filter_map(Scraped::file).map(Path::to_owned));
        Ok(written)
    }
}
