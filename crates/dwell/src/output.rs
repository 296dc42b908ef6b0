//! What every verb takes.

use crate::spare::spare;
use anyhow::Result;
use clap::Args;
use std::path::{Path, PathBuf};

/// What every verb takes.
#[derive(Args, Clone, Default)]
pub(crate) struct Output {
    /// Print one JSON document on standard output; `watch` and `sections` print one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Draw a picture, as .svg or as a page, .html
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Keep all that was seen, for `dwell replay`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Seed of everything random
    #[arg(long, global = true, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Output {
    /// Refuses to write over what is read, or over another output; `written` are those beside picture and record.
    pub(crate) fn spare(&self, read: &[&Path], written: &[&Path]) -> Result<()> {
        let own = [&self.plot, &self.record];
        let all: Vec<&Path> =
            written.iter().copied().chain(own.into_iter().flatten().map(PathBuf::as_path)).collect();
        spare(read, &all)
    }
}
