//! SQLite: one file a day, so that forgetting a day is deleting a file.

mod file;
mod read;
mod still;
mod zones;

use super::{Account, Batch, Day, Span, Store, WarehouseError};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use file::{DayFile, failed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use zones::Zones;

/// Ends of the files' names.
const SUFFIX: &str = ".sqlite";

/// A warehouse in a folder.
#[derive(Debug)]
pub struct Sqlite {
    folder: PathBuf,
    /// The file that was written last: the next batch is of the same day, as a rule.
    open: Option<(Day, DayFile)>,
    zones: Zones,
}

impl Sqlite {
    /// In this folder, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or nothing may be written into it: whoever begins to listen is to know that, and not with the first batch.
    pub fn create(folder: &Path) -> Result<Self, WarehouseError> {
        let refused = |doing, error: io::Error| {
            let why = format!(
                "{error}; let who runs this write there (its owner, its mode, a disk that is not read-only), or name another folder with --warehouse"
            );
            failed(folder, doing, why)
        };
        fs::create_dir_all(folder).map_err(|error| refused("make the folder", error))?;
        // Modes do not say all of it: the disk may be read-only. What is tried has no name, so that nothing stays of it.
        match tempfile::tempfile_in(folder) {
            // Batches wait until there is room.
            Err(error) if error.kind() != io::ErrorKind::StorageFull => {
                return Err(refused("write into the folder", error));
            }
            _ => {}
        }
        Ok(Self { folder: folder.to_owned(), open: None, zones: Zones::default() })
    }

    /// One that is there.
    ///
    /// # Errors
    /// When there is no such folder, or one of other things: nothing but days makes a warehouse.
    pub fn open(folder: &Path) -> Result<Self, WarehouseError> {
        if !folder.is_dir() {
            return Err(WarehouseError::Absent { place: folder.display().to_string() });
        }
        let mut this = Self { folder: folder.to_owned(), open: None, zones: Zones::default() };
        let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty && this.days()?.is_empty() {
            return Err(WarehouseError::Absent { place: folder.display().to_string() });
        }
        Ok(this)
    }

    fn file(&self, day: Day) -> PathBuf {
        self.folder.join(format!("{day}{SUFFIX}"))
    }

    /// Shows the files of the days that may hold something of a span, one open at a time: there may be more days than a process may
    /// have files open.
    fn around(
        &mut self,
        span: Span,
        mut see: impl FnMut(Day, &DayFile) -> Result<(), WarehouseError>,
    ) -> Result<(), WarehouseError> {
        for day in read::around(&self.days()?, span) {
            if let Some(file) = DayFile::open(&self.file(day))? {
                see(day, &file)?;
            }
        }
        Ok(())
    }
}

impl Store for Sqlite {
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError> {
        batch.check()?;
        let day = batch.day();
        // One whose file was taken away is closed before another of its name is opened: its end would end the locks of both,
        // and what is written into it is nowhere.
        let open = self.open.take().filter(|(open, file)| *open == day && file.is_in_place());
        let mut file = match open {
            Some((_, file)) => file,
            None => DayFile::create(&self.file(day))?,
        };
        file.keep(batch)?;
        self.open = Some((day, file));
        Ok(())
    }

    fn connections(
        &mut self,
        probes: &[String],
        span: Span,
        slack: Nanos,
        take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<u64, WarehouseError> {
        probes.iter().try_for_each(|probe| Batch::check_letters(probe))?;
        let windows = read::windows(&self.days()?, span, slack);
        let files = |window: &read::Window| window.days.iter().map(|day| self.file(*day)).collect();
        let files: Vec<Vec<PathBuf>> = windows.iter().map(files).collect();
        self.zones.forget_all_but(&files.concat());
        let mut left_out = 0;
        for (window, files) in windows.iter().zip(&files) {
            // All of time is read as it lies.
            let zones = (span != Span::ALL).then_some(&mut self.zones);
            if read::connections(files, probes, window, zones, &mut left_out, take)?.is_break() {
                break;
            }
        }
        Ok(left_out)
    }

    fn lone(&mut self, probes: &[String], span: Span) -> Result<u64, WarehouseError> {
        let mut lone = 0;
        self.around(span, |_, file| {
            let of_each = file.lone(span)?;
            lone += probes.iter().filter_map(|probe| of_each.get(probe)).sum::<u64>();
            Ok(())
        })?;
        Ok(lone)
    }

    fn senders(&mut self, span: Span) -> Result<BTreeMap<Day, BTreeSet<String>>, WarehouseError> {
        let mut senders = BTreeMap::new();
        self.around(span, |day, file| {
            senders.insert(day, file.probes()?);
            Ok(())
        })?;
        Ok(senders)
    }

    fn newest(&mut self, span: Span) -> Result<BTreeMap<String, Nanos>, WarehouseError> {
        let mut newest = BTreeMap::new();
        self.around(span, |_, file| file.newest(&mut newest))?;
        Ok(newest)
    }

    fn accounts(&mut self, span: Span) -> Result<BTreeMap<String, Account>, WarehouseError> {
        let mut accounts = BTreeMap::new();
        self.around(span, |_, file| file.accounts(&mut accounts))?;
        Ok(accounts)
    }

    fn records(&mut self) -> Result<BTreeMap<String, u64>, WarehouseError> {
        let mut records = BTreeMap::new();
        self.around(Span::ALL, |_, file| file.records(&mut records))?;
        Ok(records)
    }

    fn days(&mut self) -> Result<Vec<Day>, WarehouseError> {
        let listed = |error: io::Error| io_failed(&self.folder, "list the folder", &error);
        let mut days = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(listed)? {
            let name = entry.map_err(listed)?.file_name();
            days.extend(name.to_str().and_then(|name| Day::parse(name.strip_suffix(SUFFIX)?)));
        }
        days.sort_unstable();
        Ok(days)
    }

    fn drop_day(&mut self, day: Day) -> Result<(), WarehouseError> {
        if self.open.as_ref().is_some_and(|(open, _)| *open == day) {
            self.open = None;
        }
        let file = self.file(day);
        // What belongs to the file must not be left to one that takes its name; the file itself goes last, so that a
        // process which dies meanwhile leaves something to drop.
        for end in ["-wal", "-shm", ""] {
            let mut name = file.clone().into_os_string();
            name.push(end);
            match fs::remove_file(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(io_failed(&file, "remove it", &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn io_failed(place: &Path, doing: &'static str, error: &io::Error) -> WarehouseError {
    failed(place, doing, error.to_string())
}
