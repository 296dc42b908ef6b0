//! What each connection and section is told as: a line of JSON on standard output, one of CSV in a file, a row of Parquet, a count
//! in a histogram.

use super::histograms::Histograms;
use super::line::{self, Line};
use super::outcome::{names, network};
use crate::columns::Columns;
use crate::prometheus::Scraped;
use crate::screen::{NO_OUTPUT, is_taken};
use crate::table_file::TableFile;
use anyhow::{Context, Result};
use dwell_core::tcp::section::{Connection, Order, Section};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write as _};
use std::path::Path;

/// Where lines go.
pub(super) struct Lines {
    json: Option<BufWriter<Stdout>>,
    csv: Option<TableFile>,
    parquet: Option<Columns<Line>>,
    histograms: Option<Histograms>,
    /// Whether nobody reads standard output any more.
    gone: bool,
}

impl Lines {
    pub(super) fn open(
        json: bool,
        csv: Option<&Path>,
        parquet: Option<&Path>,
        scraped: Option<&Scraped>,
    ) -> Result<Self> {
        let create = |file: &Path| TableFile::create(file, Line::default());
        let columns = |file: &Path| Columns::create(file, line::SCHEMA, line::write);
        Ok(Self {
            json: json.then(|| BufWriter::with_capacity(1 << 16, io::stdout())),
            csv: csv.map(create).transpose()?,
            parquet: parquet.map(columns).transpose()?,
            histograms: scraped.map(Histograms::open).transpose()?,
            gone: false,
        })
    }

    pub(super) fn take(
        &mut self,
        connection: &Connection,
        section: &Section,
        probes: &[String],
        order: &Order,
    ) -> Result<()> {
        let [from, to] = names(section.leg(), probes, order);
        if let (Some(histograms), Some(time)) = (&mut self.histograms, section.measured()) {
            histograms.add([from, to], section.way, network(connection, section), time);
        }
        if self.json.is_none() && self.csv.is_none() && self.parquet.is_none() {
            return Ok(());
        }
        let line = Line::of(connection, section, [from, to], probes.len());
        if let Some(csv) = &mut self.csv {
            csv.push(&line)?;
        }
        if let Some(out) = &mut self.json {
            let mut bytes = serde_json::to_vec(&line)?;
            bytes.push(b'\n');
            let written = out.write_all(&bytes);
            self.unless_gone(written)?;
        }
        self.parquet.as_mut().map_or(Ok(()), |columns| columns.push(line))
    }

    /// Whatever was taken is to be seen, but for columns: of a few rows they would be none.
    pub(super) fn flush(&mut self) -> Result<()> {
        if let Some(csv) = &mut self.csv {
            csv.flush()?;
        }
        if let Some(histograms) = &mut self.histograms {
            histograms.flush()?;
        }
        let flushed = self.json.as_mut().map_or(Ok(()), io::Write::flush);
        self.unless_gone(flushed)
    }

    /// Tells on standard output, in place of lines.
    pub(super) fn tell(&mut self, text: &str) -> Result<()> {
        self.gone |= !is_taken(text)?;
        Ok(())
    }

    /// Whether all that is written is read by nobody any more.
    pub(super) const fn are_unread(&self) -> bool {
        self.gone && self.csv.is_none() && self.parquet.is_none() && self.histograms.is_none()
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.parquet.map_or(Ok(()), Columns::finish)?;
        self.histograms.as_mut().map_or(Ok(()), Histograms::finish)
    }

    /// A reader that went away, such as `head`, is no error.
    fn unless_gone(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                // What it still holds is for nobody.
                self.json.take().map(BufWriter::into_parts);
                self.gone = true;
                Ok(())
            }
            other => other.context(NO_OUTPUT),
        }
    }
}
