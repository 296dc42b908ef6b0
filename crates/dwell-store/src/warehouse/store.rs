//! What a warehouse does, wherever it keeps.

use super::{Batch, Day, Span, WarehouseError};
use dwell_core::tcp::{ConnectionKey, Handshake};
use std::collections::BTreeMap;

/// Keeps the handshakes of several probes and joins them into connections.
pub trait Store: Send {
    /// Keeps a batch, all or nothing. The same batch (probe, epoch, serial) again changes nothing. When it returns,
    /// the batch outlives the process.
    ///
    /// # Errors
    /// Of one that is not kept, or of which that is not known: it is to be sent again.
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError>;

    /// Each connection whose first sight lies in the span, once, with what each probe saw of it. In no order that
    /// counts. Only handshakes with both initial sequence numbers can be joined.
    ///
    /// # Errors
    /// When the warehouse cannot be read; what was handed out before that is not all.
    fn connections(&mut self, span: Span, take: &mut dyn FnMut(Joined)) -> Result<(), WarehouseError>;

    /// What each probe sent, by its name.
    ///
    /// # Errors
    /// When the warehouse cannot be read.
    fn accounts(&mut self) -> Result<BTreeMap<String, Account>, WarehouseError>;

    /// The days under which batches are kept.
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

/// One connection, wherever it was seen under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// What names it.
    pub key: ConnectionKey,
    /// What was seen of it; no probe twice.
    pub seen: Vec<Seen>,
}

/// What one probe saw of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Name of the probe.
    pub probe: String,
    /// Its record.
    pub handshake: Handshake,
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
