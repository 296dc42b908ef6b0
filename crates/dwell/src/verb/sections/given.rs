//! What was given: captures, or a warehouse.

use super::source::Source;
use super::{SectionsArgs, files};
use crate::failure::bad_argument;
use crate::spare::once;
use crate::warehouse;
use anyhow::{Result, anyhow, bail};
use dwell_store::warehouse::Batch;
use std::path::{Path, PathBuf};

/// What was given.
pub(super) enum Given {
    /// The captures of each place, by its name.
    Files(Vec<(String, Vec<PathBuf>)>),
    /// A folder, or a server.
    Store(String),
}

impl Given {
    pub(super) fn of(args: &SectionsArgs) -> Result<Self> {
        if let Some(store) = &args.store {
            return Ok(Self::Store(store.clone()));
        }
        let named: Vec<Named> = args.files.iter().map(|given| Named::of(given)).collect();
        once(named.iter().map(|named| named.file.as_path())).map_err(bad_argument)?;
        let mut places: Vec<(String, Vec<PathBuf>)> = Vec::new();
        for (place, Named { name, file, is_said }) in named.iter().enumerate() {
            if file.as_os_str().is_empty() {
                bail!(bad_argument(anyhow!("{name}= names no file")));
            }
            Batch::check_place(name)
                .map_err(|why| bad_argument(anyhow!("{why}: NAME={}", file.display())))?;
            // That files happen to be called the same makes them no captures of one place.
            if named[..place].iter().any(|other| other.name == *name && !(*is_said && other.is_said)) {
                bail!(bad_argument(anyhow!(
                    "two places are called {name:?}; name this one otherwise: NAME={} (or, if it is one place, all its captures by one NAME)",
                    file.display()
                )));
            }
            match places.iter_mut().find(|(known, _)| known == name) {
                Some((_, files)) => files.push(file.clone()),
                None => places.push((name.clone(), vec![file.clone()])),
            }
        }
        if places.len() < 2 {
            bail!(bad_argument(anyhow!(
                "one place has no sections: give captures of several places, or see `dwell watch`"
            )));
        }
        Ok(Self::Files(places))
    }

    /// The files and folders that are read.
    pub(super) fn read(&self) -> Vec<&Path> {
        match self {
            Self::Files(places) => places.iter().flat_map(|(_, files)| files).map(PathBuf::as_path).collect(),
            Self::Store(place) => vec![Path::new(place)],
        }
    }

    pub(super) fn open(&self, last: Option<u32>) -> Result<Source> {
        match self {
            Self::Files(places) => files::read(places),
            Self::Store(place) => Ok(Source::store(warehouse::open(place)?, last)),
        }
    }
}

/// A capture, and the place that it is of.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    name: String,
    file: PathBuf,
    /// Whether somebody said the name; else it is the file's.
    is_said: bool,
}

impl Named {
    /// A file of this very name goes before a name and a file.
    fn of(given: &str) -> Self {
        let file = Path::new(given);
        match given.split_once('=') {
            Some((name, file)) if !name.is_empty() && !Path::new(given).exists() => {
                Self { name: name.to_owned(), file: PathBuf::from(file), is_said: true }
            }
            _ => {
                let name = file.file_name().map_or(given.into(), |name| name.to_string_lossy());
                // `alpha.pcap.gz` is alpha's.
                let name = name.split('.').find(|part| !part.is_empty()).unwrap_or(given).to_owned();
                Self { name, file: file.to_owned(), is_said: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Named;
    use std::path::Path;

    #[test]
    fn a_place_is_named_by_its_file_or_by_who_gives_it() {
        for (given, name, file, is_said) in [
            ("/x/alpha.pcap.gz", "alpha", "/x/alpha.pcap.gz", false),
            ("in=/x/a.pcap", "in", "/x/a.pcap", true),
            ("=a.pcap", "=a", "=a.pcap", false),
        ] {
            let (name, file) = (name.to_owned(), Path::new(file).to_owned());
            assert_eq!(Named::of(given), Named { name, file, is_said });
        }
    }
}
