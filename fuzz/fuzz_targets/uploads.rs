//! What a probe and a warehouse say to each other.
#![no_main]

use dwell_net::protocol::{frame, parse};
use dwell_serve::upload::{Opening, Receipt, Upload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = parse::<Opening>(bytes);
    let _ = parse::<Receipt>(bytes);
    if let Ok(upload) = parse::<Upload>(bytes) {
        if let Upload::Batch(batch) = &upload {
            assert!(batch.absurd().values().sum::<u64>() <= batch.records.len() as u64);
            let _ = batch.check();
        }
        // What was understood can be said again.
        let again = frame(&upload).expect("an upload that fitted into a frame");
        assert_eq!(parse::<Upload>(&again[4..]).as_ref(), Ok(&upload));
    }
});
