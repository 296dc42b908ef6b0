//! What is to be watched: interfaces, or captures.

use crate::spare::once;
use anyhow::{Result, anyhow, bail};
use dwell_net::interfaces;
use std::path::{Path, PathBuf};

/// What is to be watched.
pub(super) enum Given {
    Interfaces(Vec<String>),
    Files(Vec<PathBuf>),
}

impl Given {
    /// An interface goes before a file of its name; `./NAME` is the file.
    pub(super) fn of(what: &[String]) -> Result<Self> {
        let interfaces: Vec<String> =
            interfaces().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        let is_live = |name: &String| interfaces.contains(name);
        if let Some(name) =
            what.iter().find(|name| *name != "-" && !is_live(name) && !Path::new(name).exists())
        {
            let there = interfaces.join(", ");
            return Err(anyhow!("{name:?} is neither a file nor an interface; there are {there}"));
        }
        once(what.iter().map(Path::new))?;
        if what.iter().all(is_live) {
            return Ok(Self::Interfaces(what.to_vec()));
        }
        if let Some(live) = what.iter().find(|name| is_live(name)) {
            bail!(
                "{live} is an interface, which is not watched together with captures; ./{live} would be the file"
            );
        }
        Ok(Self::Files(what.iter().map(PathBuf::from).collect()))
    }

    /// What the place is called when nobody says so.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Interfaces(names) => names.join("-"),
            Self::Files(files) => {
                let name = files.first().and_then(|file| file.file_name());
                name.map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned())
            }
        }
    }
}
