//! Packets: from files, whatever these are packed with and wherever they come from, and from live interfaces.

mod file;
mod merged;
mod packed;
mod ring;

pub use file::{Account, End, File};
pub use merged::Merged;
pub use ring::{Filtered, Gauge, Ring, RingConfig, RingCounts, RingError, Rings, Stamping, Wanted};
