//! Where what is found goes, one after another.

mod csv;
mod flows;
mod json;
mod parquet;
mod places;
mod prometheus;
mod ship;

use crate::prometheus::Scraped;
use anyhow::Result;
use dwell_core::tcp::Handshake;
use dwell_core::tcp::continuous::RoundTrips;
use flows::Protocol;
pub(super) use flows::collector;
use places::beside;
pub(super) use ship::ShipArgs;
use std::path::PathBuf;

/// Something that takes what is found, and says what it cannot where it fails.
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

    /// Whether nobody reads it any more.
    fn is_unread(&self) -> bool {
        false
    }

    /// There are no more.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What was asked for.
pub(super) struct Targets {
    pub(super) probe: String,
    pub(super) json: bool,
    pub(super) csv: Option<PathBuf>,
    pub(super) parquet: Option<PathBuf>,
    pub(super) prometheus: Option<Scraped>,
    pub(super) ipfix: Option<String>,
    pub(super) netflow: Option<String>,
    pub(super) ship: ShipArgs,
    /// Whether they come from an interface, which waits for nobody.
    pub(super) live: bool,
    /// Whether round trips throughout connections come too.
    pub(super) continuous: bool,
}

/// All outputs that were asked for.
pub(super) struct Outputs(Vec<Box<dyn Output>>);

impl Outputs {
    pub(super) fn open(targets: &Targets) -> Result<Self> {
        let (probe, continuous) = (targets.probe.as_str(), targets.continuous);
        let mut all: Vec<Box<dyn Output>> = Vec::new();
        if targets.json {
            all.push(Box::new(json::Lines::new(probe)));
        }
        if let Some(file) = &targets.csv {
            all.push(Box::new(csv::Tables::create(file, probe, continuous)?));
        }
        if let Some(file) = &targets.parquet {
            all.push(Box::new(parquet::Files::create(file, probe, continuous)?));
        }
        if let Some(scraped) = &targets.prometheus {
            all.push(Box::new(prometheus::Histograms::open(scraped, probe, continuous)?));
        }
        for (protocol, to) in [(Protocol::Ipfix, &targets.ipfix), (Protocol::Netflow, &targets.netflow)] {
            if let Some(to) = to {
                all.push(Box::new(flows::Exporter::to(to, protocol, probe, targets.live)?));
            }
        }
        if let Some(opened) = targets.ship.open(probe, targets.live, targets.json)? {
            all.push(Box::new(opened));
        }
        Ok(Self(all))
    }

    fn each(&mut self, give: impl Fn(&mut dyn Output) -> Result<()>) -> Result<()> {
        self.0.iter_mut().try_for_each(|output| give(&mut **output))
    }

    pub(super) fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.each(|output| output.take(handshake))
    }

    pub(super) fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        self.each(|output| output.round_trips(told))
    }

    pub(super) fn dropped(&mut self, packets: u64) -> Result<()> {
        self.each(|output| output.dropped(packets))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.each(|output| output.flush())
    }

    /// Whether there are some, and nobody reads any of them any more.
    pub(super) fn are_unread(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|output| output.is_unread())
    }

    /// Brings all to their ends, also where one fails.
    pub(super) fn finish(self) -> Result<()> {
        self.0.into_iter().map(|output| output.finish()).fold(Ok(()), Result::and)
    }
}
