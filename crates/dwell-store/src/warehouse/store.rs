//! What a warehouse does, wherever it keeps.

use super::{Batch, Day, Span, WarehouseError};
use dwell_core::tcp::section::Connection;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Keeps the handshakes of several probes and joins them into connections.
pub trait Store: Send {
    /// Keeps a batch, all or nothing. The same batch (probe, epoch, serial) again changes nothing. When it returns,
    /// the batch outlives the process.
    ///
    /// # Errors
    /// Of one that is not kept, or of which that is not known: it is to be sent again.
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError>;

    /// Each connection whose first sight lies in the span, once, with what each of these probes saw of it; a
    /// [`Sight`](dwell_core::tcp::section::Sight) names its probe by the place in this list. In no order that counts;
    /// until `take` breaks off. Only handshakes with both initial sequence numbers can be joined.
    ///
    /// # Errors
    /// When the warehouse cannot be read; what was handed out before that is not all.
    fn connections(
        &mut self,
        probes: &[String],
        span: Span,
        take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<(), WarehouseError>;

    /// What each probe sent, by its name.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn accounts(&mut self) -> Result<BTreeMap<String, Account>, WarehouseError>;

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

/// What a probe sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Batches kept.
    pub batches: u64,
    /// Records kept, each once.
    pub records: u64,
    /// What is missing, by reason: what the probe gave up, and what it sent that cannot be true.
    pub given_up: BTreeMap<String, u64>,
}

impl Account {
    /// Adds what is missing, from the JSON of a batch.
    pub(super) fn give_up(&mut self, json: &str) -> Result<(), serde_json::Error> {
        let missing: BTreeMap<String, u64> = serde_json::from_str(json)?;
        for (reason, count) in missing {
            let sum = self.given_up.entry(reason).or_default();
            *sum = sum.saturating_add(count);
        }
        Ok(())
    }
}
