//! A file of CSV, whose line of names is there from the first on, also where no other follows.

use crate::failure::cannot_write;
use anyhow::{Context, Result};
use csv::{Writer, WriterBuilder};
use serde::Serialize;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file of lines. What it cannot is told by its name.
pub(crate) struct TableFile {
    file: PathBuf,
    lines: Writer<File>,
}

impl TableFile {
    /// Makes the file; the names are those of the keys of `sample`, which is not written.
    pub(crate) fn create(file: &Path, sample: impl Serialize) -> Result<Self> {
        let mut lines = Writer::from_writer(Vec::new());
        lines.serialize(sample)?;
        let lines = lines.into_inner().context("cannot keep a line")?;
        let names = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut out = File::create(file).with_context(|| cannot_write(file))?;
        out.write_all(names).with_context(|| cannot_write(file))?;
        let lines = WriterBuilder::new().has_headers(false).from_writer(out);
        Ok(Self { file: file.to_owned(), lines })
    }

    /// One more line.
    pub(crate) fn push(&mut self, line: impl Serialize) -> Result<()> {
        self.lines.serialize(line).with_context(|| cannot_write(&self.file))
    }

    /// What was taken is in the file.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.lines.flush().with_context(|| cannot_write(&self.file))
    }
}
