//! Probe packets from anybody.
#![no_main]

use dwell_core::Direction;
use dwell_net::probe::{Seal, session_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = session_of(bytes);
    // No packet that was not sealed with the key may be taken for one that was.
    let seal = Seal::new(1, b"a key of a test!");
    assert_eq!(seal.open(bytes, bytes.len(), Direction::Forward), None);
});
