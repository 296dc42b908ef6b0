//! A file of Parquet: columns, in groups of rows.

use crate::failure::cannot_write;
use anyhow::{Context, Result};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a group.
const GROUP: usize = 1 << 16;

/// Writes rows into a group, one column after another.
type Write<T> = dyn Fn(&[T], &mut Group<'_>) -> Result<()>;

/// A file of columns. Without [`Self::finish`] it is none that anybody reads.
///
/// What it cannot is told by its name.
pub(crate) struct Columns<T> {
    file: PathBuf,
    writer: SerializedFileWriter<File>,
    rows: Vec<T>,
    write: Box<Write<T>>,
}

impl<T> Columns<T> {
    /// Makes the file, with the columns of `schema`, in the order of which `write` writes them.
    pub(crate) fn create(
        file: &Path,
        schema: &str,
        write: impl Fn(&[T], &mut Group<'_>) -> Result<()> + 'static,
    ) -> Result<Self> {
        let schema = Arc::new(parse_message_type(schema)?);
        let compression = Compression::ZSTD(parquet::basic::ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = File::create(file)
            .map_err(anyhow::Error::from)
            .and_then(|out| Ok(SerializedFileWriter::new(out, schema, Arc::new(properties))?))
            .with_context(|| cannot_write(file))?;
        Ok(Self { file: file.to_owned(), writer, rows: Vec::new(), write: Box::new(write) })
    }

    pub(crate) fn push(&mut self, row: T) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        self.put_group().with_context(|| cannot_write(&self.file))
    }

    fn put_group(&mut self) -> Result<()> {
        let mut group = Group(self.writer.next_row_group()?);
        (self.write)(&self.rows, &mut group)?;
        group.0.close()?;
        self.rows.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.close().with_context(|| cannot_write(&self.file))?;
        Ok(())
    }
}

/// A group of rows, column by column.
pub(crate) struct Group<'w>(SerializedRowGroupWriter<'w, File>);

impl Group<'_> {
    pub(crate) fn text(&mut self, values: impl Iterator<Item = String>) -> Result<()> {
        self.column::<ByteArrayType>(values.map(|text| Some(ByteArray::from(text.into_bytes()))), false)
    }

    pub(crate) fn optional_text(&mut self, values: impl Iterator<Item = Option<&'static str>>) -> Result<()> {
        self.column::<ByteArrayType>(values.map(|text| text.map(ByteArray::from)), true)
    }

    pub(crate) fn small(&mut self, values: impl Iterator<Item = i32>) -> Result<()> {
        self.column::<Int32Type>(values.map(Some), false)
    }

    pub(crate) fn optional_small(&mut self, values: impl Iterator<Item = Option<i32>>) -> Result<()> {
        self.column::<Int32Type>(values, true)
    }

    pub(crate) fn long(&mut self, values: impl Iterator<Item = i64>) -> Result<()> {
        self.column::<Int64Type>(values.map(Some), false)
    }

    pub(crate) fn optional(&mut self, values: impl Iterator<Item = Option<i64>>) -> Result<()> {
        self.column::<Int64Type>(values, true)
    }

    pub(crate) fn truth(&mut self, values: impl Iterator<Item = bool>) -> Result<()> {
        self.column::<BoolType>(values.map(Some), false)
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
