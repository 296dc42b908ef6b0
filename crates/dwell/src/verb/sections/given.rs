//! What was given: captures, or a warehouse.

use super::source::Source;
use super::{SectionsArgs, files};
use crate::failure::bad_argument;
use crate::spare::is_one;
use crate::warehouse;
use anyhow::{Result, anyhow, bail};
use dwell_store::warehouse::Batch;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was given.
pub(super) enum Given {
    /// Captures, by the names of their places.
    Files(Vec<(String, PathBuf)>),
    /// A folder, or a server.
    Store(String),
}

impl Given {
    pub(super) fn of(args: &SectionsArgs) -> Result<Self> {
        if let Some(store) = &args.store {
            return Ok(Self::Store(store.clone()));
        }
        if args.files.len() < 2 {
            bail!(bad_argument(anyhow!(
                "one place has no sections: give a capture of each of several places, or see `dwell watch`"
            )));
        }
        let named: Vec<(String, PathBuf)> = args.files.iter().map(|given| named(given)).collect();
        let mut names = BTreeSet::new();
        for (place, (name, file)) in named.iter().enumerate() {
            if file.as_os_str().is_empty() {
                bail!(bad_argument(anyhow!("{name}= names no file")));
            }
            Batch::check_place(name)
                .map_err(|why| bad_argument(anyhow!("{why}: NAME={}", file.display())))?;
            if !names.insert(name) {
                bail!(bad_argument(anyhow!(
                    "two places are called {name:?}; name this one otherwise: NAME={}",
                    file.display()
                )));
            }
            if let Some((other, _)) =
                named[..place].iter().find(|(_, other)| other == file || is_one(other, file))
            {
                bail!(bad_argument(anyhow!(
                    "{} is given as the capture of both {other} and {name}: each place has its own",
                    file.display()
                )));
            }
        }
        Ok(Self::Files(named))
    }

    /// The files and folders that are read.
    pub(super) fn read(&self) -> Vec<&Path> {
        match self {
            Self::Files(files) => files.iter().map(|(_, file)| file.as_path()).collect(),
            Self::Store(place) => vec![Path::new(place)],
        }
    }

    pub(super) fn open(&self, last: Option<u32>) -> Result<Source> {
        match self {
            Self::Files(files) => files::read(files),
            Self::Store(place) => Ok(Source::store(warehouse::open(place)?, last)),
        }
    }
}

/// A file of this very name goes before a name and a file.
fn named(given: &str) -> (String, PathBuf) {
    let file = Path::new(given);
    match given.split_once('=') {
        Some((name, file)) if !name.is_empty() && !Path::new(given).exists() => {
            (name.to_owned(), PathBuf::from(file))
        }
        _ => {
            let name = file.file_name().map_or(given.into(), |name| name.to_string_lossy());
            // `alpha.pcap.gz` is alpha's.
            (name.split('.').find(|part| !part.is_empty()).unwrap_or(given).to_owned(), file.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::named;
    use std::path::PathBuf;

    #[test]
    fn a_place_is_named_by_its_file_or_by_who_gives_it() {
        assert_eq!(named("/x/alpha.pcap.gz"), ("alpha".to_owned(), PathBuf::from("/x/alpha.pcap.gz")));
        assert_eq!(named("in=/x/a.pcap"), ("in".to_owned(), PathBuf::from("/x/a.pcap")));
        assert_eq!(named("=a.pcap").1, PathBuf::from("=a.pcap"));
    }
}
