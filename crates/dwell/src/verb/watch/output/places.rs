//! Which files are written.

use super::{Scraped, Targets};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf, absolute};

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
    /// No output may overwrite a capture that is read, or another output.
    pub(in crate::verb::watch) fn spare(&self, captures: &[PathBuf], picture: Option<&Path>) -> Result<()> {
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
        written.extend(picture.map(Path::to_owned));
        // A device takes what several give.
        written.retain(|file| fs::metadata(file).map_or(true, |found| found.is_file()));
        let real = |file: &PathBuf| fs::canonicalize(file).or_else(|_| absolute(file)).unwrap_or_default();
        let mut taken: Vec<PathBuf> = captures.iter().map(real).collect();
        for file in &written {
            let place = real(file);
            if taken.contains(&place) {
                bail!("{} would be overwritten", file.display());
            }
            taken.push(place);
        }
        Ok(())
    }
}
