//! A file of CSV, whose line of names is there from the first on, also where no other follows.

use anyhow::{Context, Result};
use csv::{Writer, WriterBuilder};
use serde::Serialize;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Makes the file; the names are those of the keys of `sample`, which is not written.
pub(crate) fn create(file: &Path, sample: impl Serialize) -> Result<Writer<File>> {
    let mut lines = Writer::from_writer(Vec::new());
    lines.serialize(sample)?;
    let lines = lines.into_inner().context("cannot keep a line")?;
    let names = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut file = File::create(file)?;
    file.write_all(names)?;
    Ok(WriterBuilder::new().has_headers(false).from_writer(file))
}
