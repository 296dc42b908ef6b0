//! A spool loses nothing, counts nothing twice, and says what it gave up.

#[path = "support/small_disk.rs"]
mod small_disk;

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_store::spool::{Ledger, MIN_LIMIT, SLOTS, Slots, Spool, SpoolError};
use dwell_store::warehouse::{Batch, Day, MAX_MINUTES, Minute};
use proptest::prelude::*;
use small_disk::on_a_small_disk;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// Numbers that outlive a spool, as those of a file outlive a process.
#[derive(Clone)]
struct Lasting(Arc<[AtomicU64; SLOTS]>);

impl Slots for Lasting {
    fn numbers(&self) -> &[AtomicU64] {
        &self.0[..]
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Lasting {
    /// Where the ledger counts what was written, and what was told: once the write is done.
    const COUNTED_AFTER: [std::ops::Range<usize>; 2] = [2..3, 10..SLOTS];

    fn counted_after_a_write(&self) -> Vec<u64> {
        Self::COUNTED_AFTER.into_iter().flatten().map(|slot| self.0[slot].load(Relaxed)).collect()
    }

    fn restore(&self, counts: &[u64]) {
        let slots = Self::COUNTED_AFTER.into_iter().flatten();
        slots.zip(counts).for_each(|(slot, count)| self.0[slot].store(*count, Relaxed));
    }
}

/// A spool's folder and ledger, over several lives.
struct Place {
    folder: tempfile::TempDir,
    slots: Lasting,
    epoch: u64,
}

impl Place {
    fn new() -> Self {
        let slots = Lasting(Arc::new([const { AtomicU64::new(0) }; SLOTS]));
        Self { folder: tempfile::tempdir().unwrap(), slots, epoch: 0 }
    }

    fn open(&mut self) -> Spool {
        self.epoch += 1;
        self.try_open("here", MIN_LIMIT).unwrap()
    }

    fn try_open(&self, probe: &str, limit: u64) -> Result<Spool, SpoolError> {
        let ledger = Arc::new(Ledger::open(Box::new(self.slots.clone())).unwrap());
        Spool::open(self.folder.path(), probe, self.epoch, limit, ledger)
    }

    fn segments(&self) -> Vec<PathBuf> {
        segments(self.folder.path())
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The `number`th that a probe saw.
fn record(number: u32) -> Handshake {
    let end = |port| Endpoint { address: [10, 0, 0, 1].into(), port };
    Handshake {
        client: end(40_000),
        server: end(443),
        isn_client: number,
        isn_server: Some(!number),
        first_at: Nanos(1_700_000_000_000_000_000 + i64::from(number)),
        syn_at: None,
        server_half: Half::Exact(Nanos(1_000)),
        client_half: Half::OneOf(Nanos(1), Nanos(1_000_000_000)),
        total: Half::Unknown,
        ending: Ending::Established,
        syns: 1,
        syn_acks: 2,
        flags: Flags::default(),
    }
}

/// Takes records as a shipper does, and appends them.
fn append(spool: &mut Spool, numbers: std::ops::Range<u32>) -> Result<(), SpoolError> {
    numbers.clone().for_each(|_| spool.ledger().take());
    spool.append(numbers.map(record).collect())
}

/// What a warehouse has: each batch once.
#[derive(Default)]
struct Warehouse {
    seen: BTreeSet<(u64, u64)>,
    records: BTreeSet<u32>,
    given_up: BTreeMap<String, u64>,
    dropped: BTreeMap<Minute, u64>,
}

impl Warehouse {
    fn keep(&mut self, batch: &Batch) {
        if !self.seen.insert((batch.epoch, batch.serial)) {
            return;
        }
        for record in &batch.records {
            assert!(self.records.insert(record.isn_client), "record {} came twice", record.isn_client);
        }
        for (reason, count) in &batch.given_up {
            *self.given_up.entry(reason.clone()).or_default() += count;
        }
        for (minute, packets) in &batch.dropped {
            *self.dropped.entry(*minute).or_default() += packets;
        }
    }

    /// Takes and acknowledges all that there is.
    fn empty(&mut self, spool: &mut Spool) {
        while let Some(batch) = spool.next_batch().unwrap() {
            self.keep(&batch);
            assert!(spool.acknowledge(batch.epoch, batch.serial).unwrap());
        }
        assert!(spool.is_drained());
    }

    fn all(&self) -> u64 {
        self.records.len() as u64 + self.given_up.values().sum::<u64>()
    }
}

#[test]
fn batches_come_out_as_they_went_in_and_leave_the_disk() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut numbers = 0;
    while place.segments().len() < 3 {
        append(&mut spool, numbers..numbers + 500).unwrap();
        numbers += 500;
    }
    assert!(!spool.unsynced().is_empty() && spool.unsynced().is_empty());
    // What was not acknowledged comes again.
    let first = spool.next_batch().unwrap().unwrap();
    assert_eq!(first.records, (0..500).map(record).collect::<Vec<_>>());
    assert!(!spool.acknowledge(first.epoch, first.serial + 1).unwrap(), "another one is the oldest");
    spool.rewind();
    assert_eq!(spool.next_batch().unwrap(), Some(first));
    spool.rewind();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.records.len(), numbers as usize);
    assert_eq!(place.segments().len(), 1, "the one that is written");
    drop(spool);
    warehouse.empty(&mut place.open());
    assert_eq!((warehouse.all(), warehouse.given_up.len()), (u64::from(numbers), 0));
}

#[test]
fn past_its_limit_records_are_given_up_and_counted() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut taken = 0;
    let full = loop {
        let appended = append(&mut spool, taken..taken + 1000);
        taken += 1000;
        if let Err(full) = appended {
            break full;
        }
    };
    assert!(full.to_string().contains("its limit of 1048576 bytes"), "{full}");
    assert!(spool.bytes() <= MIN_LIMIT);
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.all(), u64::from(taken) - 1000, "not told yet");
    assert!(spool.ledger().has_untold());
    let today = || Day::of(Nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64));
    let before = today();
    append(&mut spool, taken..taken).unwrap();
    let told = spool.next_batch().unwrap().unwrap();
    assert!((before..=today()).contains(&told.day()), "kept under {}", told.day());
    spool.rewind();
    // A process that dies here has told it all the same.
    drop(spool);
    warehouse.empty(&mut place.open());
    assert_eq!(warehouse.given_up, BTreeMap::from([("spool-full".to_owned(), 1000)]));
    assert_eq!(warehouse.all(), u64::from(taken));
}

#[test]
fn what_the_kernel_dropped_is_told_once_and_waits_for_room() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut taken = 0;
    while append(&mut spool, taken..taken + 1000).is_ok() {
        taken += 1000;
    }
    // More minutes than one batch tells of, while there is no room for any.
    let minutes = 29_000_000..29_000_000 + MAX_MINUTES as i32 + 60;
    let dropped: BTreeMap<Minute, u64> = minutes.map(|minute| (Minute(minute), 3)).collect();
    spool.dropped(dropped.clone());
    spool.dropped(BTreeMap::from([(Minute(29_000_000), 4)]));
    append(&mut spool, 0..1000).unwrap_err();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert!(warehouse.dropped.is_empty() && spool.has_untold());
    while spool.has_untold() {
        append(&mut spool, 0..0).unwrap();
    }
    warehouse.empty(&mut spool);
    let mut told = dropped;
    told.insert(Minute(29_000_000), 7);
    assert_eq!(warehouse.dropped, told);
    append(&mut spool, taken..taken + 1).unwrap();
    drop(spool);
    warehouse.empty(&mut place.open());
    assert_eq!(warehouse.dropped, told, "told twice");
}

#[test]
fn a_spool_of_another_probe_or_of_another_version_is_left_alone() {
    let mut place = Place::new();
    append(&mut place.open(), 0..1).unwrap();
    let error = place.try_open("there", MIN_LIMIT).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("the probe 'here'"), "{error}");
    let error = place.try_open("a b", MIN_LIMIT).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("'a b' cannot name a probe"), "{error}");
    let file = place.segments().remove(0);
    fs::write(&file, b"DWSPOOL\x01 and more").unwrap();
    let error = place.try_open("here", MIN_LIMIT).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("not a spool of this version"), "{error}");
    assert!(file.exists());
}

#[test]
fn a_damaged_batch_is_counted_and_its_neighbours_are_not_harmed() {
    let mut place = Place::new();
    let mut spool = place.open();
    let lengths: Vec<u64> = (0..3)
        .map(|part| {
            append(&mut spool, part * 100..part * 100 + 100).unwrap();
            spool.bytes()
        })
        .collect();
    drop(spool);
    let file = place.segments().remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[lengths[0] as usize + 60] ^= 1;
    fs::write(&file, bytes).unwrap();
    let mut spool = place.open();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    append(&mut spool, 300..301).unwrap();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.given_up, BTreeMap::from([("damaged".to_owned(), 100)]));
    assert_eq!(warehouse.all(), 301);
}

#[test]
fn a_segment_that_was_taken_away_or_cut_is_counted_and_the_next_need_not_wait() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut numbers = 0;
    while place.segments().len() < 4 {
        append(&mut spool, numbers..numbers + 500).unwrap();
        numbers += 500;
    }
    let segments = place.segments();
    fs::remove_file(&segments[0]).unwrap();
    fs::OpenOptions::new().write(true).open(&segments[1]).unwrap().set_len(1000).unwrap();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert_eq!(place.segments().len(), 1, "the one that is written");
    append(&mut spool, numbers..numbers + 1).unwrap();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.given_up.keys().collect::<Vec<_>>(), ["damaged"]);
    assert_eq!(warehouse.all(), u64::from(numbers) + 1);
}

#[test]
fn a_segment_whose_first_bytes_a_power_cut_made_zeros_is_counted() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut numbers = 0;
    while place.segments().len() < 2 {
        append(&mut spool, numbers..numbers + 500).unwrap();
        numbers += 500;
    }
    drop(spool);
    let last = place.segments().remove(1);
    let length = fs::metadata(&last).unwrap().len();
    fs::write(&last, vec![0; length as usize]).unwrap();
    let mut spool = place.open();
    append(&mut spool, numbers..numbers + 1).unwrap();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    append(&mut spool, 0..0).unwrap();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.given_up, BTreeMap::from([("damaged".to_owned(), 500)]));
    assert_eq!(warehouse.all(), u64::from(numbers) + 1);
}

#[test]
fn a_full_disk_is_not_filled_with_segments_of_nothing() {
    on_a_small_disk("a_full_disk_is_not_filled_with_segments_of_nothing", "64k", filled_to_the_brim);
}

fn filled_to_the_brim(folder: &Path) {
    let ledger = Arc::new(Ledger::open(Box::new(Place::new().slots)).unwrap());
    let mut spool = Spool::open(folder, "here", 1, MIN_LIMIT, ledger).unwrap();
    append(&mut spool, 0..100).unwrap();
    for _ in 0..5 {
        let full = append(&mut spool, 100..8_000).unwrap_err();
        assert!(matches!(full, SpoolError::DiskFull { .. }), "{full}");
    }
    assert_eq!(segments(folder).len(), 1, "the one that holds something");
    append(&mut spool, 8_000..8_100).unwrap();
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.given_up, BTreeMap::from([("disk-full".to_owned(), 5 * 7_900)]));
    assert_eq!(warehouse.all(), 200 + 5 * 7_900);
}

#[test]
fn without_its_ledger_a_spool_still_gives_what_it_holds() {
    let mut place = Place::new();
    append(&mut place.open(), 0..10).unwrap();
    place.slots = Place::new().slots;
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut place.open());
    assert_eq!((warehouse.records.len(), warehouse.given_up.len()), (10, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Killed at any byte of a write, after any number of acknowledgements: each record counts once.
    #[test]
    fn killed_at_any_byte(
        lives in prop::collection::vec((1usize..6, 1u32..80, 0usize..8, any::<prop::sample::Index>(), 0u64..20), 1..6),
    ) {
        let mut place = Place::new();
        let mut warehouse = Warehouse::default();
        let mut taken = 0;
        for (batches, size, acknowledged, cut, in_memory) in lives {
            let mut spool = place.open();
            let (mut before, mut counts) = (0, Vec::new());
            for _ in 0..batches {
                before = spool.bytes();
                counts = place.slots.counted_after_a_write();
                append(&mut spool, taken..taken + size).unwrap();
                taken += size;
            }
            // The last write is cut short: its process did not come to count it, and acknowledgements of what
            // was never written do not come.
            let after = spool.bytes();
            let torn = place.segments().pop().unwrap();
            let tail = fs::metadata(&torn).unwrap().len();
            let keep = tail - 1 - cut.index((after - before) as usize) as u64;
            for _ in 0..acknowledged.min(batches - 1) {
                if let Some(batch) = spool.next_batch().unwrap() {
                    warehouse.keep(&batch);
                    spool.acknowledge(batch.epoch, batch.serial).unwrap();
                }
            }
            // Handed out, kept, and the word of it lost.
            if spool.under_way() == 0 && batches > acknowledged + 1
                && let Some(batch) = spool.next_batch().unwrap()
            {
                warehouse.keep(&batch);
            }
            (0..in_memory).for_each(|_| spool.ledger().take());
            taken += in_memory as u32;
            drop(spool);
            place.slots.restore(&counts);
            fs::OpenOptions::new().write(true).open(&torn).unwrap().set_len(keep).unwrap();
        }
        let mut spool = place.open();
        append(&mut spool, taken..taken + 1).unwrap();
        warehouse.empty(&mut spool);
        prop_assert_eq!(warehouse.all(), u64::from(taken) + 1);
        prop_assert!(warehouse.given_up.keys().all(|reason| reason == "killed"), "{:?}", warehouse.given_up);
    }

    #[test]
    fn never_panics_on_any_bytes(bytes: Vec<u8>, magic: bool) {
        let mut file = if magic { b"DWSPOOL\x02".to_vec() } else { Vec::new() };
        file.extend(bytes);
        assert_eq!(dwell_store::spool::parse_segment(&file).is_some(), magic);
    }
}

#[test]
fn a_full_spool_has_room_again_once_the_warehouse_has_what_it_holds() {
    let mut place = Place::new();
    let mut spool = place.open();
    let mut taken = 0;
    while append(&mut spool, taken..taken + 1000).is_ok() {
        taken += 1000;
    }
    taken += 1000;
    let mut warehouse = Warehouse::default();
    warehouse.empty(&mut spool);
    assert_eq!((spool.bytes(), place.segments().len()), (0, 0));
    // A removed file takes its room until nobody has it open.
    let open =
        fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
    let open: Vec<_> = open.filter(|file| file.starts_with(place.folder.path())).collect();
    assert_eq!(open, Vec::<PathBuf>::new());
    append(&mut spool, taken..taken + 1).unwrap();
    warehouse.empty(&mut spool);
    assert_eq!(warehouse.all(), u64::from(taken) + 1);
}
