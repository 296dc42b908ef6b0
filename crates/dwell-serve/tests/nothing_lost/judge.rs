//! What must hold of the store in the end.

use crate::probe::{NAME, record};
use dwell_core::tcp::section::{Connection, Ends};
use dwell_store::warehouse::{SLACK, Span, Store};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Holds the store against what was handed over: `offered` records, of which `doubtful` are those in whose midst the
/// probe was killed: nobody can know whether the shipper had taken them. Tells the counts.
pub(crate) fn judge(store: &mut dyn Store, offered: u64, doubtful: &BTreeSet<u64>) -> String {
    let account = store.accounts(Span::ALL).unwrap().remove(NAME).unwrap_or_default();
    let records = store.records().unwrap().remove(NAME).unwrap_or_default();
    let mut kept = BTreeSet::new();
    let take = &mut |connection: Connection| {
        let number = u64::from(connection.ends.isn_client);
        assert_eq!(Some(connection.ends), Ends::of(&record(number)), "as it was handed over");
        assert!(kept.insert(number), "record {number} counts twice");
        ControlFlow::Continue(())
    };
    store.connections(&[NAME.to_owned()], Span::ALL, SLACK, take).unwrap();
    assert_eq!(records, kept.len() as u64, "records kept twice");
    assert!(kept.last().is_none_or(|last| *last < offered), "a record that nobody handed over");

    let missing = offered - kept.len() as u64;
    let perhaps = doubtful.difference(&kept).count() as u64;
    let given_up: u64 = account.given_up.values().sum();
    assert!(
        (missing - perhaps..=missing).contains(&given_up),
        "{offered} handed over, {} kept, {perhaps} missing in doubt, given up: {:?}",
        kept.len(),
        account.given_up
    );
    format!("{offered} handed over, {} kept, given up {:?}", kept.len(), account.given_up)
}
