//! `dwell sections`: round-trip times joined over several places, section by section.

mod clocks;
mod files;
mod follow;
mod given;
mod groups;
mod histograms;
mod line;
mod lines;
mod outcome;
mod panels;
mod source;
mod table;
mod times;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::picture::Picture;
use crate::prometheus::Scraped;
use crate::screen::{coloured, print_text};
use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use given::Given;
use lines::Lines;
use outcome::Outcome;
use std::path::PathBuf;

/// Tell the round-trip times of TCP connections section by section, joined over several places
///
/// Several probes on a path see the same handshakes. What the one sees less of the round trip than its neighbour is
/// the section between them: no clocks are compared. Of each inner section there are two estimates that know nothing of
/// each other, one from the halves towards the server, one from those towards the client; their difference says how
/// far to trust them. The order of the probes is told by the connections themselves; those that were opened from the other
/// side stand apart.
///
/// Give captures of each place, or a warehouse that probes ship to. The user and the password of ClickHouse are
/// read from DWELL_CLICKHOUSE_USER and DWELL_CLICKHOUSE_PASSWORD, or from ~/.config/dwell/clickhouse.toml.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell sections alpha.pcap beta.pcap           two captures of the same traffic
  dwell sections in=a.pcap.gz out=b.pcap.zst    with names of their own
  dwell sections in=a1.pcap in=a2.pcap out=b.pcap  several captures of one place
  dwell sections --store /var/lib/dwell         what the probes of a warehouse saw
  dwell sections --store DIR --order a,b,c --by minute
  dwell sections --store http://h1:8123,h2:8123/dwell?cluster=two --follow
  dwell sections --store DIR --follow --prometheus 127.0.0.1:9464  histograms by section and network")]
pub(crate) struct SectionsArgs {
    /// Captures, each of another place, which is named by the file or by what stands before `=`; what is given by one name is of one
    /// place, merged by time
    #[arg(value_name = "[NAME=]FILE", conflicts_with_all = ["store", "follow", "last"], required_unless_present = "store")]
    files: Vec<String>,

    /// A warehouse: a folder, or http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME] of ClickHouse
    #[arg(long, value_name = "DIR|URL")]
    store: Option<String>,

    /// The probes from client to server, as somebody says who knows; no others are asked
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    order: Vec<String>,

    /// Of a warehouse, only the last so many seconds, by this host's clock
    #[arg(long, value_name = "SECONDS", value_parser = last)]
    last: Option<u32>,

    /// Each section also by the network of its end (/24, /48), or by the minute of UTC
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,

    /// Write a line of CSV for each connection and section
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the same columns as Parquet; with --follow too it can be read once this has ended
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Serve histograms by section and network (/24, /48) to Prometheus, at http://ADDRESS/metrics, or write them to a file (*.prom) of
    /// its textfile collector
    #[arg(long, value_name = "ADDRESS|FILE")]
    prometheus: Option<Scraped>,

    /// Go on each second with what is new in the warehouse
    ///
    /// It has no end of its own, also where nothing new comes. SIGINT (Ctrl-C) or SIGTERM, or q in the live view, ends it:
    /// then what still waited for other probes is told too, and the table of all.
    #[arg(long)]
    follow: bool,
}

/// What sections are told apart by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The network of the client for the section next to it, that of the server for all others; 1,000 at most, the rest as `other`
    Prefix,
    /// The minute of UTC, by the probes' clocks; the last 1,440, those before them as `earlier`
    Minute,
}

/// So many seconds back.
fn last(text: &str) -> Result<u32, String> {
    let whole = text.parse().ok().filter(|seconds| *seconds > 0);
    whole.ok_or_else(|| format!("not a whole number of seconds, from 1 to {}", u32::MAX))
}

impl SectionsArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if output.record.is_some() {
            bail!(bad_argument(anyhow!(
                "`dwell sections` keeps no record; the warehouse or the captures are one"
            )));
        }
        let given = Given::of(&self)?;
        let scraped = self.prometheus.as_ref();
        let files = [self.csv.as_deref(), self.parquet.as_deref(), scraped.and_then(Scraped::file)];
        let written = files.into_iter().flatten();
        output.spare(&given.read(), &Vec::from_iter(written))?;
        let mut source = given.open(self.last)?;
        let mut outcome = Outcome::new(!self.order.is_empty(), self.by);
        let open = || Lines::open(output.json, self.csv.as_deref(), self.parquet.as_deref(), scraped);
        let mut lines;
        if self.follow {
            lines = open()?;
            let followed = follow::follow(&mut source, &self.order, &mut outcome, &mut lines, output.json);
            if followed.is_err() {
                // What was told until then can be read.
                let _ = lines.finish();
                return followed;
            }
        } else {
            outcome.be_of(&source.probes(&self.order)?);
            lines = open()?;
            outcome.learn_order(&mut source)?;
            outcome.hear_all(&mut source, &mut lines)?;
        }
        lines.finish()?;
        let remarks = source.remarks(outcome.twice())?;
        let nothing = if outcome.connections() == 0 { source.why_none()? } else { outcome.why_nothing() };
        tell(&outcome, &remarks, &nothing, output)
    }
}

fn tell(outcome: &Outcome, remarks: &[String], nothing: &str, output: &Output) -> Result<()> {
    let account = outcome.account(remarks);
    if output.json {
        eprint!("{account}");
    } else {
        print_text(&format!("{}{account}", outcome.text(coloured())))?;
    }
    if let Some(file) = &output.plot {
        let here = format!("dwell {}: sections", env!("CARGO_PKG_VERSION"));
        let notes = std::iter::once(here).chain(account.lines().map(str::to_owned)).collect();
        Picture { title: outcome.headline(), notes, panels: panels::panels(outcome) }.write(file)?;
    }
    if outcome.measured() == 0 {
        bail!("no section could be measured: {nothing}");
    }
    Ok(())
}
