//! Sections as histograms for Prometheus.

use crate::prometheus::{Label, Scraped, Shown, Spans};
use anyhow::Result;
use dwell_core::Nanos;
use dwell_core::tcp::section::Way;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::registry::Registry;
use std::net::IpAddr;

/// Which section a round trip is of, which way its connection runs, and which network its end, as with `--by prefix`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stretch {
    from: Label,
    to: Label,
    way: Label,
    network: String,
}

/// A histogram for each section and network, of bounded number.
pub(super) struct Histograms {
    spans: Spans<Stretch>,
    shown: Shown,
}

impl Histograms {
    pub(super) fn open(scraped: &Scraped) -> Result<Self> {
        let mut registry = Registry::with_prefix("dwell");
        let help = "From one end of a section to the other and back, measured ones, by the network of the client for the section next to \
                    it, and of the server for all others";
        let spans = Spans::registered(&mut registry, "section_rtt", help);
        Ok(Self { spans, shown: scraped.open(registry)? })
    }

    /// One more of the section between these two. Of a sum nothing is taken away: two clocks' mistakes, which make a short one negative,
    /// count as nothing.
    pub(super) fn add(&mut self, [from, to]: [&str; 2], way: Way, network: IpAddr, time: Nanos) {
        let of = |network| Stretch { from: from.into(), to: to.into(), way: way.name().into(), network };
        self.spans.add(network, time.max(Nanos::ZERO), of);
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.shown.flush()
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.shown.finish()
    }
}
