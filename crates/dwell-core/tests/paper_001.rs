//! The printed figures of papers/001 as test vectors, in microseconds.

use dwell_core::host::salehin2013::two_way;
use dwell_core::{BitRate, Bytes, Nanos};

/// Table II: link (Mb/s), t7 - t1, t2 - t1, t5 - t3, 2 x PPT, PPT.
const TABLE: [(u64, [i64; 5]); 4] = [
    (10, [151, 88, 22, 41, 21]),
    (100, [57, 9, 22, 27, 14]),
    (10, [161, 88, 41, 32, 16]),
    (100, [63, 9, 41, 13, 7]),
];

/// Of the slip: D3000 at 100 Mb/s.
const SLIP: usize = 1;

fn both(gap: i64, receiving: i64, answer: i64) -> i64 {
    let us = Nanos::from_micros;
    two_way(us(gap), us(receiving), us(answer)).0 / 1_000
}

/// Halves round up.
fn half(both: i64) -> i64 {
    (both + 1) / 2
}

#[test]
fn table_2() {
    for (row, (_, [gap, receiving, answer, printed, ppt])) in TABLE.into_iter().enumerate() {
        let ours = both(gap, receiving, answer);
        if row == SLIP {
            // 57 - 9 - 22 is 26, and half of that 13.
            assert_eq!((ours, half(ours)), (26, 13));
            // The printed 27 and 14 are those of the means in Figures 7(b) and 6(b), 59 and 23.
            assert_eq!((both(59, 9, 23), half(27)), (printed, ppt));
        } else {
            assert_eq!((ours, half(ours)), (printed, ppt));
        }
    }
}

/// t2 - t1 is 110 bytes on the wire: an echo of 84 bytes with 26 of Ethernet.
#[test]
fn table_2_receiving_times() {
    for (mbps, [_, receiving, ..]) in TABLE {
        let us = BitRate::from_mbps(mbps).nanos_for(Bytes(110)) / 1e3;
        assert_eq!(us.round() as i64, receiving);
    }
}

/// Section I: the share of the one-way delay, in per cent, that is lost with PPTs of 2 us at both ends.
fn error(bytes: u64, mbps: u64, queueing: f64, propagation: f64) -> f64 {
    let seen = BitRate::from_mbps(mbps).nanos_for(Bytes(bytes)) / 1e3 + queueing + propagation;
    4.0 / (seen + 4.0) * 100.0
}

#[test]
fn section_1() {
    assert_eq!(format!("{:.0}", error(40, 100, 0.0, 0.5)), "52");
    assert_eq!(format!("{:.0}", error(40, 1000, 0.0, 25.0)), "14");
    // The slips: 4 / 164.5 and 4 / 47.7 are printed as 2.5 and 8.5.
    assert_eq!(format!("{:.1}", error(1500, 100, 40.0, 0.5)), "2.4");
    assert_eq!(format!("{:.1}", error(40, 100, 40.0, 0.5)), "8.4");
    // 2.5 is what comes of dividing by OWD' instead of OWD, and 8.5 of leaving out the propagation time.
    assert_eq!(format!("{:.1}", 4.0 / 160.5 * 100.0), "2.5");
    assert_eq!(format!("{:.1}", error(40, 100, 40.0, 0.0)), "8.5");
}

/// Section I, last: 1 us is 8 % of the time that 1500 bytes take at 1 Gb/s.
#[test]
fn section_1_packet_pairs() {
    assert_eq!(format!("{:.0}", 1e5 / BitRate::from_mbps(1000).nanos_for(Bytes(1500))), "8");
}
