//! Histograms for Prometheus, by network, of bounded number, behind a very small HTTP server.

use super::Output;
use anyhow::{Context, Result};
use dwell_core::Nanos;
use dwell_core::tcp::{Half, Handshake, MOST_PREFIXES, Prefix, Quality};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashSet;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

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

/// A histogram for each network.
struct Spans {
    known: HashSet<Prefix>,
    family: Family<Network, Histogram, fn() -> Histogram>,
}

impl Spans {
    fn new() -> Self {
        let new: fn() -> Histogram = || Histogram::new(EDGES);
        Self { known: HashSet::new(), family: Family::new_with_constructor(new) }
    }

    fn add(&mut self, probe: &str, address: IpAddr, half: Half) {
        let Some(Nanos(span)) = half.exact() else { return };
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
    server: Spans,
    client: Spans,
    total: Spans,
}

impl Histograms {
    /// Counts, and answers who asks at `address`.
    pub(super) fn serve(address: SocketAddr, probe: &str) -> Result<Self> {
        let listener = TcpListener::bind(address)?;
        let this = Self {
            probe: probe.to_owned(),
            handshakes: Family::default(),
            server: Spans::new(),
            client: Spans::new(),
            total: Spans::new(),
        };
        let mut registry = Registry::with_prefix("dwell");
        registry.register("handshakes", "TCP handshakes by their quality", this.handshakes.clone());
        let mut spans = |name: &str, help: &str, spans: &Spans| {
            registry.register_with_unit(name, help, Unit::Seconds, spans.family.clone());
        };
        spans(
            "server_half",
            "From the probe to the server and back, exact ones, by the server's network",
            &this.server,
        );
        spans(
            "client_half",
            "From the probe to the client and back, exact ones, by the client's network",
            &this.client,
        );
        spans("rtt", "From client to server and back, exact ones, by the server's network", &this.total);
        let answer = move || {
            listener.incoming().flatten().for_each(|stream| {
                // Who asks and goes away is no concern of ours.
                let _ = answer(stream, &registry);
            })
        };
        thread::Builder::new()
            .name("prometheus".to_owned())
            .spawn(answer)
            .context("cannot start a thread")?;
        Ok(this)
    }
}

/// How long somebody may take to ask, or to listen.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_QUESTION: usize = 8 << 10;

fn answer(mut stream: TcpStream, registry: &Registry) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    while !asked.windows(4).any(|four| four == b"\r\n\r\n") && asked.len() < LONGEST_QUESTION {
        let length = stream.read(&mut part)?;
        if length == 0 {
            break;
        }
        asked.extend_from_slice(&part[..length]);
    }
    let mut text = String::new();
    let status = if asked.starts_with(b"GET /metrics ") {
        encode(&mut text, registry).map_err(io::Error::other)?;
        "200 OK"
    } else {
        "404 Not Found"
    };
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {KIND}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

impl Output for Histograms {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let (probe, quality) = (&self.probe, handshake.quality());
        let label = OfQuality { probe: probe.clone(), quality: quality.name() };
        self.handshakes.get_or_create(&label).inc();
        if quality != Quality::Refused {
            let (server, client) = (handshake.server.address, handshake.client.address);
            self.server.add(probe, server, handshake.server_half);
            self.client.add(probe, client, handshake.client_half);
            self.total.add(probe, server, handshake.total);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
