//! Captures as traffic.
#![no_main]

use dwell_core::Nanos;
use dwell_sim::{Framing, Trace};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::read(bytes) else { return };
    // What was taken can be replayed.
    assert!(trace.packets() >= 2 && trace.round() > Nanos::ZERO);
    assert!(trace.bits_per_second(Framing::Ethernet) > 0.0);
    let times: Vec<_> = (0..trace.packets()).map(|index| trace.packet(index).0).collect();
    assert!(times.is_sorted() && times[0] == Nanos::ZERO);
});
