//! Parquet: the columns of CSV.

mod handshakes;
mod round_trips;

use super::{Output, beside};
use crate::columns::{Columns, Group};
use anyhow::Result;
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use std::path::Path;

/// A file of handshakes, and where they are asked for one of round trips.
pub(super) struct Files {
    handshakes: Columns<Handshake>,
    round_trips: Option<Columns<RoundTrips>>,
}

impl Files {
    pub(super) fn create(file: &Path, probe: &str, continuous: bool) -> Result<Self> {
        let name = probe.to_owned();
        let write = move |rows: &[Handshake], group: &mut Group<'_>| handshakes::write(&name, rows, group);
        let handshakes = Columns::create(file, handshakes::SCHEMA, write)?;
        let second = || {
            let (file, name) = (beside(file)?, probe.to_owned());
            let write =
                move |rows: &[RoundTrips], group: &mut Group<'_>| round_trips::write(&name, rows, group);
            Columns::create(&file, round_trips::SCHEMA, write)
        };
        Ok(Self { handshakes, round_trips: continuous.then(second).transpose()? })
    }
}

impl Output for Files {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.handshakes.push(*handshake)
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        self.round_trips.as_mut().map_or(Ok(()), |file| file.push(*told))
    }

    /// Groups of a few rows would be no columns.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.handshakes.finish()?;
        self.round_trips.map_or(Ok(()), Columns::finish)
    }
}
