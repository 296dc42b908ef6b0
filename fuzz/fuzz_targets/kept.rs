//! What a probe keeps on disk, and what a killed process and a bad disk leave of it.
#![no_main]

use dwell_core::tcp::Handshake;
use dwell_net::protocol::parse;
use dwell_store::spool::{Ledger, MIN_LIMIT, SLOTS, Slots, Spool};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Numbers that outlive a spool, as those of a file outlive a process.
#[derive(Clone)]
struct Lasting(Arc<[AtomicU64; SLOTS]>);

impl Slots for Lasting {
    fn numbers(&self) -> &[AtomicU64] {
        &self.0[..]
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }
}

fn open(folder: &Path, lasting: &Lasting, epoch: u64) -> Option<Spool> {
    let ledger = Ledger::open(Box::new(lasting.clone()))?;
    Spool::open(folder, "here", epoch, MIN_LIMIT, Arc::new(ledger)).ok()
}

/// All records that it hands out, acknowledged, in their order.
fn drained(spool: &mut Spool) -> Vec<Handshake> {
    let mut records = Vec::new();
    while let Ok(Some(batch)) = spool.next_batch() {
        assert!(spool.acknowledge(batch.epoch, batch.serial).expect("a folder that can be written"));
        records.extend(batch.records);
    }
    records
}

// Two bytes of place and one of kind for each piece of damage, then the records.
fuzz_target!(|bytes: &[u8]| {
    let [damages, bytes @ ..] = bytes else { return };
    let Some((damages, bytes)) = bytes.split_at_checked(usize::from(damages & 7) * 3) else { return };
    let Ok(batches) = parse::<Vec<Vec<Handshake>>>(bytes) else { return };
    let written: Vec<Handshake> = batches.iter().flatten().copied().collect();
    let folder = tempfile::tempdir_in("/dev/shm").expect("room in memory");
    let lasting = Lasting(Arc::new([const { AtomicU64::new(0) }; SLOTS]));
    let mut spool = open(folder.path(), &lasting, 1).expect("an empty folder");
    for batch in batches {
        batch.iter().for_each(|_| spool.ledger().take());
        spool.append(batch).expect("room for a few records");
    }
    // Killed, and damaged while it was.
    drop(spool);
    for damage in damages.as_chunks::<3>().0 {
        let [low, high, kind] = *damage;
        let place = usize::from(u16::from_le_bytes([low, high]));
        if kind & 3 == 3 {
            lasting.0[place % SLOTS].store(u64::from(kind) << (place & 63), Relaxed);
            continue;
        }
        for file in std::fs::read_dir(folder.path()).expect("the folder").flatten() {
            let mut bytes = std::fs::read(file.path()).expect("a segment");
            let place = place % bytes.len().max(1);
            match kind & 3 {
                0 => bytes.truncate(place),
                _ => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= kind),
            }
            std::fs::write(file.path(), bytes).expect("room in memory");
        }
    }
    let Some(mut spool) = open(folder.path(), &lasting, 2) else {
        // Another version's, by its first bytes or numbers.
        assert!(!damages.is_empty());
        return;
    };
    let read = drained(&mut spool);
    if damages.is_empty() {
        assert_eq!(read, written);
        assert!(spool.is_drained() && spool.ledger().given_up().is_empty());
        return;
    }
    // Nothing that was never written, and nothing twice.
    let mut rest = written.iter();
    assert!(read.iter().all(|record| rest.any(|written| written == record)));
    let numbers_are_true = damages.as_chunks::<3>().0.iter().all(|damage| damage[2] & 3 != 3);
    if numbers_are_true {
        let given_up: u64 = spool.ledger().given_up().values().sum();
        assert!(read.len() as u64 + given_up <= spool.ledger().taken());
    }
});
