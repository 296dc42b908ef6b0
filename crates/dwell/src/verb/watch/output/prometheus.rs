//! What is watched, as histograms for Prometheus.

use super::super::throughout::Figure;
use super::Output;
use crate::prometheus::{Label, Scraped, Shown, Spans};
use anyhow::Result;
use dwell_core::Nanos;
use dwell_core::tcp::continuous::RoundTrips;
use dwell_core::tcp::{Handshake, Quality};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::net::IpAddr;

/// Which network a span is of; `other` beyond those that there is room for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Network {
    probe: Label,
    network: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuality {
    probe: Label,
    quality: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AtProbe {
    probe: Label,
}

/// What is counted.
pub(super) struct Histograms {
    probe: Label,
    handshakes: Family<OfQuality, Counter>,
    dropped: Family<AtProbe, Counter>,
    server: Spans<Network>,
    client: Spans<Network>,
    total: Spans<Network>,
    /// By their figures; none where they are not asked for.
    throughout: Vec<Spans<Network>>,
    shown: Shown,
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
        dropped.get_or_create(&AtProbe { probe: probe.into() }).inc_by(0);
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
        let shown = scraped.open(registry)?;
        Ok(Self { probe: probe.into(), handshakes, dropped, server, client, total, throughout, shown })
    }
}

/// One more of a probe, if it is known.
fn add(spans: &mut Spans<Network>, probe: &Label, address: IpAddr, span: Option<Nanos>) {
    if let Some(span) = span {
        spans.add(address, span, |network| Network { probe: probe.clone(), network });
    }
}

impl Output for Histograms {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        let _one = self.shown.together();
        let (probe, quality) = (&self.probe, handshake.quality());
        let label = OfQuality { probe: probe.clone(), quality: quality.name() };
        self.handshakes.get_or_create(&label).inc();
        if quality != Quality::Refused {
            let (server, client) = (handshake.server.address, handshake.client.address);
            add(&mut self.server, probe, server, handshake.server_half.exact());
            add(&mut self.client, probe, client, handshake.client_half.exact());
            add(&mut self.total, probe, server, handshake.total.exact());
        }
        Ok(())
    }

    fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        if let Some((figure, least)) = Figure::of(told)
            && let Some(spans) = self.throughout.get_mut(figure as usize)
        {
            add(spans, &self.probe, told.to.address, Some(least));
        }
        Ok(())
    }

    fn dropped(&mut self, packets: u64) -> Result<()> {
        self.dropped.get_or_create(&AtProbe { probe: self.probe.clone() }).inc_by(packets);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.shown.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::tcp::continuous::{By, End};
    use dwell_core::tcp::{Ending, Endpoint, Flags, Half, MOST_PREFIXES};
    use std::io::{Read as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::thread;

    /// Whoever asks while something is counted gets all of it or nothing.
    #[test]
    fn a_page_is_of_one_moment() {
        let port = TcpListener::bind("127.0.0.1:0").expect("a socket").local_addr().expect("bound");
        let mut histograms = Histograms::open(&Scraped::At(port), "p", false).expect("opened");
        let end = |host: u32| Endpoint { address: Ipv4Addr::from_bits(host).into(), port: 443 };
        let counted = Half::Exact(Nanos(1_000));
        let told = Handshake {
            client: end(1),
            server: end(2),
            isn_client: 0,
            isn_server: Some(0),
            first_at: Nanos(0),
            syn_at: Some(Nanos(0)),
            server_half: counted,
            client_half: counted,
            total: counted,
            ending: Ending::Established,
            syns: 1,
            syn_acks: 1,
            flags: Flags::default(),
        };
        let figure = |page: &str, name: &str| {
            let line = page.lines().find(|line| line.starts_with(name))?;
            line.rsplit(' ').next()?.parse::<u64>().ok()
        };
        let asker = thread::spawn(move || {
            for _ in 0..200 {
                let mut page = String::new();
                let mut stream = TcpStream::connect(port).expect("it listens");
                stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("asked");
                stream.read_to_string(&mut page).expect("answered");
                let all = figure(&page, "dwell_handshakes_total");
                for name in ["server_half", "client_half", "rtt"] {
                    assert_eq!(figure(&page, &format!("dwell_{name}_seconds_count")), all, "{page}");
                }
            }
        });
        while !asker.is_finished() {
            histograms.take(&told).expect("counted");
        }
        asker.join().expect("pages of one moment");
    }

    #[test]
    fn networks_without_end_are_a_bounded_number_of_series() {
        let folder = tempfile::tempdir().expect("a folder");
        let scraped = Scraped::In(folder.path().join("a.prom"));
        let mut histograms = Box::new(Histograms::open(&scraped, "p", true).expect("opened"));
        let end = |network: u32| Endpoint { address: Ipv4Addr::from_bits(network << 8).into(), port: 443 };
        for network in 0..3_000 {
            let told = RoundTrips {
                from: Nanos(0),
                until: Nanos(1),
                to: end(network),
                end: Some(End::Server),
                other: end(0),
                by: By::Acknowledgment,
                least: Half::Exact(Nanos(1_000)),
                mean: Nanos(1_000),
                samples: 1,
            };
            histograms.round_trips(&told).expect("taken");
        }
        histograms.finish().expect("written");
        let page = std::fs::read_to_string(folder.path().join("a.prom")).expect("a page");
        let counts =
            || page.lines().filter(|line| line.starts_with("dwell_throughout_server_half_seconds_count"));
        assert_eq!(counts().count(), MOST_PREFIXES + 1);
        let others = counts().find(|line| line.contains("network=\"other\"")).expect("others");
        assert!(others.ends_with(&format!(" {}", 3_000 - MOST_PREFIXES)), "{others}");
    }
}
