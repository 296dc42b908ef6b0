//! Counts that outlive the process.

use super::{Entry, Reason};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that are kept at every instant, also of a process that is killed.
pub trait Slots: Send + Sync {
    /// [`SLOTS`] of them, all zero at first.
    fn numbers(&self) -> &[AtomicU64];

    /// Has them outlive a power cut, too.
    ///
    /// # Errors
    /// When they cannot be written.
    fn flush(&self) -> io::Result<()>;
}

impl<const N: usize> Slots for [AtomicU64; N] {
    fn numbers(&self) -> &[AtomicU64] {
        self
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

const REASONS: usize = Reason::ALL.len();

const FORMAT: usize = 0;
const TAKEN: usize = 1;
const WRITTEN: usize = 2;
const RELEASED: usize = 3;
const GIVEN_UP: usize = 4;
const TOLD: usize = GIVEN_UP + REASONS;

/// How many numbers a ledger takes.
pub const SLOTS: usize = TOLD + REASONS;

/// `DWLEDGE1`.
const MAGIC: u64 = u64::from_be_bytes(*b"DWLEDGE1");

/// What became of every record that a probe took, over all lives of its spool:
///
/// taken = written + given up, but for those that are still in memory.
///
/// Of a process that was killed, what was in memory is the difference, and is given up as [`Reason::Killed`] by the next.
pub struct Ledger {
    slots: Box<dyn Slots>,
}

impl Ledger {
    /// Over these numbers; `None` when something else, or another version, wrote them.
    #[must_use]
    pub fn open(slots: Box<dyn Slots>) -> Option<Self> {
        let known = slots.numbers().len() == SLOTS
            && [0, MAGIC].contains(&slots.numbers()[FORMAT].load(Ordering::Relaxed));
        known.then_some(Self { slots })
    }

    fn slot(&self, index: usize) -> &AtomicU64 {
        &self.slots.numbers()[index]
    }

    fn get(&self, index: usize) -> u64 {
        self.slot(index).load(Ordering::Relaxed)
    }

    fn set(&self, index: usize, value: u64) {
        self.slot(index).store(value, Ordering::Relaxed);
    }

    fn raise(&self, index: usize, value: u64) {
        self.slot(index).fetch_max(value, Ordering::Relaxed);
    }

    /// Counts a record that is to be kept, before anything else happens to it.
    pub fn take(&self) {
        self.slot(TAKEN).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts records that are given up.
    pub fn give_up(&self, reason: Reason, records: u64) {
        self.slot(GIVEN_UP + reason as usize).fetch_add(records, Ordering::Relaxed);
    }

    /// Records taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.get(TAKEN)
    }

    /// Records written to the spool.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.get(WRITTEN)
    }

    /// Of those, how many the warehouse has.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.get(RELEASED)
    }

    /// Records given up, by reason.
    #[must_use]
    pub fn given_up(&self) -> BTreeMap<&'static str, u64> {
        let counts = Reason::ALL.map(|reason| (reason.name(), self.get(GIVEN_UP + reason as usize)));
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// What was given up since it was told last, by reason; and all that was ever told once this is.
    pub(super) fn untold(&self) -> (BTreeMap<String, u64>, [u64; REASONS]) {
        let all = Reason::ALL.map(|reason| self.get(GIVEN_UP + reason as usize));
        let fresh = Reason::ALL.map(|reason| {
            (
                reason.name().to_owned(),
                all[reason as usize] - self.get(TOLD + reason as usize).min(all[reason as usize]),
            )
        });
        (fresh.into_iter().filter(|(_, count)| *count > 0).collect(), all)
    }

    /// Whether something was given up that no batch tells yet.
    #[must_use]
    pub fn has_untold(&self) -> bool {
        !self.untold().0.is_empty()
    }

    /// A batch was written that brings the counts to these.
    pub(super) fn wrote(&self, written: u64, told: [u64; REASONS]) {
        self.set(WRITTEN, written);
        for (index, told) in told.into_iter().enumerate() {
            self.set(TOLD + index, told);
        }
    }

    /// The warehouse has the records from one count to another. Those between the last that it got and these are
    /// nowhere any more.
    pub(super) fn release(&self, from: u64, until: u64) {
        let released = self.released();
        if from > released {
            self.give_up(Reason::Damaged, from - released);
        }
        self.raise(RELEASED, until);
    }

    /// Takes up what an earlier process left: what its spool says is true, where it says more. `first`: records
    /// written before the first batch that is there.
    pub(super) fn recover(&self, first: impl FnOnce() -> Option<u64>, last: Option<&Entry>) {
        if self.get(FORMAT) == 0
            && let Some(first) = first()
        {
            // The ledger was lost, the batches were not: what was before them is settled.
            self.raise(RELEASED, first);
            self.raise(WRITTEN, first);
        }
        if let Some(last) = last {
            self.raise(WRITTEN, last.written);
            for (index, told) in last.told.into_iter().enumerate() {
                self.raise(TOLD + index, told);
                self.raise(GIVEN_UP + index, told);
            }
        }
        self.set(FORMAT, MAGIC);
        // What is damaged was written before.
        let lost = Reason::ALL.into_iter().filter(|reason| *reason != Reason::Damaged);
        // Of numbers that a bad disk made, only that they are too large is left.
        let settled =
            lost.fold(self.written(), |sum, reason| sum.saturating_add(self.get(GIVEN_UP + reason as usize)));
        self.raise(TAKEN, settled);
        self.give_up(Reason::Killed, self.taken() - settled);
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        self.slots.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU64, GIVEN_UP, Ledger, SLOTS, WRITTEN};

    #[test]
    fn numbers_that_a_bad_disk_made_are_borne() {
        let slots: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
        let ledger = Ledger::open(Box::new(slots)).unwrap();
        ledger.set(WRITTEN, u64::MAX);
        ledger.set(GIVEN_UP, 1);
        ledger.recover(|| None, None);
        assert_eq!(ledger.taken(), u64::MAX);
    }
}
