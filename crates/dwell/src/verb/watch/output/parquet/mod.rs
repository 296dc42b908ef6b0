//! Parquet: the columns of CSV, in groups of rows.

mod handshakes;
mod round_trips;

use super::{Output, beside};
use anyhow::{Context, Result};
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows of a group.
const GROUP: usize = 1 << 16;

/// A file of handshakes, and where they are asked for one of round trips.
pub(super) struct Files {
    handshakes: Columns<Handshake>,
    round_trips: Option<Columns<RoundTrips>>,
}

impl Files {
    pub(super) fn create(file: &Path, probe: &str, continuous: bool) -> Result<Self> {
        let handshakes = Columns::create(file, probe, handshakes::SCHEMA, handshakes::write)?;
        let second = || {
            let file = beside(file)?;
            let created = Columns::create(&file, probe, round_trips::SCHEMA, round_trips::write);
            created.with_context(|| file.display().to_string())
        };
        Ok(Self { handshakes, round_trips: continuous.then(second).transpose()? })
    }
}

/// A file of columns.
struct Columns<T> {
    probe: String,
    writer: SerializedFileWriter<File>,
    rows: Vec<T>,
    write: fn(&str, &[T], &mut Group<'_>) -> Result<()>,
}

impl<T> Columns<T> {
    fn create(
        file: &Path,
        probe: &str,
        schema: &str,
        write: fn(&str, &[T], &mut Group<'_>) -> Result<()>,
    ) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let compression = Compression::ZSTD(parquet::basic::ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = SerializedFileWriter::new(File::create(file)?, schema, Arc::new(properties))?;
        Ok(Self { probe: probe.to_owned(), writer, rows: Vec::new(), write })
    }

    fn push(&mut self, row: T) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = Group(self.writer.next_row_group()?);
        (self.write)(&self.probe, &self.rows, &mut group)?;
        group.0.close()?;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

/// A group of rows, column by column.
struct Group<'w>(SerializedRowGroupWriter<'w, File>);

impl Group<'_> {
    fn text(&mut self, values: impl Iterator<Item = String>) -> Result<()> {
        self.column::<ByteArrayType>(values.map(|text| Some(ByteArray::from(text.into_bytes()))), false)
    }

    fn optional_text(&mut self, values: impl Iterator<Item = Option<&'static str>>) -> Result<()> {
        self.column::<ByteArrayType>(values.map(|text| text.map(ByteArray::from)), true)
    }

    fn small(&mut self, values: impl Iterator<Item = i32>) -> Result<()> {
        self.column::<Int32Type>(values.map(Some), false)
    }

    fn optional_small(&mut self, values: impl Iterator<Item = Option<i32>>) -> Result<()> {
        self.column::<Int32Type>(values, true)
    }

    fn long(&mut self, values: impl Iterator<Item = i64>) -> Result<()> {
        self.column::<Int64Type>(values.map(Some), false)
    }

    fn optional(&mut self, values: impl Iterator<Item = Option<i64>>) -> Result<()> {
        self.column::<Int64Type>(values, true)
    }

    fn column<T: DataType>(
        &mut self,
        values: impl Iterator<Item = Option<T::T>>,
        optional: bool,
    ) -> Result<()> {
        let all: Vec<Option<T::T>> = values.collect();
        let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T::T> = all.into_iter().flatten().collect();
        if let Some(mut column) = self.0.next_column()? {
            column.typed::<T>().write_batch(&values, optional.then_some(&levels[..]), None)?;
            column.close()?;
        }
        Ok(())
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
