//! What a warehouse does, wherever it keeps.

use super::{Batch, Day, Minute, Span, WarehouseError};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Probes' clocks may differ by so much, and a connection is still whole at the edge of a span.
pub const SLACK: Nanos = Nanos::from_secs(600);

/// Keeps the handshakes of several probes and joins them into connections.
pub trait Store: Send {
    /// Keeps a batch, all or nothing. The same batch again changes nothing; another one of the same number (probe, epoch, serial)
    /// is kept beside it. When it returns, the batch outlives the process.
    ///
    /// # Errors
    /// Of one that is not kept, or of which that is not known: it is to be sent again.
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError>;

    /// Each connection whose first sight lies in the span, once, with what each of these probes saw of it; a
    /// [`Sight`](dwell_core::tcp::section::Sight) names its probe by the place in this list. It is whole at the edges of the span if
    /// the probes' clocks differ by less than `slack`, as far beyond which is read. In no order that counts;
    /// until `take` breaks off. Only handshakes with both initial sequence numbers can be joined. Returns how many records of
    /// the connections it left out, because the same probe has another one that began earlier: two places ship under its name,
    /// or it began anew meanwhile.
    ///
    /// # Errors
    /// When the warehouse cannot be read; what was handed out before that is not all.
    fn connections(
        &mut self,
        probes: &[String],
        span: Span,
        slack: Nanos,
        take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<u64, WarehouseError>;

    /// How many handshakes of these probes that begin in the span are joined with nothing, because the server's number is not
    /// known. It looks at all records near the span.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn lone(&mut self, probes: &[String], span: Span) -> Result<u64, WarehouseError>;

    /// Which probes have sent something that may belong to a span, by the day under which it is kept. It looks at no record, and at
    /// no more batches than it must.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn senders(&mut self, span: Span) -> Result<BTreeMap<Day, BTreeSet<String>>, WarehouseError>;

    /// The same, of all these days together.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn probes(&mut self, span: Span) -> Result<BTreeSet<String>, WarehouseError> {
        Ok(self.senders(span)?.into_values().flatten().collect())
    }

    /// When the newest record of each probe begins, by its name and its own clock, of those that came last under each day which may
    /// belong to a span: little is looked at, whatever is kept. A probe may be missing that sent little beside the others.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn newest(&mut self, span: Span) -> Result<BTreeMap<String, Nanos>, WarehouseError>;

    /// What each probe told of what it sent, by its name, in batches that may belong to a span. It looks at all of these.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn accounts(&mut self, span: Span) -> Result<BTreeMap<String, Account>, WarehouseError>;

    /// How many records are kept of each probe, each counted once. It looks at all of them.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn records(&mut self) -> Result<BTreeMap<String, u64>, WarehouseError>;

    /// The days under which batches are kept, the earliest first.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn days(&mut self) -> Result<Vec<Day>, WarehouseError>;

    /// Forgets a day, with all that is kept under it.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn drop_day(&mut self, day: Day) -> Result<(), WarehouseError>;
}

/// What a probe told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Batches kept.
    pub batches: u64,
    /// Of those, how many bear the number of another that is kept under the same day: the probe's host was set back to a snapshot of
    /// it, and counted on from there.
    pub renumbered: u64,
    /// What is missing, by reason: what the probe gave up, and what it sent that cannot be true.
    pub given_up: BTreeMap<String, u64>,
    /// Packets that the kernel dropped before the probe saw them, by the minute, by the probe's clock.
    pub dropped: BTreeMap<Minute, u64>,
}

impl Account {
    /// Adds a batch, of which this is missing.
    pub(super) fn add(&mut self, given_up: &str, dropped: &str) -> Result<(), serde_json::Error> {
        self.batches += 1;
        add(&mut self.given_up, serde_json::from_str::<BTreeMap<_, _>>(given_up)?);
        let dropped: BTreeMap<Minute, u64> = serde_json::from_str(dropped)?;
        add(&mut self.dropped, dropped.into_iter().filter(|(_, packets)| *packets > 0));
        Ok(())
    }
}

/// Adds counts to counts.
fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, counts: impl IntoIterator<Item = (K, u64)>) {
    for (of, count) in counts {
        let sum = sums.entry(of).or_default();
        *sum = sum.saturating_add(count);
    }
}
