//! Probe packets from anybody.
#![no_main]

use dwell_core::Direction;
use dwell_net::probe::{Seal, session_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = session_of(bytes);
    // The fuzzer watches comparisons, so it can copy a right tag out of one: what opens must be what was sealed.
    let seal = Seal::new(1, b"a key of a test!");
    if let Some(sequence) = seal.open(bytes, bytes.len(), Direction::Forward) {
        let mut sealed = bytes.to_vec();
        seal.write(&mut sealed, sequence, Direction::Forward);
        assert_eq!(sealed, bytes);
    }
});
