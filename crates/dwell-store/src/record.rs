use dwell_core::echo::Echo;
use dwell_core::fsd::Pair;
use dwell_core::hop::Sighting;
use dwell_core::inside::{Event, Watch, Watched};
use dwell_core::throughput::Transfer;
use dwell_core::throughput::udpst::capacity::Tested;
use dwell_core::truth::LinkUse;
use dwell_core::{Circumstances, Effort, Nanos, Passage, PathFacts, Report, Vantage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The format that this version writes, and the latest that it reads.
pub const FORMAT: u32 = 3;

/// What was asked of a run: with the passages, all that its analysis needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The command's verb.
    pub verb: String,
    /// The host or the scenario, as it was given.
    pub target: String,
    /// The method, where the verb has a choice.
    #[serde(default)]
    pub method: Option<String>,
    /// Which of the receiver's stamps it was to read.
    #[serde(default)]
    pub stamps: Vantage,
    /// Seed of everything random in the run.
    pub seed: u64,
    /// Other settings, by the names of the command's options.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
}

/// First line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The record's format; the key tells a record from any other JSON.
    pub dwell_record: u32,
    /// Version of Dwell that wrote it.
    pub dwell: String,
    /// When the run began, RFC 3339 in UTC.
    pub when: String,
    /// What was asked.
    pub ask: Ask,
    /// What was known of the path beforehand.
    pub facts: Option<PathFacts>,
    /// Under which circumstances.
    pub circumstances: Circumstances,
}

impl Header {
    /// The header of a run that begins now.
    #[must_use]
    pub fn now(ask: Ask, facts: Option<PathFacts>, circumstances: Circumstances) -> Self {
        let when = OffsetDateTime::now_utc();
        let when = when.replace_nanosecond(0).unwrap_or(when).format(&Rfc3339).unwrap_or_default();
        let dwell = env!("CARGO_PKG_VERSION").to_owned();
        Self { dwell_record: FORMAT, dwell, when, ask, facts, circumstances }
    }
}

/// A passage, and the measurement of the run that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Name of the measurement: a run may make several, one after another.
    pub stage: String,
    /// What became of the train.
    pub passage: Passage,
}

/// What one measurement of the run found, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Name of the measurement.
    pub stage: String,
    /// Its report.
    pub report: Report,
    /// Its cost.
    pub effort: Effort,
    /// What the links carried meanwhile, where they have counters: over which time, and link by link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<(Nanos, Vec<LinkUse>)>,
}

/// The lines after the header.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// One train.
    Passage(Kept),
    /// One echo.
    Echo(Echo),
    /// A pair of probes that met a router.
    Pair(Pair),
    /// A run of TCP connections.
    Transfer(Box<Transfer>),
    /// A volley of packets that were to expire hop by hop.
    Volley(Sighting),
    /// A test of RFC 9097.
    Tested(Box<Tested>),
    /// All findings.
    Found(Vec<Found>),
    /// What was known before watching.
    Watch(Box<Watch>),
    /// What was seen while watching.
    Event(Event),
    /// What was known after watching.
    Watched(Box<Watched>),
    /// Nothing follows.
    End(End),
}

/// Last line of a whole record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    /// Passages, echoes, pairs, transfers and volleys in the record.
    pub(crate) passages: u64,
    /// Events in the record.
    #[serde(default)]
    pub(crate) events: u64,
    /// SHA-256 of every byte before this line, in hexadecimal.
    pub(crate) sha256: String,
}

/// A run: what was asked, what was seen, what was found, under which circumstances.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was asked, when, where.
    pub header: Header,
    /// Everything that was seen, in the order of the run.
    pub passages: Vec<Kept>,
    /// The echoes of a run that was about those.
    pub echoes: Vec<Echo>,
    /// The pairs of a run that was about a router.
    pub pairs: Vec<Pair>,
    /// The runs of TCP connections, the last being the one that was to be measured.
    pub transfers: Vec<Transfer>,
    /// The volleys of a run that looked at the hops of a path.
    pub volleys: Vec<Sighting>,
    /// The tests of RFC 9097.
    pub tests: Vec<Tested>,
    /// What was found; empty where the record is cut short.
    pub found: Vec<Found>,
    /// What was known of a run of watching before it started; `None`: the run probed.
    pub watch: Option<Watch>,
    /// What it saw, in the order of telling.
    pub events: Vec<Event>,
    /// What was known of it in the end; `None` where the record is cut short.
    pub watched: Option<Watched>,
    /// Whether the run ended and nothing was lost since.
    pub whole: bool,
}

impl Record {
    /// How many passages, echoes, pairs, volleys and events there are.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.probed() + self.events.len()
    }

    /// The same without events, as the closing line counts them.
    pub(crate) fn probed(&self) -> usize {
        let looked = self.pairs.len() + self.volleys.len();
        let runs = self.transfers.len() + self.tests.len();
        self.passages.len() + self.echoes.len() + looked + runs
    }

    /// What the whole run cost.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.found.iter().fold(Effort::default(), |sum, found| sum.plus(found.effort))
    }
}
