//! Batches of anybody, kept and joined.
#![no_main]

use dwell_core::Nanos;
use dwell_core::tcp::Half;
use dwell_net::protocol::parse;
use dwell_store::warehouse::{Batch, SLACK, Span, Sqlite, Store};
use libfuzzer_sys::fuzz_target;
use std::ops::ControlFlow;

/// A round trip that is longer is none.
const HOUR: Nanos = Nanos::from_secs(3_600);

fn is_possible(half: Half) -> bool {
    match half {
        Half::Unknown => true,
        Half::Exact(time) | Half::AtMost(time) => (Nanos::ZERO..=HOUR).contains(&time),
        // Ambiguous times are withheld.
        Half::OneOf(..) => false,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(batches) = parse::<Vec<Batch>>(bytes) else { return };
    if batches.is_empty() || batches.len() > 3 {
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm").expect("room in memory");
    let mut store = Sqlite::create(folder.path()).expect("an empty folder");
    let mut probes = Vec::new();
    let (mut records, mut absurd) = (0, 0);
    for batch in &batches {
        let kept = store.keep(batch);
        assert_eq!(kept.is_ok(), batch.check().is_ok(), "{kept:?}");
        if kept.is_err() {
            continue;
        }
        store.keep(batch).expect("the same once more");
        records += batch.records.len() as u64;
        absurd += batch.absurd().values().sum::<u64>();
        if !probes.contains(&batch.probe) {
            probes.push(batch.probe.clone());
        }
    }
    let accounts = store.accounts(Span::ALL).expect("a warehouse of our own");
    assert_eq!(accounts.len(), probes.len());
    let kept: u64 = store.records().expect("a warehouse of our own").values().sum();
    assert!(kept <= records - absurd);
    let mut sights = 0;
    store
        .connections(&probes, Span::ALL, SLACK, &mut |connection| {
            sights += connection.sights.len() as u64;
            assert!(!connection.sights.is_empty());
            assert!(connection.sights.is_sorted_by(|one, two| one.probe < two.probe));
            assert!(
                connection.sights.iter().all(|sight| is_possible(sight.server) && is_possible(sight.client))
            );
            ControlFlow::Continue(())
        })
        .expect("a warehouse of our own");
    assert!(sights <= records - absurd);
});
