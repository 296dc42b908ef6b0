//! Histograms of round trips for Prometheus, by network, of bounded number: as a page, or in a file.

mod file;
mod label;
mod page;

pub(crate) use label::Label;

use crate::networks::{Networks, OTHER};
use anyhow::{Context, Result};
use dwell_core::Nanos;
use file::Page;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::fmt::Debug;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where Prometheus finds them.
#[derive(Clone, Debug)]
pub(crate) enum Scraped {
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

impl Scraped {
    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::In(file) => Some(file),
            Self::At(_) => None,
        }
    }

    /// Begins to show what is registered.
    pub(crate) fn open(&self, registry: Registry) -> Result<Shown> {
        let counting = Counting::default();
        let page = match self {
            Self::At(address) => page::serve(*address, registry, counting.clone())
                .map(|()| None)
                .with_context(|| format!("cannot serve at {address}")),
            Self::In(file) => Page::create(file, registry).map(Some),
        };
        Ok(Shown { page: page?, counting })
    }
}

/// Taken while something is counted, and while a page is made of what was.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<()>>);

impl Counting {
    fn take(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is shown of a registry: a page at any time, a file every few seconds.
pub(crate) struct Shown {
    page: Option<Page>,
    counting: Counting,
}

impl Shown {
    /// What is counted until this is dropped is on each page together, or not at all.
    pub(crate) fn together(&self) -> impl Drop + '_ {
        self.counting.take()
    }

    /// Writes the file, where there is one and it is time to.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.page.as_mut().map_or(Ok(()), Page::write_in_time)
    }

    /// Writes it a last time.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.page.as_mut().map_or(Ok(()), Page::write)
    }
}

/// Upper edges of the buckets, in seconds.
const EDGES: [f64; 18] = [
    5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0,
];

/// A histogram for each of [`Networks`], and one for all others.
pub(crate) struct Spans<L> {
    networks: Networks,
    family: Family<L, Histogram, fn() -> Histogram>,
}

impl<L: Clone + Debug + Eq + Hash + EncodeLabelSet + Send + Sync + 'static> Spans<L> {
    pub(crate) fn registered(registry: &mut Registry, name: &str, help: &str) -> Self {
        let new: fn() -> Histogram = || Histogram::new(EDGES);
        let this = Self { networks: Networks::default(), family: Family::new_with_constructor(new) };
        registry.register_with_unit(name, help, Unit::Seconds, this.family.clone());
        this
    }

    /// One more, by the labels that `of` makes of the network's name.
    pub(crate) fn add(&mut self, address: IpAddr, span: Nanos, of: impl FnOnce(String) -> L) {
        let network = self.networks.of(address).map_or_else(|| OTHER.to_owned(), |one| one.to_string());
        self.family.get_or_create(&of(network)).observe(span.as_secs_f64());
    }
}
