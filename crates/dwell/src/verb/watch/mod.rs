//! `dwell watch`: round-trip times of TCP connections seen in passing, at one place.

mod account;
mod files;
mod given;
mod live;
mod output;
mod panels;
mod row;
mod table;
mod taken;
mod throughout;
mod wire;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::picture::Picture;
use crate::prometheus::Scraped;
use crate::screen::{coloured, print_text};
use account::Account;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use dwell_core::Nanos;
use dwell_core::tcp::continuous::FlowLimits;
use dwell_core::tcp::{Limits, Observed};
use dwell_store::warehouse::{Batch, WarehouseError};
use given::Given;
use output::{ShipArgs, Targets};
use std::path::{Path, PathBuf};
use taken::Figures;

/// Tell the round-trip times of TCP connections that pass here, each half by itself
///
/// Each connection's handshake is split at the place of observation: the server half is from here to the server and
/// back, the client half from here to the client and back, and their sum is the round trip. None is ever halved. A half
/// is exact, or at most what is told, or one of two candidates, or not known; what is not known is empty (null), never 0.
///
/// Nothing is sent. Several interfaces are one place, as the two directions of a tap are. Live, a filter in the kernel passes the segments of handshakes and nothing else (with --continuous
/// all of TCP, and of UDP what is QUIC), and privileges are given back once the interfaces are open (CAP_NET_RAW; CAP_BPF
/// and CAP_PERFMON for the filter). Several captures are one place's, merged by time; `dwell sections` joins those of several places.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell watch eth0                              live, until q or Ctrl-C
  dwell watch eth1 eth2                         live, the two directions of a tap
  dwell watch eth0 --json --probe border-1      one object a line for each connection
  dwell watch monday.pcap.gz tuesday.pcap.zst   captures of one place
  tcpdump -w - | dwell watch -                  what another program captures
  dwell watch eth0 --continuous --every 1       round trips throughout connections too
  dwell watch eth0 --prometheus 127.0.0.1:9464  histograms by network
  dwell watch eth0 --probe border-1 --to dwell://warehouse.example  to where `dwell serve` keeps it")]
pub(crate) struct WatchArgs {
    /// Interfaces, or captures; `-` is standard input
    #[arg(value_name = "IF|FILE", required = true)]
    what: Vec<String>,

    /// Name of the place of observation; without it those of the interfaces, or that of the first capture
    #[arg(long, value_name = "NAME", value_parser = probe)]
    probe: Option<String>,

    /// End after so many seconds; live only
    #[arg(long, value_name = "NUMBER", value_parser = super::local::seconds)]
    seconds: Option<f64>,

    /// Take also packets for others (promiscuous mode); live only
    #[arg(long)]
    promiscuous: bool,

    /// Use the stamps of the NIC, and no others; live only
    #[arg(long)]
    hardware_stamps: bool,

    /// Read with so many cores; live only
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    cores: u16,

    /// Handshakes in progress that are kept at most
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().handshakes as u32, value_parser = clap::value_parser!(u32).range(16..=16_777_216))]
    handshakes: u32,

    /// Tell round trips throughout connections too, by what follows the handshakes, and those of QUIC
    #[arg(long)]
    continuous: bool,

    /// Of each direction the shortest of so many seconds
    #[arg(long, value_name = "NUMBER", default_value_t = 10.0, value_parser = super::local::seconds, requires = "continuous")]
    every: f64,

    /// Write a line of CSV for each connection; with --continuous the round trips beside it, of a.csv to a.round-trips.csv
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write a row of Parquet for each connection; with --continuous the round trips beside it likewise. It can be read once this has
    /// ended, also live
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Serve histograms by network (/24, /48) to Prometheus, at http://ADDRESS/metrics, or write them to a file
    /// (*.prom) of its textfile collector
    #[arg(long, value_name = "ADDRESS|FILE")]
    prometheus: Option<Scraped>,

    /// Send flows by IPFIX, with the network delays of client and server that nProbe has
    #[arg(long, value_name = "HOST:PORT", value_parser = output::collector)]
    ipfix: Option<String>,

    /// Send the same by NetFlow, version 9, from which nfdump reads them
    #[arg(long, value_name = "HOST:PORT", value_parser = output::collector)]
    netflow: Option<String>,

    #[command(flatten)]
    ship: ShipArgs,
}

/// A name that can stand in every output, and in a warehouse.
fn probe(text: &str) -> Result<String, WarehouseError> {
    Batch::check_name(text).map(|()| text.to_owned())
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

/// What came of a run.
struct Told {
    probe: String,
    figures: Figures,
    account: Account,
}

impl WatchArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if output.record.is_some() {
            bail!(bad_argument(anyhow!(
                "`dwell watch` keeps no record; keep the packets (tcpdump -w FILE), and watch them again"
            )));
        }
        self.ship.check()?;
        let given = Given::of(&self.what).map_err(bad_argument)?;
        if let (Given::Files(_), true) = (&given, self.asks_for_live()) {
            let only = "--seconds, --promiscuous, --hardware-stamps and --cores are for interfaces, not for captures";
            bail!(bad_argument(anyhow!(only)));
        }
        let probe = self.probe.clone().unwrap_or_else(|| given.name());
        let targets = Targets {
            probe: probe.clone(),
            json: output.json,
            csv: self.csv.clone(),
            parquet: self.parquet.clone(),
            prometheus: self.prometheus.clone(),
            ipfix: self.ipfix.clone(),
            netflow: self.netflow.clone(),
            ship: self.ship.clone(),
            live: matches!(given, Given::Interfaces(_)),
            continuous: self.continuous,
        };
        let captures = if let Given::Files(files) = &given { &files[..] } else { &[] };
        let written = targets.written().map_err(bad_argument)?;
        output.spare(&paths(captures), &paths(&written))?;
        let (figures, account) = match &given {
            Given::Interfaces(names) => wire::watch(names, &self, &targets)?,
            Given::Files(files) => files::watch(files, self.observed(), &targets)?,
        };
        tell(&Told { probe, figures, account }, output)
    }

    fn observed(&self) -> Observed {
        let observed = Observed::new(Limits { handshakes: self.handshakes as usize, ..Limits::default() });
        if self.continuous {
            observed.throughout(FlowLimits::default(), Nanos((self.every * 1e9) as i64))
        } else {
            observed
        }
    }

    const fn asks_for_live(&self) -> bool {
        self.seconds.is_some() || self.promiscuous || self.hardware_stamps || self.cores != 1
    }
}

fn tell(told: &Told, output: &Output) -> Result<()> {
    let account = table::account(&told.account);
    let summary = &told.figures.handshakes;
    if summary.handshakes() == 0 && told.figures.throughout.rows().next().is_none() {
        bail!("no TCP handshake passed {}: {}", told.probe, account.trim_end().replace('\n', "; "));
    }
    if output.json {
        eprint!("{account}");
    } else {
        print_text(&format!("{}\n{account}", table::text(&told.probe, &told.figures, coloured())))?;
    }
    if let Some(file) = &output.plot {
        let here = format!("dwell {}: watch, {}", env!("CARGO_PKG_VERSION"), told.probe);
        let notes = std::iter::once(here).chain(account.lines().map(str::to_owned)).collect();
        Picture { title: table::headline(summary), notes, panels: panels::panels(&told.figures) }
            .write(file)?;
    }
    Ok(())
}
