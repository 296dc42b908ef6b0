//! Packets from the wire and from files.

mod ring;

pub use ring::{Filtered, Gauge, Ring, RingConfig, RingCounts, RingError, Rings, Stamping, Wanted};
