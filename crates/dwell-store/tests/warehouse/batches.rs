//! How records are parted into batches.

use crate::sample::{NOON, handshake};
use dwell_core::Nanos;
use dwell_core::tcp::Handshake;
use dwell_store::warehouse::Batch;

/// The days of the records, batch by batch, of records that come on these days.
fn parted(days: &[i64]) -> Vec<Vec<i64>> {
    let day = 86_400_000_000_000;
    let records = days.iter().map(|n| handshake(1, NOON + Nanos(n * day), 5, 6)).collect();
    let of = |record: &Handshake| (record.first_at - NOON).0 / day;
    Batch::part(records).iter().map(|part| part.iter().map(of).collect()).collect()
}

#[test]
fn a_capture_of_several_days_is_no_batch() {
    assert_eq!(parted(&[0, 0, 1, 5, 5, 6]), [vec![0, 0], vec![1], vec![5, 5], vec![6]]);
    // Out of order at midnight.
    assert_eq!(parted(&[0, 1, 0, 1, 2]), [vec![0, 1, 0, 1], vec![2]]);
}

#[test]
fn a_time_that_is_absurd_stays_among_those_that_show_it() {
    assert_eq!(parted(&[0, 0, 9_000, 0, 0, 1]), [vec![0, 0, 9_000, 0, 0], vec![1]]);
    assert_eq!(parted(&[0, -900, 0, 1, -20, 1]), [vec![0, -900, 0], vec![1, -20, 1]]);
    assert_eq!(parted(&[]), [Vec::<i64>::new()]);
}
