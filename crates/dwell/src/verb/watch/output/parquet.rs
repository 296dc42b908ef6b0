//! Parquet: the same columns, in groups of rows.

use super::super::row::Row;
use super::Output;
use anyhow::Result;
use dwell_core::tcp::Handshake;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// In the order in which they are written.
const SCHEMA: &str = "message handshake {
  required binary probe (STRING);
  required binary client (STRING);
  required int32 client_port (INTEGER(16,false));
  required binary server (STRING);
  required int32 server_port (INTEGER(16,false));
  required int32 isn_client (INTEGER(32,false));
  optional int32 isn_server (INTEGER(32,false));
  optional int64 t_syn_ns;
  optional int64 server_half_ns;
  optional int64 client_half_ns;
  optional int64 rtt_ns;
  required binary quality (STRING);
  required binary flags (STRING);
  required int64 t_first_ns;
  required int32 syns;
  required int32 syn_acks;
  required binary server_half_quality (STRING);
  required binary client_half_quality (STRING);
  required binary rtt_quality (STRING);
  optional int64 server_half_candidate_1_ns;
  optional int64 server_half_candidate_2_ns;
  optional int64 client_half_candidate_1_ns;
  optional int64 client_half_candidate_2_ns;
}";

/// Rows of a group.
const GROUP: usize = 1 << 16;

/// A file of columns.
pub(super) struct Columns {
    probe: String,
    writer: SerializedFileWriter<File>,
    rows: Vec<Handshake>,
}

impl Columns {
    pub(super) fn create(file: &Path, probe: &str) -> Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let compression = Compression::ZSTD(parquet::basic::ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = SerializedFileWriter::new(File::create(file)?, schema, Arc::new(properties))?;
        Ok(Self { probe: probe.to_owned(), writer, rows: Vec::new() })
    }

    fn write_group(&mut self) -> Result<()> {
        let rows: Vec<Row<'_>> = self.rows.iter().map(|handshake| Row::of(&self.probe, handshake)).collect();
        let mut group = Group { writer: self.writer.next_row_group()?, rows: &rows };
        group.text(|row| row.probe.to_owned())?;
        group.text(|row| row.client.to_string())?;
        group.small(|row| row.client_port.into())?;
        group.text(|row| row.server.to_string())?;
        group.small(|row| row.server_port.into())?;
        // Unsigned numbers are kept by their bits.
        group.small(|row| row.isn_client.cast_signed())?;
        group.column::<Int32Type>(|row| row.isn_server.map(u32::cast_signed), true)?;
        group.optional(|row| row.t_syn_ns)?;
        group.optional(|row| row.server_half_ns)?;
        group.optional(|row| row.client_half_ns)?;
        group.optional(|row| row.rtt_ns)?;
        group.text(|row| row.quality.name().to_owned())?;
        let flags = |row: &Row<'_>| row.flags.iter().map(dwell_core::tcp::Flag::name).collect::<Vec<_>>();
        group.text(|row| flags(row).join(" "))?;
        group.column::<Int64Type>(|row| Some(row.t_first_ns), false)?;
        group.small(|row| row.syns.into())?;
        group.small(|row| row.syn_acks.into())?;
        group.text(|row| row.server_half_quality.name().to_owned())?;
        group.text(|row| row.client_half_quality.name().to_owned())?;
        group.text(|row| row.rtt_quality.name().to_owned())?;
        group.optional(|row| row.server_half_candidates_ns.map(|both| both[0]))?;
        group.optional(|row| row.server_half_candidates_ns.map(|both| both[1]))?;
        group.optional(|row| row.client_half_candidates_ns.map(|both| both[0]))?;
        group.optional(|row| row.client_half_candidates_ns.map(|both| both[1]))?;
        group.writer.close()?;
        self.rows.clear();
        Ok(())
    }
}

/// A group of rows, column by column.
struct Group<'a, 'w> {
    writer: SerializedRowGroupWriter<'w, File>,
    rows: &'a [Row<'a>],
}

impl Group<'_, '_> {
    fn text(&mut self, of: impl Fn(&Row<'_>) -> String) -> Result<()> {
        self.column::<ByteArrayType>(|row| Some(ByteArray::from(of(row).into_bytes())), false)
    }

    fn small(&mut self, of: impl Fn(&Row<'_>) -> i32) -> Result<()> {
        self.column::<Int32Type>(|row| Some(of(row)), false)
    }

    fn optional(&mut self, of: impl Fn(&Row<'_>) -> Option<i64>) -> Result<()> {
        self.column::<Int64Type>(of, true)
    }

    fn column<T: DataType>(&mut self, of: impl Fn(&Row<'_>) -> Option<T::T>, optional: bool) -> Result<()> {
        let all: Vec<Option<T::T>> = self.rows.iter().map(of).collect();
        let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T::T> = all.into_iter().flatten().collect();
        if let Some(mut column) = self.writer.next_column()? {
            column.typed::<T>().write_batch(&values, optional.then_some(&levels[..]), None)?;
            column.close()?;
        }
        Ok(())
    }
}

impl Output for Columns {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.rows.push(*handshake);
        if self.rows.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    /// Groups of a few rows would be no columns.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}
