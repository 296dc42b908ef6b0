//! The spool's ledger, in a file that outlives a killed process.

use super::ShipperError;
use dwell_net::LastingNumbers;
use dwell_store::spool::{Ledger, SLOTS, Slots, SpoolError};
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

struct InFile(LastingNumbers);

impl Slots for InFile {
    fn numbers(&self) -> &[AtomicU64] {
        &self.0
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Opens a spool's ledger, and with it keeps other processes from the spool.
pub(super) fn ledger(folder: &Path) -> Result<Ledger, ShipperError> {
    let file = folder.join("ledger");
    let numbers = LastingNumbers::open(&file, SLOTS).map_err(|source| match source.kind() {
        io::ErrorKind::ResourceBusy => ShipperError::InUse { folder: folder.to_owned() },
        io::ErrorKind::InvalidData => SpoolError::Format { file: file.clone() }.into(),
        _ => ShipperError::Spool { folder: folder.to_owned(), source },
    })?;
    Ledger::open(Box::new(InFile(numbers))).ok_or_else(|| SpoolError::Format { file }.into())
}
