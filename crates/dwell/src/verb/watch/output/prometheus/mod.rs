//! Histograms for Prometheus, by network, of bounded number: as a page, or in a file.

mod file;
mod page;

use super::super::throughout::Figure;
use super::Output;
use anyhow::Result;
use dwell_core::Nanos;
use dwell_core::tcp::continuous::RoundTrips;
use dwell_core::tcp::{Handshake, MOST_PREFIXES, Prefix, Quality};
use file::Page;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where Prometheus finds them.
#[derive(Clone, Debug)]
pub(in crate::verb::watch) enum Scraped {
    At(SocketAddr),
    In(PathBuf),
}

impl FromStr for Scraped {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self::At(address));
        }
        let file = PathBuf::from(text);
        let is_read = file.extension().is_some_and(|ending| ending == "prom");
        is_read.then_some(Self::In(file)).ok_or(
            "neither an address with a port, as 127.0.0.1:9464, nor a file whose name ends in .prom: the textfile \
             collector reads no others",
        )
    }
}

/// Upper edges of the buckets, in seconds.
const EDGES: [f64; 18] = [
    5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
];

/// Which network a span is of; `other` beyond the first [`MOST_PREFIXES`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Network {
    probe: String,
    network: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuality {
    probe: String,
    quality: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AtProbe {
    probe: String,
}

/// A histogram for each network.
struct Spans {
    known: HashSet<Prefix>,
    family: Family<Network, Histogram, fn() -> Histogram>,
}

impl Spans {
    fn registered(registry: &mut Registry, name: &str, help: &str) -> Self {
        let new: fn() -> Histogram = || Histogram::new(EDGES);
        let this = Self { known: HashSet::new(), family: Family::new_with_constructor(new) };
        registry.register_with_unit(name, help, Unit::Seconds, this.family.clone());
        this
    }

    fn add(&mut self, probe: &str, address: IpAddr, span: Option<Nanos>) {
        let Some(Nanos(span)) = span else { return };
        let prefix = Prefix::of(address);
        let room = self.known.len() < MOST_PREFIXES;
        if room {
            self.known.insert(prefix);
        }
        let known = room || self.known.contains(&prefix);
        let network = if known { prefix.to_string() } else { "other".to_owned() };
        let label = Network { probe: probe.to_owned(), network };
        self.family.get_or_create(&label).observe(span as f64 / 1e9);
    }
}

/// What is counted.
pub(super) struct Histograms {
    probe: String,
    handshakes: Family<OfQuality, Counter>,
    dropped: Family<AtProbe, Counter>,
    server: Spans,
    client: Spans,
    total: Spans,
    /// By their figures; none where they are not asked for.
    throughout: Vec<Spans>,
    file: Option<Page>,
}

/// Throughout connections, by the network of the end.
const fn described(figure: Figure) -> [&'static str; 2] {
    match figure {
        Figure::ServerHalf => [
            "throughout_server_half",
            "From the probe to the server and back throughout connections, the shortest of each interval",
        ],
        Figure::ClientHalf => [
            "throughout_client_half",
            "From the probe to the client and back throughout connections, the shortest of each interval",
        ],
        Figure::UnnamedHalf => [
            "throughout_unnamed_half",
            "From the probe to an end of a connection that was there before, and back, the shortest of each interval",
        ],
        Figure::Response => [
            "throughout_response",
            "From a request at the probe to the reply, the program's time too, the shortest of each interval",
        ],
    }
}

impl Histograms {
    pub(super) fn open(scraped: &Scraped, probe: &str, continuous: bool) -> Result<Self> {
        let mut registry = Registry::with_prefix("dwell");
        let handshakes = Family::<OfQuality, Counter>::default();
        let dropped = Family::<AtProbe, Counter>::default();
        registry.register("handshakes", "TCP handshakes by their quality", handshakes.clone());
        registry.register("packets_dropped", "Packets that the kernel dropped before Dwell", dropped.clone());
        // Said also while there are none.
        dropped.get_or_create(&AtProbe { probe: probe.to_owned() }).inc_by(0);
        let server = Spans::registered(
            &mut registry,
            "server_half",
            "From the probe to the server and back, exact ones, by the server's network",
        );
        let client = Spans::registered(
            &mut registry,
            "client_half",
            "From the probe to the client and back, exact ones, by the client's network",
        );
        let total = Spans::registered(
            &mut registry,
            "rtt",
            "From client to server and back, exact ones, by the server's network",
        );
        let figures = Figure::ALL.into_iter().filter(|_| continuous).map(described);
        let throughout = figures.map(|[name, help]| Spans::registered(&mut registry, name, help)).collect();
        let file = match scraped {
            Scraped::At(address) => page::serve(*address, registry).map(|()| None)?,
            Scraped::In(file) => Some(Page::create(file, registry)?),
        };
        Ok(Self { probe: probe.to_owned(), handshakes, dropped, server, client, total, throughout, file })
    }
}

impl Output for Histograms {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let (probe, quality) = (&self.probe, handshake.quality());
        let label = OfQuality { probe: probe.clone(), quality: quality.name() };
        self.handshakes.get_or_create(&label).inc();
        if quality != Quality::Refused {
            let (server, client) = (handshake.server.address, handshake.client.address);
            self.server.add(probe, server, handshake.server_half.exact());
            self.client.add(probe, client, handshake.client_half.exact());
            self.total.add(probe, server, handshake.total.exact());
        }
        Ok(())
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        if let Some((figure, least)) = Figure::of(told)
            && let Some(spans) = self.throughout.get_mut(figure as usize)
        {
            spans.add(&self.probe, told.to.address, Some(least));
        }
        Ok(())
    }

    fn dropped(&mut self, packets: u64) -> Result<()> {
        self.dropped.get_or_create(&AtProbe { probe: self.probe.clone() }).inc_by(packets);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), Page::write_in_time)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), Page::write)
    }
}
