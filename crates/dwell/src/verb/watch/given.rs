//! What is to be watched: an interface, or captures.

use crate::spare::is_one;
use anyhow::{Result, anyhow, bail};
use dwell_net::interfaces;
use std::path::{Path, PathBuf};

/// What is to be watched.
pub(super) enum Given {
    Interface(String),
    Files(Vec<PathBuf>),
}

impl Given {
    /// An interface goes before a file of its name; `./NAME` is the file.
    pub(super) fn of(what: &[String]) -> Result<Self> {
        let interfaces: Vec<String> =
            interfaces().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        if let [one] = what
            && interfaces.contains(one)
        {
            return Ok(Self::Interface(one.clone()));
        }
        if let Some(live) = what.iter().find(|name| interfaces.contains(name)) {
            bail!("{live} is an interface, which is watched by itself; ./{live} would be the file");
        }
        for (place, name) in what.iter().enumerate() {
            if name != "-" && !Path::new(name).exists() {
                let there = interfaces.join(", ");
                return Err(anyhow!("{name:?} is neither a file nor an interface; there are {there}"));
            }
            let is_it = |other: &String| is_one(Path::new(name), Path::new(other));
            if let Some(other) = what[..place].iter().find(|other| *other == name || is_it(other)) {
                let as_well = if other == name { String::new() } else { format!(", as {other} as well") };
                bail!("{name} is given twice{as_well}");
            }
        }
        Ok(Self::Files(what.iter().map(PathBuf::from).collect()))
    }

    /// What the place is called when nobody says so.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Interface(name) => name.clone(),
            Self::Files(files) => {
                let name = files.first().and_then(|file| file.file_name());
                name.map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned())
            }
        }
    }
}
