//! What each connection and section is told as: a line of JSON on standard output, one of CSV in a file, a count in a histogram.

use super::histograms::Histograms;
use super::outcome::{name, network};
use crate::failure::bad_argument;
use crate::prometheus::Scraped;
use crate::table_file;
use anyhow::{Context, Result};
use dwell_core::tcp::section::{Connection, Estimate, Order, Place, Section};
use dwell_core::tcp::{Flag, Flags};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write as _};
use std::path::Path;

/// Where lines go.
pub(super) struct Lines {
    json: Option<BufWriter<Stdout>>,
    csv: Option<csv::Writer<File>>,
    histograms: Option<Histograms>,
}

/// The keys of `dwell sections --json`.
#[derive(Default, Serialize)]
struct Line<'a> {
    client: String,
    client_port: u16,
    server: String,
    server_port: u16,
    isn_client: u32,
    isn_server: u32,
    t_first_ns: i64,
    /// Its number from the client on, 0 first; of one that spans several, that of the first of them.
    section: usize,
    from: &'a str,
    to: &'a str,
    rtt_ns: Option<i64>,
    rtt_server_side_ns: Option<i64>,
    rtt_client_side_ns: Option<i64>,
    consistency_ns: Option<i64>,
    quality: &'static str,
    nat: bool,
}

impl Lines {
    pub(super) fn open(json: bool, csv: Option<&Path>, scraped: Option<&Scraped>) -> Result<Self> {
        let create = |file: &Path| {
            let made = table_file::create(file, Line::default());
            made.with_context(|| format!("cannot write {}", file.display())).map_err(bad_argument)
        };
        let show = |scraped: &Scraped| {
            Histograms::open(scraped).with_context(|| scraped.fails()).map_err(bad_argument)
        };
        Ok(Self {
            json: json.then(|| BufWriter::with_capacity(1 << 16, io::stdout())),
            csv: csv.map(create).transpose()?,
            histograms: scraped.map(show).transpose()?,
        })
    }

    pub(super) fn take(
        &mut self,
        connection: &Connection,
        section: &Section,
        probes: &[String],
        order: &Order,
    ) -> Result<()> {
        let [from, to] = [section.from, section.to].map(|place| name(place, probes, order));
        if let (Some(histograms), Some(time)) = (&mut self.histograms, section.measured()) {
            histograms.add([from, to], network(connection, section), time);
        }
        if self.json.is_none() && self.csv.is_none() {
            return Ok(());
        }
        let ends = &connection.ends;
        let exact = |estimate: Estimate| estimate.exact().map(|time| time.0);
        let flags = connection.sights.iter().fold(Flags::default(), |all, sight| all.with(sight.flags));
        let line = Line {
            client: ends.client.address.to_string(),
            client_port: ends.client.port,
            server: ends.server.address.to_string(),
            server_port: ends.server.port,
            isn_client: ends.isn_client,
            isn_server: ends.isn_server,
            t_first_ns: connection.first_at.0,
            section: match section.from {
                Place::Client => 0,
                Place::Probe(rank) => rank + 1,
                Place::Server => probes.len(),
            },
            from,
            to,
            rtt_ns: section.rtt.map(|time| time.0),
            rtt_server_side_ns: exact(section.server_side),
            rtt_client_side_ns: exact(section.client_side),
            consistency_ns: section.consistency.map(|time| time.0),
            quality: section.quality.name(),
            nat: flags.has(Flag::Nat),
        };
        if let Some(csv) = &mut self.csv {
            csv.serialize(&line)?;
        }
        if let Some(out) = &mut self.json {
            let mut bytes = serde_json::to_vec(&line)?;
            bytes.push(b'\n');
            let written = out.write_all(&bytes);
            self.unless_gone(written)?;
        }
        Ok(())
    }

    /// Whatever was taken is to be seen.
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

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.histograms.as_mut().map_or(Ok(()), Histograms::finish)
    }

    /// A reader that went away, such as `head`, is no error.
    fn unless_gone(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                // What it still holds is for nobody.
                self.json.take().map(BufWriter::into_parts);
                Ok(())
            }
            other => Ok(other?),
        }
    }
}
