//! What a probe keeps on disk until its warehouse has it.
//!
//! A folder of append-only segments. Each holds batches, one after another, with length and check sum: of a write that
//! was cut short, by a killed process or a full disk, nothing remains, and all before it does. A segment is removed
//! when the warehouse has acknowledged all of it. What does not fit is given up, counted by [`Reason`] in the
//! [`Ledger`], and told to the warehouse in the next batch, as is what the kernel dropped before anybody saw it.
//!
//! Written batches outlive the process at once, and a power cut once their [`Spool::unsynced`] file is synced.

mod cursor;
mod entry;
mod error;
mod ledger;
mod reason;
mod segment;

pub use entry::{Entry, parse_segment};
pub use error::SpoolError;
pub use ledger::{Ledger, SLOTS, Slots};
pub use reason::Reason;

use crate::warehouse::{Batch, MAX_MINUTES, Minute};
use cursor::{Cursor, Place};
use dwell_core::Nanos;
use dwell_core::tcp::Handshake;
use segment::{Segment, Tail};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The least limit of a spool, in bytes.
pub const MIN_LIMIT: u64 = 1 << 20;

/// The largest segment, in bytes.
const MAX_SEGMENT: u64 = 4 << 20;

/// Batches of one probe, on their way to a warehouse.
pub struct Spool {
    folder: PathBuf,
    probe: String,
    limit: u64,
    epoch: u64,
    /// Of the next batch.
    serial: u64,
    ledger: Arc<Ledger>,
    /// Packets that the kernel dropped, which no batch tells yet.
    dropped: BTreeMap<Minute, u64>,
    /// Those that are written no more, the oldest first.
    full: VecDeque<Segment>,
    tail: Option<Tail>,
    /// Of those, by number, what is written and not synced.
    unsynced: BTreeMap<u64, Arc<File>>,
    /// Number of the next segment.
    next: u64,
    cursor: Cursor,
    /// Handed out and not acknowledged, in their order.
    under_way: VecDeque<Sent>,
    /// Segment and end of the batch that was acknowledged last.
    settled: (u64, u64),
}

/// A batch that was handed out.
struct Sent {
    epoch: u64,
    serial: u64,
    /// Records written before it.
    start: u64,
    /// Records written, up to its own last.
    written: u64,
    segment: u64,
    end: u64,
}

impl Spool {
    /// Opens a folder, makes it where there is none, and takes up what an earlier life of it left. `epoch`: random.
    ///
    /// # Errors
    /// When the folder cannot be used, or another version wrote it.
    pub fn open(
        folder: &Path,
        probe: &str,
        epoch: u64,
        limit: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Self, SpoolError> {
        Batch { probe: probe.to_owned(), ..Batch::default() }.check()?;
        fs::create_dir_all(folder).map_err(SpoolError::io(folder, "make it"))?;
        let mut full = segment::list(folder)?;
        let last = recover_last(&mut full)?;
        if let Some(last) = &last
            && last.batch.probe != probe
        {
            return Err(SpoolError::OtherProbe {
                folder: folder.to_owned(),
                other: last.batch.probe.clone(),
            });
        }
        ledger.recover(|| full.front().and_then(Segment::first), last.as_ref());
        let next = full.back().map_or(0, |segment| segment.number + 1);
        Ok(Self {
            folder: folder.to_owned(),
            probe: probe.to_owned(),
            limit: limit.max(MIN_LIMIT),
            epoch,
            serial: 0,
            ledger,
            dropped: BTreeMap::new(),
            full,
            tail: None,
            unsynced: BTreeMap::new(),
            next,
            cursor: Cursor::at(0),
            under_way: VecDeque::new(),
            settled: (0, 0),
        })
    }

    /// What became of every record.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Bytes on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.full.iter().chain(self.tail.iter().map(Tail::segment)).map(|segment| segment.length).sum()
    }

    /// The kernel dropped packets: the next batch that can be written tells of it.
    pub fn dropped(&mut self, packets: BTreeMap<Minute, u64>) {
        for (minute, count) in packets {
            *self.dropped.entry(minute).or_default() += count;
        }
    }

    /// Whether something is missing that no batch tells yet.
    #[must_use]
    pub fn has_untold(&self) -> bool {
        self.ledger.has_untold() || !self.dropped.is_empty()
    }

    /// Writes a batch of these records, and of what is missing since the last. What does not fit is given up.
    ///
    /// # Errors
    /// Says why the records were given up; they are counted.
    pub fn append(&mut self, records: Vec<Handshake>) -> Result<(), SpoolError> {
        let count = records.len() as u64;
        let appended = self.try_append(records);
        if let Err(error) = &appended {
            self.ledger.give_up(error.reason(), count);
            // Where there is no room, what the warehouse has already must not take any.
            self.end_tail();
            let removed = self.remove_settled();
            // Why the records are gone comes first: that old ones could not be removed is seen again at the next.
            return appended.and(removed);
        }
        appended
    }

    fn try_append(&mut self, records: Vec<Handshake>) -> Result<(), SpoolError> {
        let written = self.ledger.written().saturating_add(records.len() as u64);
        let (given_up, told) = self.ledger.untold();
        let mut dropped: BTreeMap<Minute, u64> =
            self.dropped.iter().take(MAX_MINUTES).map(|(minute, count)| (*minute, *count)).collect();
        let last = dropped.last_key_value().map(|(minute, _)| *minute);
        if records.is_empty() && dropped.is_empty() {
            // Under which day to keep it, nothing else would say.
            dropped.insert(this_minute(), 0);
        }
        let batch = Batch {
            probe: self.probe.clone(),
            epoch: self.epoch,
            serial: self.serial,
            records,
            given_up,
            dropped,
        };
        let frame = Entry { written, told, batch }.to_frame();
        let size = frame.len() as u64;
        if self.bytes() + size + entry::MAGIC.len() as u64 > self.limit {
            return Err(SpoolError::Full { folder: self.folder.clone(), limit: self.limit });
        }
        if self.tail.as_ref().is_some_and(|tail| tail.segment().length + size > self.segment_size()) {
            self.end_tail();
        }
        let tail = match &mut self.tail {
            Some(tail) => tail,
            None => {
                let tail = Tail::create(&self.folder, self.next)?;
                self.next += 1;
                self.tail.insert(tail)
            }
        };
        tail.append(&frame)?;
        self.ledger.wrote(written, told);
        self.dropped.retain(|minute, _| Some(*minute) > last);
        self.serial += 1;
        Ok(())
    }

    /// Files written since they were synced last: whoever asks syncs them.
    pub fn unsynced(&mut self) -> Vec<Arc<File>> {
        let full = std::mem::take(&mut self.unsynced).into_values();
        full.chain(self.tail.as_mut().and_then(Tail::unsynced)).collect()
    }

    fn segment_size(&self) -> u64 {
        (self.limit / 8).min(MAX_SEGMENT)
    }

    fn end_tail(&mut self) {
        if let Some(mut tail) = self.tail.take() {
            self.unsynced.extend(tail.unsynced().map(|file| (tail.segment().number, file)));
            let ended = tail.end();
            // One that found no room for its first batch is to take none.
            if ended.is_empty() && ended.remove().is_ok() {
                return;
            }
            self.full.push_back(ended);
        }
    }

    /// The first segment with this number or a later one, as it is now.
    fn segment_from(&self, number: u64) -> Option<Place<'_>> {
        let mut all = self.full.iter().chain(self.tail.iter().map(Tail::segment));
        all.find(|segment| segment.number >= number).map(Segment::place)
    }

    /// The next batch that was not handed out yet.
    ///
    /// # Errors
    /// When the disk cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, SpoolError> {
        let mut cursor = std::mem::replace(&mut self.cursor, Cursor::at(0));
        let found = self.look_for_next(&mut cursor);
        self.cursor = cursor;
        let Some((sent, batch)) = found? else { return Ok(None) };
        self.under_way.push_back(sent);
        Ok(Some(batch))
    }

    fn look_for_next(&mut self, cursor: &mut Cursor) -> Result<Option<(Sent, Batch)>, SpoolError> {
        while let Some(place) = self.segment_from(cursor.segment()) {
            let Some((entry, end)) = cursor.read(place)? else {
                // What is damaged here shows when the next that follows it is acknowledged.
                match self.segment_from(place.number + 1) {
                    Some(after) => *cursor = Cursor::at(after.number),
                    None => break,
                }
                continue;
            };
            let (number, start, written) = (place.number, entry.start(), entry.written);
            // One that only tells what was given up may come twice: the warehouse knows it by its number.
            if written > self.ledger.released() || entry.batch.records.is_empty() {
                let Batch { epoch, serial, .. } = entry.batch;
                let sent = Sent { epoch, serial, start, written, segment: number, end };
                return Ok(Some((sent, entry.batch)));
            }
            // Acknowledged to an earlier process, which had no time to remove it.
            self.settled = self.settled.max((number, end));
        }
        Ok(None)
    }

    /// Hands out again what was handed out and not acknowledged.
    pub fn rewind(&mut self) {
        if let Some(oldest) = self.under_way.front() {
            self.cursor = Cursor::at(oldest.segment);
            self.under_way.clear();
        }
    }

    /// Batches handed out and not acknowledged.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// The warehouse has the oldest batch under way: it is removed with its segment. `false`, and nothing changes,
    /// when the oldest is another one.
    ///
    /// # Errors
    /// When a segment cannot be removed.
    pub fn acknowledge(&mut self, epoch: u64, serial: u64) -> Result<bool, SpoolError> {
        if self.under_way.front().is_none_or(|sent| (sent.epoch, sent.serial) != (epoch, serial)) {
            return Ok(false);
        }
        let Some(sent) = self.under_way.pop_front() else { return Ok(false) };
        self.ledger.release(sent.start, sent.written);
        self.settled = (sent.segment, sent.end);
        self.remove_settled()?;
        Ok(true)
    }

    /// Removes the segments of which the warehouse has everything.
    fn remove_settled(&mut self) -> Result<(), SpoolError> {
        let (last, end) = self.settled;
        let is_settled =
            |segment: &Segment| segment.number < last || (segment.number == last && segment.length <= end);
        if self.full.front().is_some_and(is_settled) {
            // Else a power cut could bring back an older count beside newer segments.
            self.ledger.flush().map_err(SpoolError::io(&self.folder, "sync the ledger of"))?;
        }
        while let Some(segment) = self.full.front().filter(|segment| is_settled(segment)) {
            segment.remove()?;
            // Its room is free once nobody has it open.
            self.cursor.close(segment.number);
            self.unsynced.remove(&segment.number);
            self.full.pop_front();
        }
        Ok(())
    }

    /// Whether the warehouse has all that was written.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let last = self.tail.as_ref().map(Tail::segment).or(self.full.back());
        self.under_way.is_empty() && last.is_none_or(|last| self.cursor.is_through(last.place()))
    }
}

/// The minute, by this host's clock.
fn this_minute() -> Minute {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Minute::of(Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)))
}

/// Cuts off what is not whole at the end of the last segment, and gives the last batch that is.
fn recover_last(segments: &mut VecDeque<Segment>) -> Result<Option<Entry>, SpoolError> {
    while let Some(last) = segments.back_mut() {
        if let Some(entry) = last.recover()? {
            return Ok(Some(entry));
        }
        last.remove()?;
        segments.pop_back();
    }
    Ok(None)
}
