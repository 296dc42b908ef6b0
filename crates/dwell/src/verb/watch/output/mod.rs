//! Where finished handshakes go, one after another.

mod csv;
mod flows;
mod json;
mod parquet;
mod prometheus;
mod ship;

use anyhow::{Context, Result};
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use flows::Protocol;
pub(super) use ship::ShipArgs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Something that takes handshakes.
trait Output {
    /// One more.
    fn take(&mut self, handshake: &Handshake) -> Result<()>;

    /// Those of one interval. Where a record is a handshake, they have no place.
    fn round_trips(&mut self, _told: &RoundTrips) -> Result<()> {
        Ok(())
    }

    /// The kernel dropped so many packets since this was told last. Where a record is a handshake, they have no place.
    fn dropped(&mut self, _packets: u64) -> Result<()> {
        Ok(())
    }

    /// What is held back goes out, as time passes.
    fn flush(&mut self) -> Result<()>;

    /// There are no more.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What was asked for.
pub(super) struct Targets {
    pub(super) probe: String,
    pub(super) json: bool,
    pub(super) csv: Option<PathBuf>,
    pub(super) parquet: Option<PathBuf>,
    pub(super) prometheus: Option<SocketAddr>,
    pub(super) ipfix: Option<String>,
    pub(super) netflow: Option<String>,
    pub(super) ship: ShipArgs,
    /// Whether they come from an interface, which waits for nobody.
    pub(super) live: bool,
}

/// All outputs that were asked for.
pub(super) struct Outputs(Vec<Box<dyn Output>>);

impl Outputs {
    pub(super) fn open(targets: &Targets) -> Result<Self> {
        let probe = targets.probe.as_str();
        let mut all: Vec<Box<dyn Output>> = Vec::new();
        if targets.json {
            all.push(Box::new(json::Lines::new(probe)));
        }
        if let Some(file) = &targets.csv {
            let opened = csv::Table::create(file, probe);
            all.push(Box::new(opened.with_context(|| format!("cannot write {}", file.display()))?));
        }
        if let Some(file) = &targets.parquet {
            let opened = parquet::Columns::create(file, probe);
            all.push(Box::new(opened.with_context(|| format!("cannot write {}", file.display()))?));
        }
        if let Some(address) = targets.prometheus {
            let opened = prometheus::Histograms::serve(address, probe);
            all.push(Box::new(opened.with_context(|| format!("cannot serve at {address}"))?));
        }
        for (protocol, to) in [(Protocol::Ipfix, &targets.ipfix), (Protocol::Netflow, &targets.netflow)] {
            if let Some(to) = to {
                let opened = flows::Exporter::to(to, protocol, probe);
                all.push(Box::new(opened.with_context(|| format!("cannot send flows to {to}"))?));
            }
        }
        if let Some(opened) = targets.ship.open(probe, targets.live, targets.json)? {
            all.push(Box::new(opened));
        }
        Ok(Self(all))
    }

    pub(super) fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.0.iter_mut().try_for_each(|output| output.take(handshake))
    }

    pub(super) fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        self.0.iter_mut().try_for_each(|output| output.round_trips(told))
    }

    pub(super) fn dropped(&mut self, packets: u64) -> Result<()> {
        self.0.iter_mut().try_for_each(|output| output.dropped(packets))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|output| output.flush())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.0.into_iter().try_for_each(Output::finish)
    }
}
