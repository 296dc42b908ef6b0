//! `dwell generate capture`: connections that pass probes, as files, with the truth of each.

use crate::failure::{bad_argument, cannot_write};
use crate::spare::spare;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use dwell_core::Nanos;
use dwell_sim::passing::{CaptureFile, CaptureFormat, CaptureLink, Population, Told};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A capture of TCP connections, real in all that goes wrong with them, and what is true of each
#[derive(Args)]
pub(super) struct CaptureArgs {
    /// Connections
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    connections: u32,
    /// Of everything that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Places on the way from client to server, a file for each: OUT-1.pcap is the nearest to the clients
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    probes: u8,
    /// Mean of the segments in a server's answer
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    data: u32,
    /// SYNs that nobody answers, spread among the connections
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    flood: u32,
    /// Connections that begin in a second
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Kind of link
    #[arg(long, value_enum, default_value_t = Link::Ethernet)]
    link: Link,
    /// Bytes kept of each packet
    #[arg(long, default_value_t = 160, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    snap: u32,
    /// Beyond so many of these places clients bear the addresses of a NAT
    #[arg(long, value_name = "PLACES", value_parser = clap::value_parser!(u8).range(1..=15))]
    nat: Option<u8>,
    /// No tunnels, tags and fragments
    #[arg(long)]
    bare: bool,
    /// Times to the microsecond instead of the nanosecond
    #[arg(long)]
    microseconds: bool,
    /// The capture: pcapng by that ending, otherwise pcap
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// What is true, as JSON lines: each connection at each probe
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

#[derive(Copy, Clone, ValueEnum)]
enum Link {
    Ethernet,
    Raw,
    Cooked,
    Cooked2,
    Loopback,
}

fn create(file: &Path) -> Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(file).with_context(|| format!("cannot create {}", file.display()))?))
}

impl CaptureArgs {
    pub(super) fn run(self) -> Result<()> {
        if let Some(nat) = self.nat.filter(|nat| *nat >= self.probes) {
            let places = self.probes;
            bail!(bad_argument(anyhow!("--nat {nat}: no place is beyond {nat} of {places}: see --probes")));
        }
        let population = Population {
            connections: self.connections,
            probes: self.probes.into(),
            seed: self.seed,
            data: self.data,
            flood: self.flood,
            rate: self.rate,
            resolution: Nanos(if self.microseconds { 1_000 } else { 1 }),
            nat: self.nat.map(usize::from),
            ..Population::default()
        };
        let places = (1..=self.probes).map(|probe| self.file_of(probe)).collect::<Result<Vec<_>>>()?;
        let written: Vec<&Path> = places.iter().chain(&self.truth).map(PathBuf::as_path).collect();
        spare(&[], &written)?;
        let mut files = places
            .iter()
            .map(|place| Ok(CaptureFile::new(create(place)?, self.format())?))
            .collect::<Result<Vec<_>>>()?;
        let mut truths = self.truth.as_deref().map(|file| create(file).map(|out| (file, out))).transpose()?;
        for told in population.passings() {
            match told {
                Told::Passed(passed) => {
                    let written = files[passed.probe].write(&passed);
                    written.with_context(|| cannot_write(&places[passed.probe]))?;
                }
                Told::Truth(truth) => {
                    if let Some((file, truths)) = &mut truths {
                        let line = serde_json::to_string(&truth)? + "\n";
                        truths.write_all(line.as_bytes()).with_context(|| cannot_write(file))?;
                    }
                }
            }
        }
        for (file, place) in files.into_iter().zip(&places) {
            file.finish().with_context(|| cannot_write(place))?;
        }
        truths.map_or(Ok(()), |(file, mut truths)| truths.flush().with_context(|| cannot_write(file)))
    }

    fn format(&self) -> CaptureFormat {
        CaptureFormat {
            next_generation: self.out.extension().is_some_and(|ending| ending == "pcapng"),
            nanoseconds: !self.microseconds,
            big_endian: false,
            link: match self.link {
                Link::Ethernet => CaptureLink::Ethernet,
                Link::Raw => CaptureLink::Raw,
                Link::Cooked => CaptureLink::Cooked,
                Link::Cooked2 => CaptureLink::Cooked2,
                Link::Loopback => CaptureLink::Loopback,
            },
            snap: self.snap as usize,
            bare: self.bare,
        }
    }

    /// Where what a probe sees goes.
    fn file_of(&self, probe: u8) -> Result<PathBuf> {
        if self.probes == 1 {
            return Ok(self.out.clone());
        }
        let (Some(stem), Some(ending)) = (self.out.file_stem(), self.out.extension()) else {
            bail!("--out {} has no ending, before which the number of the probe goes", self.out.display());
        };
        let name = format!("{}-{probe}.{}", stem.to_string_lossy(), ending.to_string_lossy());
        Ok(self.out.with_file_name(name))
    }
}
