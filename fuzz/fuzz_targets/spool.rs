//! Segments of a spool, with and without their first bytes, cut and damaged.
#![no_main]

use dwell_store::spool::parse_segment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let begun = [b"DWSPOOL\x02", bytes].concat();
    for bytes in [bytes, &begun] {
        if let Some((entries, end)) = parse_segment(bytes) {
            assert!(end as usize <= bytes.len());
            // What is whole stays whole where the rest is cut off.
            let (again, same) = parse_segment(&bytes[..end as usize]).expect("a segment");
            assert_eq!((again, same), (entries, end));
        }
    }
});
