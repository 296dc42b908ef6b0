//! From the queue to the spool.

use super::{Shared, ShipperEvent, Stage};
use dwell_core::tcp::Handshake;
use dwell_store::warehouse::Batch;
use std::mem;
use std::sync::PoisonError;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

/// How often the queue is looked at: nobody is woken for a record, which costs its giver nothing that way.
const GLANCE: Duration = Duration::from_millis(5);

/// Gathers records into batches and writes them, until no more will come.
pub(super) fn run(shared: &Shared, queue: &Receiver<Handshake>) {
    let mut gatherer = Gatherer { shared, records: Vec::new(), since: Instant::now(), trouble: None };
    loop {
        // Asked before the queue is emptied: what was offered before the end is in it.
        let last = shared.stage() != Stage::Open;
        while let Ok(record) = queue.try_recv() {
            gatherer.add(record);
        }
        if last {
            return gatherer.write();
        }
        if gatherer.since.elapsed() >= shared.config.batch_age {
            gatherer.write();
        }
        thread::sleep(GLANCE);
    }
}

struct Gatherer<'a> {
    shared: &'a Shared,
    records: Vec<Handshake>,
    /// When records were written last.
    since: Instant,
    /// What was said of the disk last.
    trouble: Option<String>,
}

impl Gatherer<'_> {
    fn add(&mut self, record: Handshake) {
        self.records.push(record);
        if self.records.len() >= self.shared.config.batch_records {
            self.write();
        }
    }

    fn write(&mut self) {
        self.since = Instant::now();
        let dropped = mem::take(&mut *self.shared.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        let mut spool = self.shared.spool();
        spool.dropped(dropped);
        if self.records.is_empty() && !spool.has_untold() {
            return;
        }
        let capacity = self.records.len();
        let records = mem::replace(&mut self.records, Vec::with_capacity(capacity));
        let mut appended = Ok(());
        for records in Batch::part(records) {
            // All are tried: what a full disk has no place for is given up, and counted.
            appended = appended.and(spool.append(records));
        }
        drop(spool);
        self.shared.news.notify_all();
        let trouble = appended.err().map(|error| error.to_string());
        if trouble != self.trouble {
            // The same for each of many batches is said once.
            if let Some(why) = &trouble {
                self.shared.tell(ShipperEvent::GivingUp { why: why.clone() });
            }
            self.trouble = trouble;
        }
    }
}
